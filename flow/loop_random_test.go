package flow_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// loopPlan is a random loop, with claims, and what is to go wrong in it.
type loopPlan struct {
	n, k     int
	steps    []int // of the body
	children int   // how many a value makes when it goes round; more than 1 needs a gate that counts
	form     int
	copies   bool // a copy leaves each time, instead of the last one
	slow     bool
	fault    int
	at       laps // the fault is about this one
	before   time.Duration
	take     int
}

const (
	noFault = iota
	anError
	aPanic
	aGoexit
	aStop
	aCancel
	aDrain
	aTake
	loopFaults
)

func drawLoop(t *rapid.T) *loopPlan {
	p := &loopPlan{
		n: rapid.IntRange(0, 40).Draw(t, "n"), k: rapid.IntRange(1, 12).Draw(t, "k"),
		steps:    rapid.SliceOfN(rapid.IntRange(0, 8), 0, 4).Draw(t, "steps"),
		children: rapid.IntRange(1, 2).Draw(t, "children"), form: rapid.IntRange(0, 1).Draw(t, "form"),
		copies: rapid.Bool().Draw(t, "copies"), slow: rapid.Bool().Draw(t, "slow"),
		fault:  rapid.IntRange(noFault, loopFaults-1).Draw(t, "fault"),
		at:     laps{id: rapid.IntRange(0, 40).Draw(t, "at"), left: rapid.IntRange(0, 3).Draw(t, "lap")},
		before: time.Duration(rapid.IntRange(0, 20).Draw(t, "before")) * time.Millisecond,
		take:   rapid.IntRange(0, 10).Draw(t, "take"),
	}
	return p
}

// Every value goes round left times, and makes children on the way; some are let go.
func letsGo(l laps) bool { return (l.id+3*l.left)%7 == 3 }

// expected is what comes out for one value, one after the other.
func (p *loopPlan) expected(l laps, out map[laps]int) {
	if p.drops() && letsGo(l) {
		return
	}
	if p.copies || leaves(l) {
		out[l]++
	}
	if leaves(l) {
		return
	}
	for range p.children {
		p.expected(nextLap(l), out)
	}
}

func (p *loopPlan) drops() bool { return slices.Contains(p.steps, 4) }

func (p *loopPlan) value(i int) laps { return laps{id: i, left: i % 4} }

var errLoop = errors.New("loop")

// trouble does what is to go wrong with l.
func (p *loopPlan) trouble(l laps) error {
	if p.slow {
		time.Sleep(time.Millisecond)
	}
	if l.id != p.at.id || l.left != p.at.left {
		return nil
	}
	switch p.fault {
	case anError:
		return errLoop
	case aPanic:
		panic(errLoop)
	case aGoexit:
		runtime.Goexit()
	}
	return nil
}

// body is a chain of steps, and a fork.
func (p *loopPlan) body(in lapFlow) (out, again lapFlow) {
	f := in
	for _, step := range p.steps {
		f = p.step(f, step)
	}
	f = f.TryMap(func(_ context.Context, l laps) (laps, error) { return l, p.trouble(l) }, flow.Name("work"))
	if p.copies {
		bs := f.Broadcast(2)
		out, again = bs[0], bs[1].Filter(func(l laps) bool { return !leaves(l) })
	} else {
		out, again = f.Split(leaves)
	}
	if p.children == 1 {
		return out, again.Map(nextLap)
	}
	return out, again.FlatMap(func(l laps) []laps { return []laps{nextLap(l), nextLap(l)} })
}

func (p *loopPlan) step(f lapFlow, step int) lapFlow {
	one := func(_ context.Context, l laps) (laps, error) { return l, nil }
	switch step {
	case 0:
		return f.Buffer(1+len(p.steps), flow.Block)
	case 1:
		return f.Parallel(3, one)
	case 2:
		return flow.Merge(f.Balance(2)...)
	case 3:
		return flow.MergePriority(f.Partition(3, func(l laps) int { return l.id })...)
	case 4:
		return f.Filter(func(l laps) bool { return !letsGo(l) })
	case 5:
		return f.Batch(3, time.Millisecond).FlatMap(func(b []laps) []laps { return b })
	case 6: // a loop in the loop
		return f.Loop(flow.Gated(p.k), func(in lapFlow) (out, again lapFlow) {
			out, again = in.Split(func(l laps) bool { return l.id%2 == 0 || l.done < 0 })
			return out.Map(func(l laps) laps { return laps{l.id, l.left, max(l.done, ^l.done)} }), again.Map(func(l laps) laps { return laps{l.id, l.left, ^l.done} })
		})
	case 7:
		bs := f.Broadcast(2)
		return bs[0].ZipWith(bs[1], func(a, b laps) laps {
			if a != b {
				panic(fmt.Sprintf("%v is paired with %v", a, b))
			}
			return a
		})
	}
	return f.Stamp(func(_ laps, m stage.Meta) stage.Meta { m.Attempt++; return m })
}

