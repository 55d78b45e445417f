package broker

import "github.com/weir-go/weir/stage"

// What tests look at from outside.
var (
	ReadMeta  = readMeta
	WriteMeta = writeMeta
)

// Siblings returns what numbers the messages of a durable edge.
func Siblings(edge string) func(stage.Meta) (string, error) {
	return newSiblings(edge).identify
}

// Flying is the table of deliveries.
type Flying = inflight

// Put keeps a delivery.
func (t *inflight) Put(d Delivery) uint64 { return t.put(d) }

// Take ends a token.
func (t *inflight) Take(token uint64) (Delivery, bool) { return t.take(token) }

// Size is how many have not ended.
func (t *inflight) Size() int { return t.size() }
