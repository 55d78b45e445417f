package flow

import (
	"fmt"
	"math"

	"github.com/weir-go/weir/stage"
)

// limited notes how many items a source leaves unsettled.
func (n *node) limited(src any) {
	if l, ok := src.(stage.InFlighter); ok {
		n.inFlight = l.InFlight()
	}
}

// validate notes what a source or sink says is wrong with its options.
func (n *node) validate(part any) {
	v, ok := part.(stage.Validator)
	if !ok || isNil(part) {
		return
	}
	if err := v.Validate(); err != nil {
		n.wrong("%v", err)
	}
}

// expanding are the operators behind which there may be more items than are unsettled in front: they make many out of one, or some of
// none, or hand on what is settled.
var expanding = map[string]bool{
	"flatmap": true, "expand": true, "via": true, "groupby": true, "keepalive": true, "loop.out": true, "besteffort": true,
}

// supplies remembers what is known of the nodes of a blueprint.
type supplies struct {
	known map[*node]int
	gated bool // the gates of loops count as well
}

// of returns how many items can be under way behind a node while none of them settles: what its sources leave unsettled.
func (s *supplies) of(n *node) int {
	if known, ok := s.known[n]; ok {
		return known
	}
	supply := math.MaxInt
	switch {
	case expanding[n.op] || len(n.ups) == 0 && n.inFlight <= 0:
	case n.inFlight > 0:
		supply = n.inFlight
	default:
		if supply = s.sum(n.ups); n.fills > 1 && supply < math.MaxInt {
			supply /= n.fills
		}
	}
	if s.gated && n.loop != nil && n.loop.gates() {
		supply = min(supply, n.loop.form.k)
	}
	if s.known == nil {
		s.known = map[*node]int{}
	}
	s.known[n] = supply
	return supply
}

// sum adds up what several nodes supply; MaxInt is no limit.
func (s *supplies) sum(nodes []*node) int {
	sum := 0
	for _, n := range nodes {
		one := s.of(n)
		if one >= math.MaxInt-sum {
			return math.MaxInt
		}
		sum += one
	}
	return sum
}

// starved says what is wrong with a node that waits, however long that takes, for more items than can ever be there.
func (s *supplies) starved(n *node) string {
	if n.fills <= 1 {
		return ""
	}
	sum := s.sum(n.ups)
	if n.keeps(1) < sum {
		return ""
	}
	return fmt.Sprintf("%s, but its source gives no more than %d until some of them have settled; give it a maxWait, a size of at most %d, or the source a larger limit",
		n.waitsFor(), sum, n.fitting(sum))
}
