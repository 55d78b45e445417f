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

// disturbed runs f with a fault from outside, and returns whether it started and how it ended.
func disturbed[T any](ctx context.Context, f flow.Flow[T], each func(context.Context, T) error, fault, take int, before time.Duration) (started bool, err error) {
	if fault == aTake {
		f = f.Take(take)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := f.ForEach(each).Start(ctx)
	if err != nil {
		return false, err
	}
	time.Sleep(before)
	switch fault {
	case aStop:
		r.Stop()
	case aCancel:
		cancel()
	case aDrain:
		_ = r.Drain(ctx) // Wait says the same
	}
	return true, r.Wait()
}

// try runs the loop and says what is wrong.
func (p *loopPlan) try(ctx context.Context) string {
	b, got := newBroker(p.n), newSeen[laps]()
	var pulled atomic.Int64
	f := flow.FromItems(b).Map(func(i int) laps { pulled.Add(1); return p.value(i) }).Loop(p.loopForm(), p.body)
	started, err := disturbed(ctx, f, got.each, p.fault, p.take, p.before)
	if !started {
		return err.Error()
	}
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

// primedPlan is a random primed loop, and what is to go wrong in it.
type primedPlan struct {
	n, k   int
	shape  int
	fault  int
	at     int // the fault is about this one
	before time.Duration
	take   int
}

// A primed loop hands out each of its values to one item at a time. Whatever goes wrong: what has come out is all in order up to
// somewhere, and every message settles once.
func TestRandomPrimedLoops(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		number := func(least, most int, name string) int { return rapid.IntRange(least, most).Draw(rt, name) }
		p := &primedPlan{
			n: number(0, 60, "n"), k: number(1, 5, "tokens"), shape: number(0, 3, "shape"), fault: number(noFault, loopFaults-1, "fault"),
			at: number(0, 60, "at"), before: time.Duration(number(0, 40, "before")) * time.Millisecond, take: number(0, 60, "take"),
		}
		synctest.Test(t, func(t *testing.T) {
			if text := p.try(t.Context()); text != "" {
				rt.Errorf("%+v: %s", p, text)
			}
		})
	})
}

// try runs the loop and says what is wrong.
func (p *primedPlan) try(ctx context.Context) string {
	b, got := newBroker(p.n), newSeen[int]()
	var pulled, twice atomic.Int64
	f := flow.FromItems(b).Tap(func(int) { pulled.Add(1) }).PrimedLoop(ints(p.k), p.body(&twice))
	started, err := disturbed(ctx, f, got.each, p.fault, p.take, p.before)
	if !started {
		return err.Error()
	}
	if n := twice.Load(); n > 0 {
		return fmt.Sprintf("%d items had a token that another one had", n)
	}
	return p.judge(err, b, got.values(), int(pulled.Load()))
}

// body works on each item while it has a token.
func (p *primedPlan) body(twice *atomic.Int64) func(in tokens) (out, again flow.Flow[int]) {
	used := make([]atomic.Bool, p.k)
	return func(in tokens) (out, again flow.Flow[int]) {
		f := in.Tap(func(pair flow.Pair[int, int]) {
			if used[pair.Second].Swap(true) {
				twice.Add(1)
			}
		})
		work := func(ctx context.Context, pair flow.Pair[int, int]) (flow.Pair[int, int], error) {
			return pair, p.trouble(ctx, pair.First)
		}
		switch p.shape {
		case 0:
			f = f.TryMap(work, flow.Name("work"))
		case 1:
			f = f.Buffer(2, flow.Block).TryMap(work, flow.Name("work"))
		case 2:
			f = f.Parallel(2, work, flow.Name("work"))
		case 3:
			f = f.Batch(p.k, 0).FlatMap(func(b []flow.Pair[int, int]) []flow.Pair[int, int] { return b }).TryMap(work, flow.Name("work"))
		}
		bs := f.Broadcast(2)
		return bs[0].Map(leftOfPair), bs[1].Map(func(pair flow.Pair[int, int]) int { used[pair.Second].Store(false); return pair.Second })
	}
}

// trouble does what is to go wrong with item i.
func (p *primedPlan) trouble(ctx context.Context, i int) error {
	if err := nap(ctx, time.Millisecond); err != nil || i != p.at {
		return err
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

// judge compares what has come out with the items in order.
func (p *primedPlan) judge(err error, b *broker, got []int, pulled int) string {
	if text := b.problem(); text != nil {
		return text.Error()
	}
	_, deadlock := errors.AsType[*flow.DeadlockError](err)
	strikes := (p.fault == anError || p.fault == aPanic || p.fault == aGoexit) && p.at < p.n
	switch {
	case deadlock:
		return err.Error()
	case !slices.Equal(got, ints(len(got))):
		return fmt.Sprintf("got %v, want all in order", got)
	case strikes && (err == nil || len(got) > p.at):
		return fmt.Sprintf("it ended with %v and %d items, want a failure at %d", err, len(got), p.at)
	case p.fault == anError && strikes && !errors.Is(err, errLoop), p.fault == aGoexit && strikes && !errors.Is(err, stage.ErrGoexit):
		return fmt.Sprintf("it ended with %v", err)
	case strikes:
		return ""
	case p.fault == aStop || p.fault == aCancel:
		if err == nil && len(got) != p.n {
			return fmt.Sprintf("it ended well with %d items, want %d", len(got), p.n)
		}
		return ""
	case err != nil:
		return fmt.Sprintf("it ended with %v", err)
	case p.fault == aTake && len(got) != min(p.n, p.take), p.fault == aDrain && len(got) != pulled, p.fault != aTake && p.fault != aDrain && len(got) != p.n:
		return fmt.Sprintf("got %d items of %d", len(got), pulled)
	case p.fault != aTake && len(b.kind(stage.Done)) != pulled:
		return fmt.Sprintf("%d messages are done, want %d", len(b.kind(stage.Done)), pulled)
	}
	return ""
}
