package stagetest

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

const heavy = 1_000_000

var edged = EdgeOptions[int]{Item: oneTo, Heavy: func() int { return heavy }, Bubble: true}

// weighted is an edge with a bound by weight, for items of which one is too heavy.
func weighted(onFull flow.Policy) flow.Edge[int] {
	return flow.Edge[int]{Capacity: 8, OnFull: onFull, MaxWeight: 20, Weight: func(v int) int64 {
		if v == heavy {
			return 50
		}
		return 1
	}}
}

func TestAHealthyEdgeHasNoFindings(t *testing.T) {
	for _, bubble := range []bool{true, false} {
		for _, onFull := range []flow.Policy{flow.Block, flow.DropNewest, flow.DropOldest, flow.Reject} {
			t.Run(onFull.String()+" "+strconv.FormatBool(bubble), func(t *testing.T) {
				opts := edged
				opts.Bubble = bubble
				TestEdge(t, opts, func(*testing.T) flow.Edge[int] { return weighted(onFull) })
			})
		}
	}
}

// gate is the entrance of an edge, with something else in the place of its methods.
type gate struct {
	*flow.Inlet[int]
	hand  func(ctx context.Context, v int, hand handing) (flow.Receipt, error) // instead of Put and Offer
	close func()
}

// handing is Put or Offer.
type handing = func(ctx context.Context, v int) (flow.Receipt, error)

func (g *gate) Put(ctx context.Context, v int) (flow.Receipt, error) {
	return g.hand(ctx, v, g.Inlet.Put)
}

func (g *gate) Offer(ctx context.Context, v int) (flow.Receipt, error) {
	return g.hand(ctx, v, g.Inlet.Offer)
}

func (g *gate) Close() {
	if g.close != nil {
		g.close()
	}
	g.Inlet.Close()
}

// edgeTwin is an edge with one thing broken, and the number of the rule whose checks must find it.
type edgeTwin struct {
	rule, breaks string
	also         []string // rules that are broken with it
	onFull       flow.Policy
	change       func(e *flow.Edge[int], g *gate)
}

var edgeTwins = []edgeTwin{
	{rule: "28", breaks: "lets others pass one", change: func(e *flow.Edge[int], g *gate) {
		e.Capacity, e.MaxWeight = 1000, 1000 // so that the one never waits for room
		var late parked
		g.hand = func(ctx context.Context, v int, hand handing) (flow.Receipt, error) {
			if v%7 == 0 && late.park(v) {
				return flow.Receipt{}, nil
			}
			r, err := hand(ctx, v)
			if waiting, ok := late.next(); ok {
				_, _ = g.Inlet.Put(ctx, waiting)
			}
			return r, err
		}
		g.close = func() {
			if waiting, ok := late.next(); ok {
				_, _ = g.Inlet.Put(context.Background(), waiting)
			}
		}
	}},
	{rule: "28", breaks: "hands out an item twice", also: []string{"29"}, change: func(_ *flow.Edge[int], g *gate) {
		g.hand = func(ctx context.Context, v int, hand handing) (flow.Receipt, error) {
			r, err := hand(ctx, v)
			if v%7 == 0 && err == nil {
				return hand(ctx, v)
			}
			return r, err
		}
	}},
	{rule: "29", breaks: "loses an item", change: func(_ *flow.Edge[int], g *gate) {
		g.hand = func(ctx context.Context, v int, hand handing) (flow.Receipt, error) {
			if v%7 == 0 {
				return flow.Receipt{}, nil
			}
			return hand(ctx, v)
		}
	}},
	{rule: "29", breaks: "says nothing of what it has no room for", change: func(_ *flow.Edge[int], g *gate) {
		g.hand = func(ctx context.Context, v int, hand handing) (flow.Receipt, error) {
			r, err := hand(ctx, v)
			if refused(err) {
				err = nil
			}
			return r, err
		}
	}},
	{rule: "29", breaks: "takes what it refuses", also: []string{"28"}, onFull: flow.DropOldest, change: func(_ *flow.Edge[int], g *gate) {
		g.hand = func(ctx context.Context, v int, hand handing) (flow.Receipt, error) {
			r, err := hand(ctx, v)
			if v%7 == 0 && err == nil {
				err = new(flow.FullError)
			}
			return r, err
		}
	}},
	{rule: "29", breaks: "does not tell of each drop", onFull: flow.DropOldest, change: func(e *flow.Edge[int], _ *gate) {
		tell := e.Dropped
		e.Dropped = func(v int, why flow.DropReason) {
			if v%7 != 0 {
				tell(v, why)
			}
		}
	}},
	{rule: "29", breaks: "gives another reason", onFull: flow.DropNewest, change: func(e *flow.Edge[int], _ *gate) {
		tell := e.Dropped
		e.Dropped = func(v int, _ flow.DropReason) { tell(v, flow.DropExpired) }
	}},
	{rule: "29", breaks: "says that it has dropped what it has not seen", change: func(e *flow.Edge[int], g *gate) {
		deaf := e.Dropped == nil
		g.hand = func(ctx context.Context, v int, hand handing) (flow.Receipt, error) {
			if deaf && v%7 == 0 {
				return flow.Receipt{}, flow.ErrDropped
			}
			return hand(ctx, v)
		}
	}},
	{rule: "30", breaks: "waits for room that there will never be", change: func(_ *flow.Edge[int], g *gate) {
		g.hand = func(ctx context.Context, v int, hand handing) (flow.Receipt, error) {
			if v == heavy {
				<-ctx.Done()
			}
			return hand(ctx, v)
		}
	}},
	{rule: "30", breaks: "lets light items pass for ever", change: func(_ *flow.Edge[int], g *gate) {
		g.hand = func(ctx context.Context, v int, hand handing) (flow.Receipt, error) {
			if v != heavy {
				return hand(ctx, v)
			}
			time.Sleep(3 * time.Microsecond) // never at the moment at which a reader takes
			r, err := g.Inlet.Offer(ctx, v)
			for ; refused(err) && ctx.Err() == nil; r, err = g.Inlet.Offer(ctx, v) {
				time.Sleep(10 * time.Microsecond)
			}
			return r, err
		}
	}},
}

