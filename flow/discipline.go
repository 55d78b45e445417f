package flow

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weir-go/weir/internal/queue"
)

// Discipline is the order in which an [Edge] serves items, and who pays when it is full: [FairBy], [FairByKey], [ByCriticality],
// [AdaptiveLIFO] or [ShedLargest]. It keeps no state: one value may serve several edges.
type Discipline[T any] interface{ order() *discipline[T] }

// discipline is what a constructor found out.
type discipline[T any] struct {
	name     string
	errs     []string // what is wrong with the arguments
	policies []Policy // that make sense with it
	because  string   // why the others don't

	of   queue.Order
	lane func(v T, t *queue.Tag) (lane, share int) // may panic
	cost func(T) int64
	text func(v T, metaKey string) string // the key of an item, for people to read; may panic

	alone bool // CoDel makes no sense with it
	waits bool // MaxWait is required
}

func (d *discipline[T]) order() *discipline[T] { return d }

// check records the text unless ok.
func (d *discipline[T]) check(ok bool, text string) {
	if !ok {
		d.errs = append(d.errs, d.name+": "+text)
	}
}

// validate records what is wrong with it at the edge e.
func (d *discipline[T]) validate(e *Edge[struct{}], n *node) {
	n.errs = append(n.errs, d.errs...)
	wrong := func(bad bool, text string) { n.check(!bad, d.name+": "+text) }
	wrong(!slices.Contains(d.policies, e.OnFull), d.because)
	wrong(d.waits && e.MaxWait == 0, "MaxWait is required: it is how old items leave")
	wrong(d.waits && e.MaxWait > 0 && d.of.Target >= e.MaxWait, "target must be below MaxWait")
	wrong(d.alone && e.CoDel != CoDel{}, "it does not go together with CoDel")
	wrong(d.of.Lanes > 0 && e.OnFull == Block && e.MaxWeight > 0,
		"it does not go together with Block and MaxWeight: producers wait by key or class for a place, and can't for a weight")
	wrong(d.of.Reserved > 0 && d.of.Reserved > e.Capacity/10, argument("Reserved", "at most a tenth of the capacity", d.of.Reserved))
}

// configure sets the queue's order.
func (d *discipline[T]) configure(cfg *queue.Config[T], failed func(error)) {
	cfg.Order = d.of
	cfg.Cost, cfg.Lane = d.cost, d.lane
	if d.text != nil {
		cfg.KeyText = func(v T, metaKey string) (text string) {
			ended := make(chan struct{})
			go func() { // it may end its goroutine, and Stats is called by those who must not be ended
				defer close(ended)
				returned := false
				defer func() { unlessReturned(returned, recover(), cfg.Name, failed) }()
				text = shortened(d.text(v, metaKey))
				returned = true
			}()
			<-ended
			return text
		}
	}
}

// longestKey is how many bytes of a key are shown.
const longestKey = 256

// shortened returns the beginning of a key, without half a rune at its end.
func shortened(key string) string {
	if len(key) <= longestKey {
		return key
	}
	end := longestKey
	for end > 0 && !utf8.RuneStart(key[end]) {
		end--
	}
	return strings.Clone(key[:end]) + "..."
}

// allPolicies are those of a discipline that goes together with any.
var allPolicies = []Policy{Block, DropNewest, DropOldest, Reject}
