package flow_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// watched looks at the run of p all the time.
func watched(p flow.Pipeline) flow.Pipeline {
	return p.OnDeadlock(flow.DeadlockConfig{Interval: time.Millisecond})
}

// healthy are pipelines that wait for a long time, and go on.
var healthy = map[string]func(t *testing.T) flow.Pipeline{
	"a source that is quiet for an hour": func(*testing.T) flow.Pipeline {
		n := 0
		return discard(flow.FromFunc(func(ctx context.Context) (int, error) {
			if n++; n > 3 {
				return 0, stage.ErrEnd
			}
			return n, nap(ctx, time.Hour)
		}).Buffer(4, flow.Block).Map(twice).Buffer(4, flow.Block))
	},
	"a sink that takes ten minutes for a batch": func(*testing.T) flow.Pipeline {
		return flow.FromSlice(ints(100)).Buffer(2, flow.Block).Batch(10, 0).Buffer(1, flow.Block).
			ForEach(func(ctx context.Context, _ []int) error { return nap(ctx, 10*time.Minute) })
	},
	"a batch that waits for its time": func(*testing.T) flow.Pipeline {
		gate := make(chan int, 3)
		gate <- 1
		time.AfterFunc(3*time.Hour, func() { close(gate) })
		return discard(flow.FromChan(gate).Batch(100, time.Hour).Map(size))
	},
	"a diamond that waits for the time of a batch": func(*testing.T) flow.Pipeline {
		bs := flow.FromSlice(ints(64)).Broadcast(2)
		batched := bs[0].Buffer(1, flow.Block).Batch(8, time.Minute).FlatMap(flatten)
		return flow.Trusting(discard(pairs(batched, bs[1].Buffer(2, flow.Block))))
	},
	"an inlet that nobody uses": func(*testing.T) flow.Pipeline {
		in := flow.NewInlet(flow.Edge[int]{Capacity: 2})
		time.AfterFunc(time.Hour, in.Close)
		return discard(in.Flow().Map(twice))
	},
	"a hub without members": func(*testing.T) flow.Pipeline {
		h := flow.NewMergeHub[int](3, flow.Edge[int]{Capacity: 2})
		time.AfterFunc(time.Hour, h.Close)
		return discard(h.Flow().Map(twice).Buffer(2, flow.Block))
	},
	"a subscriber without credit": func(*testing.T) flow.Pipeline {
		p, sub := flow.FromSlice(ints(100)).Buffer(2, flow.Block).ToSubscriber(deaf{})
		time.AfterFunc(time.Hour, func() { sub.Request(1 << 40) })
		return p
	},
	"a channel that nobody reads for an hour": func(*testing.T) flow.Pipeline {
		out := make(chan int)
		time.AfterFunc(time.Hour, func() {
			for range out { // it only reads
			}
		})
		return flow.FromSlice(ints(100)).Buffer(2, flow.Block).ToChan(out)
	},
	"groups, ordered workers and a priority": func(*testing.T) flow.Pipeline {
		src := flow.FromSlice(ints(200)).Parallel(4, someSeconds)
		grouped := src.GroupBy(flow.Groups[int]{Max: 3}, func(i int) int { return i % 5 }, func(int) stage.Stage[int, int] { return viaFunc(double) })
		other := flow.FromSlice(ints(50)).TryMap(someSeconds)
		return discard(flow.MergePriority(grouped, other))
	},
	"G14 two stages that share two permits": func(*testing.T) flow.Pipeline {
		permits := make(chan struct{}, 2)
		work := func(ctx context.Context, i int) (int, error) {
			permits <- struct{}{}
			defer func() { <-permits }() // before its result is handed on
			return i, nap(ctx, time.Second)
		}
		slow := tiny(flow.FromSlice(ints(5))).Parallel(2, work).ForEach(func(ctx context.Context, _ int) error { return nap(ctx, time.Hour) })
		return flow.Join(slow, discard(tiny(flow.FromSlice(ints(50))).Parallel(2, work)))
	},
	"G18 two broadcasts into two shared edges in opposite order": func(*testing.T) flow.Pipeline {
		a := flow.FromSlice(ints(100)).Broadcast(2)
		b := flow.FromSlice(ints(100)).Broadcast(2)
		return flow.Join(discard(tiny(flow.Merge(a[0], b[0]))), discard(tiny(flow.Merge(b[1], a[1]))))
	},
	"G19 an item that is heavier than its edge": func(*testing.T) flow.Pipeline {
		e := flow.Edge[int]{Name: "budget", Capacity: 10, MaxWeight: 1 << 20, Weight: func(int) int64 { return 2 << 20 }}
		return discard(flow.FromSlice(ints(20)).Edge(e).TryMap(someSeconds))
	},
}