// parked is a value that has to wait, for any goroutine.
type parked struct {
	mu     sync.Mutex
	values []int
}

// park reports whether there was room.
func (p *parked) park(v int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.values) > 0 {
		return false
	}
	p.values = append(p.values, v)
	return true
}

func (p *parked) next() (int, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.values) == 0 {
		return 0, false
	}
	v := p.values[0]
	p.values = nil
	return v, true
}

// checks are those of the kit for the twin.
func (tw edgeTwin) checks() []check {
	k := newEdgeKit(edged, func(*testing.T) flow.Edge[int] { return weighted(tw.onFull) })
	k.enter = func(e flow.Edge[int]) (entrance[int], flow.Flow[int]) {
		g := &gate{hand: func(ctx context.Context, v int, hand handing) (flow.Receipt, error) { return hand(ctx, v) }}
		tw.change(&e, g)
		g.Inlet = flow.NewInlet(e)
		return g, g.Flow()
	}
	return k.checks()
}

// Each twin is caught by the checks of the rules that it breaks, and each check catches one.
func TestEdgeTwinsAreCaught(t *testing.T) {
	caught := make(map[string]bool)
	for _, twin := range edgeTwins {
		t.Run(twin.rule+" "+twin.breaks, func(t *testing.T) {
			wantOnly(t, found(t, twin.checks(), caught), []string{twin.rule}, twin.also...)
		})
	}
	wantAll(t, newEdgeKit(edged, nil).checks(), caught)
}

// An edge that serves the odd items first is in order only where that is said.
func TestAnOrderThatIsNotDeclaredIsFound(t *testing.T) {
	oddFirst := func(v int) stage.Criticality { return stage.Criticality(v % 2) }
	open := func(*testing.T) flow.Edge[int] {
		return flow.Edge[int]{Capacity: 8, Discipline: flow.ByCriticality(oddFirst)}
	}
	opts := edged
	wantFinding(t, found(t, newEdgeKit(opts, open).checks())["28"], "28")
	opts.Key = func(v int) string { return strconv.Itoa(v % 2) }
	if errs := found(t, newEdgeKit(opts, open).checks())["28"]; len(errs) > 0 {
		t.Fatalf("found %v in an order that was declared", errs)
	}
}

// A history is right if there is an order of its puts and takes, in which each lies within its time, that a queue could have had.
// This looks for one.
func linearizes(puts, takes []event, queue []int) bool {
	if len(puts) == 0 && len(takes) == 0 {
		return true
	}
	first := int64(1 << 62) // what has ended must be in front of what begins later
	for _, e := range slices.Concat(puts, takes) {
		first = min(first, e.ended)
	}
	for i, e := range puts {
		if e.began < first && linearizes(slices.Delete(slices.Clone(puts), i, i+1), takes, append(slices.Clip(queue), e.value)) {
			return true
		}
	}
	for i, e := range takes {
		if e.began < first && len(queue) > 0 && queue[0] == e.value &&
			linearizes(puts, slices.Delete(slices.Clone(takes), i, i+1), queue[1:]) {
			return true
		}
	}
	return false
}
