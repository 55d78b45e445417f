package flow_test

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

var ringLoops = flag.Int("rings", 150, "how many random loops at their limit are run")

// ring is a random body, always the same one for a seed: edges with fused steps between them, inner loops, and a fork at the end.
type ring struct {
	*rand.Rand
	room int // on the way round
}

func newRing(seed uint64) *ring { return &ring{Rand: rand.New(rand.NewPCG(seed, 29))} }

// pipeline has a loop that lets in delta more than its edges hold. There may be another loop in it.
func (r *ring) pipeline(delta int) flow.Pipeline {
	body := r.body
	if r.IntN(3) == 0 {
		body = r.nested
	}
	seed := r.Uint64()
	build := func(k int) lapFlow {
		r.Rand, r.room = rand.New(rand.NewPCG(seed, 1)), 0
		return flow.FromSlice(lapsOf(20*k, 8)).Loop(flow.Gated(k), body, flow.Name("ring"))
	}
	build(1)
	return build(r.room + delta).To(stage.Discard[laps]())
}

func (r *ring) edge(f lapFlow) lapFlow {
	n := 1 + r.IntN(4)
	r.room += n
	return f.Buffer(n, flow.Block)
}

func (r *ring) body(in lapFlow) (out, again lapFlow) {
	f := r.edge(in)
	for range r.IntN(3) {
		f = r.edge(f.Tap(dear))
	}
	out, again = f.Tap(dear).Split(leaves)
	again = r.edge(again).Map(nextLap)
	for range r.IntN(2) {
		again = r.edge(again.Tap(dear))
	}
	return out, r.edge(again.Tap(dear))
}

// nested has a loop in it, which holds what it lets in. Values go round in it once where their laps are odd.
func (r *ring) nested(in lapFlow) (out, again lapFlow) {
	k := 1 + r.IntN(2)
	f := r.edge(in).Loop(flow.Gated(k), func(in lapFlow) (out, again lapFlow) {
		out, again = in.Buffer(3, flow.Block).Split(func(l laps) bool { return l.left%2 == 0 || l.done < 0 })
		return out.Buffer(3, flow.Block).Map(func(l laps) laps { l.done = max(l.done, ^l.done); return l }), again.Map(func(l laps) laps { l.done = ^l.done; return l })
	})
	r.room += k
	return r.body(f)
}

// A loop at its limit never stands still. With two more inside it is a build error, and unchecked the run finds out. -rings is the
// number of loops, of which a few are enough for the race detector.
func TestRandomLoopsAtTheirLimit(t *testing.T) {
	loops := *ringLoops
	if raceEnabled {
		loops = min(loops, 40)
	}
	stood, first := 0, rand.Uint64()
	for i := range loops {
		seed := first + uint64(i)
		legal := newRing(seed).pipeline(0)
		if err := legal.Check(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if got := fateOfLoop(t, legal); got != passes {
			t.Fatalf("seed %d: at its limit it %s", seed, got)
		}
		err := newRing(seed).pipeline(2).Check()
		if err == nil || !strings.Contains(err.Error(), "nothing moves once they are full") {
			t.Fatalf("seed %d: with two more inside: got %v, want a finding", seed, err)
		}
		switch got := fateOfLoop(t, newRing(seed).pipeline(2)); got { //nolint:exhaustive // all others are wrong
		case stuck:
			stood++
		case passes: // items left in time
		default:
			t.Fatalf("seed %d: with two more inside it %s, and the run does not say so", seed, got)
		}
	}
	t.Logf("%d of %d stood still with two more inside", stood, loops)
	if stood < loops/4 {
		t.Error("hardly any loop stands still with more inside than it holds")
	}
}
