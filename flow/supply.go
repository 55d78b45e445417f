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

// expanding are the operators that may make many items out of one.
var expanding = map[string]bool{"flatmap": true, "expand": true, "via": true, "groupby": true}

// supply is how many items can be under way behind a node while none of them settles: what its sources leave unsettled.
func supply(n *node) int {
	switch {
	case expanding[n.op]:
		return math.MaxInt
	case n.inFlight > 0:
		return n.inFlight
	case len(n.ups) == 0:
		return math.MaxInt
	}
	sum := 0
	for _, up := range n.ups {
		if s := supply(up); s < math.MaxInt-sum {
			sum += s
		} else {
			return math.MaxInt
		}
	}
	if n.fills > 1 {
		return sum / n.fills
	}
	return sum
}

// starved says what is wrong with a node that waits, however long that takes, for more items than can ever be there.
func starved(n *node) string {
	if n.fills <= 1 {
		return ""
	}
	sum := 0
	for _, up := range n.ups {
		s := supply(up)
		if s >= math.MaxInt-sum {
			return ""
		}
		sum += s
	}
	if n.fills <= sum {
		return ""
	}
	return fmt.Sprintf("it waits for %d items, but its source gives no more than %d until some of them have settled; give it a maxWait, a size of at most %d, or the source a larger limit",
		n.fills, sum, sum)
}