func (p *loopPlan) loopForm() flow.LoopForm {
	switch {
	case p.children > 1:
		return flow.Gated(p.k).Children(10_000)
	case p.form == 1:
		return flow.Lossy(10_000, flow.DropNewest, flow.SettleDropped(flow.Ack))
	}
	return flow.Gated(p.k)
}

// Whatever the loop is like and whatever goes wrong in it: it ends, what has come out is what a sequential walk gives, or a part of it,
// and every message settles once.
func TestRandomLoopsAgainstAReference(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawLoop(rt)
		synctest.Test(t, func(t *testing.T) {
			if text := p.try(t.Context()); text != "" {
				rt.Errorf("%+v: %s", p, text)
			}
		})
	})
}

// try runs the loop and says what is wrong.
func (p *loopPlan) try(ctx context.Context) string {
	b, got := newBroker(p.n), newSeen[laps]()
	var pulled atomic.Int64
	f := flow.FromItems(b).Map(func(i int) laps { pulled.Add(1); return p.value(i) }).Loop(p.loopForm(), p.body)
	if p.fault == aTake {
		f = f.Take(p.take)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := f.ForEach(got.each).Start(ctx)
	if err != nil {
		return err.Error()
	}
	time.Sleep(p.before)
	switch p.fault {
	case aStop:
		r.Stop()
	case aCancel:
		cancel()
	case aDrain:
		_ = r.Drain(ctx) // Wait says the same
	}
	err = r.Wait()
	return p.judge(err, b, got.values(), int(pulled.Load()))
}

// judge compares what has come out with the reference.
func (p *loopPlan) judge(err error, b *broker, got []laps, pulled int) string {
	want := map[laps]int{}
	for i := range pulled {
		p.expected(p.value(i), want)
	}
	have := map[laps]int{}
	for _, l := range got {
		have[l]++
		if have[l] > want[l] {
			return fmt.Sprintf("%v came %d times, want %d", l, have[l], want[l])
		}
	}
	if text := b.problem(); text != nil {
		return text.Error()
	}
	whole := p.fault == noFault || p.fault == aDrain
	switch _, deadlock := errors.AsType[*flow.DeadlockError](err); {
	case deadlock, whole && err != nil:
		return fmt.Sprintf("it ended with %v", err)
	case err == nil && p.fault != aTake && !maps.Equal(have, want):
		return fmt.Sprintf("got %v, want %v", have, want)
	case err == nil && p.fault == aTake && len(got) != min(p.take, totalOf(want)):
		return fmt.Sprintf("got %d values, want %d", len(got), min(p.take, totalOf(want)))
	case whole && len(b.kind(stage.Done)) != pulled:
		return fmt.Sprintf("%d messages are done, want %d", len(b.kind(stage.Done)), pulled)
	}
	return ""
}

func totalOf(counts map[laps]int) (n int) {
	for _, k := range counts {
		n += k
	}
	return n
}

// A primed loop hands out each of its values to one item at a time, and all items come through in order.
func TestRandomPrimedLoops(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n, k := rapid.IntRange(0, 60).Draw(rt, "n"), rapid.IntRange(1, 5).Draw(rt, "tokens")
		take := rapid.IntRange(0, 60).Draw(rt, "take")
		shape := rapid.IntRange(0, 3).Draw(rt, "shape")
		synctest.Test(t, func(t *testing.T) {
			b, got := newBroker(n), newSeen[int]()
			used := make([]atomic.Bool, k)
			err := flow.FromItems(b).PrimedLoop(ints(k), func(in tokens) (out, again flow.Flow[int]) {
				f := in.Tap(func(p flow.Pair[int, int]) {
					if used[p.Second].Swap(true) {
						rt.Errorf("token %d is used twice", p.Second)
					}
				})
				switch shape {
				case 1:
					f = f.Buffer(2, flow.Block)
				case 2:
					f = f.Parallel(2, func(ctx context.Context, p flow.Pair[int, int]) (flow.Pair[int, int], error) {
						return p, nap(ctx, time.Millisecond)
					})
				case 3:
					f = f.Batch(k, 0).FlatMap(func(b []flow.Pair[int, int]) []flow.Pair[int, int] { return b })
				}
				bs := f.Broadcast(2)
				return bs[0].Map(leftOfPair), bs[1].Map(func(p flow.Pair[int, int]) int { used[p.Second].Store(false); return p.Second })
			}).Take(take).ForEach(got.each).Run(t.Context())
			if text := b.problem(); err != nil || text != nil || !slices.Equal(got.values(), ints(min(n, take))) {
				rt.Errorf("got %v, %v and %v, want all up to %d", err, text, got.values(), min(n, take))
			}
		})
	})
}