func someSeconds(ctx context.Context, i int) (int, error) {
	return i, nap(ctx, time.Duration(i%7)*time.Second)
}

// deaf is a subscriber that does nothing with what it gets.
type deaf struct{}

func (deaf) Deliver(vs ...int) int { return len(vs) }
func (deaf) Complete()             {}
func (deaf) Fail(error)            {}

// None of them is taken for one that stands still, however often it is looked at.
func TestHealthyGraphsAreLeftAlone(t *testing.T) {
	for name, build := range healthy {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { must(t, watched(build(t)).Run(t.Context())) })
		})
	}
}

// The same where goroutines that have been woken do not get to run for a long time.
func TestStarvedProcessorsAreNoDeadlock(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var over atomic.Bool
	defer over.Store(true)
	go func() {
		for !over.Load() { // it does nothing, and takes its time
		}
	}()
	bs := flow.FromSlice(ints(30)).Parallel(2, same).Broadcast(2)
	first := tiny(bs[0]).Batch(4, 0).FlatMap(flatten)
	must(t, discard(pairs(first, bs[1].Buffer(8, flow.Block))).OnDeadlock(flow.DeadlockConfig{Interval: time.Microsecond}).Run(t.Context()))
}

// G16: a branch has had enough, and its source never ends: a drain does not wait for it.
func TestDrainBehindABranchThatHasEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bs := unending().Tap(alone).Broadcast(2)
		r := start(t, watched(flow.Join(discard(bs[0].Take(3)), discard(bs[1].Buffer(2, flow.Block)))))
		time.Sleep(10 * time.Second)
		began := time.Now()
		must(t, r.Drain(t.Context()))
		if d := time.Since(began); d >= 100*time.Millisecond {
			t.Errorf("the drain took %v, want less than 100 ms", d)
		}
	})
}

// G17: three stages fail at the same time. All ends, and none of the errors is lost.
func TestThreeStagesThatFailTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		causes := []error{errors.New("one"), errors.New("two"), errors.New("three")}
		bs := unending().Broadcast(3)
		var ps []flow.Pipeline
		for i, b := range bs {
			ps = append(ps, tiny(b).ForEach(func(context.Context, int) error {
				time.Sleep(time.Second)
				return causes[i]
			}))
		}
		err := watched(flow.Join(ps...)).Run(t.Context())
		for _, cause := range causes {
			wantError(t, err, cause)
		}
	})
}

// G22: the sink does not return, and so everything in front of it waits. That is no deadlock, and a drain that comes to its end says
// whose code it is.
func TestDrainOfABlockedSinkNamesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		defer close(free)
		r, err := watched(unending().Buffer(2, flow.Block).ForEach(func(context.Context, int) error {
			<-free
			return nil
		}, flow.Name("stubborn"))).Start(t.Context())
		must(t, err)
		time.Sleep(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err = r.Drain(ctx)
		wantError(t, err, flow.ErrStopped)
		if _, ok := errors.AsType[*flow.DeadlockError](err); ok || !strings.Contains(err.Error(), "stubborn") {
			t.Errorf("got %v, want an error that names the sink, and is about no deadlock", err)
		}
	})
}

// A run that is idle does not wake up to look at itself: a year of it costs as much as an hour.
func TestAnIdleRunSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := flow.NewInlet(flow.Edge[int]{Capacity: 2})
		p := discard(in.Flow().Map(twice).Buffer(2, flow.Block)).OnDeadlock(flow.DeadlockConfig{Interval: time.Nanosecond})
		r := start(t, p)
		time.Sleep(365 * 24 * time.Hour)
		in.Close()
		must(t, r.Wait())
	})
}
