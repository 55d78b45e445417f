package flow_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// orders is a source of messages without end, of which it leaves no more than most unsettled.
func orders(most int) (*broker, intFlow) {
	b := newBroker(math.MaxInt)
	b.limit = most
	return b, flow.FromItems(b, flow.Name("orders"))
}

// batchedOrders is G12: the source leaves 100 unsettled.
func batchedOrders(size int, maxWait time.Duration) flow.Pipeline {
	_, f := orders(100)
	return f.Batch(size, maxWait, flow.Name("batch")).Buffer(2, flow.Block).To(stage.Discard[[]int](), flow.Name("store"))
}

// G12: a batch that its source can't fill is a finding, and one that it can is none, nor one with a time.
func TestG12IsRefused(t *testing.T) {
	for size, refused := range map[int]bool{100: false, 101: true, 500: true} {
		err := batchedOrders(size, 0).Check()
		equal(t, "refused", err != nil, refused)
		if refused {
			wantText(t, err, "its source gives no more than 100 until some of them have settled")
		}
		must(t, batchedOrders(size, time.Second).Check())
	}
}

// keptByBoth has a batch for odd and one for even messages, of which the source leaves limit unsettled.
func keptByBoth(limit, odds, evens int) flow.Pipeline {
	_, f := orders(limit)
	odd, even := f.Split(func(i int) bool { return i%2 == 1 }, flow.Name("kinds"))
	a := odd.Batch(odds, 0, flow.Name("odd")).FlatMap(flatten)
	b := even.Batch(evens, 0, flow.Name("even")).FlatMap(flatten)
	return discard(flow.Merge(a, b).Take(5000))
}

// Stages that keep items until more come, each of them few enough, are a finding where a source leaves no more unsettled than all of them
// may keep at one time. With one more they go on, and without it they may stand still; where they do not here, it is by luck.
func TestBatchesThatKeepTooManyTogetherAreRefused(t *testing.T) {
	ten := func(f intFlow, name string) intFlow { return f.Batch(10, 0, flow.Name(name)).FlatMap(flatten) }
	tests := map[string]struct {
		least int // the limit with which nothing is wrong
		names string
		shape func(f intFlow) flow.Pipeline
		lucky bool
	}{
		"both sides of a split": {19, "a .* and b ", func(f intFlow) flow.Pipeline {
			yes, no := f.Split(even)
			return discard(flow.Merge(ten(yes, "a"), ten(no, "b")).Take(500))
		}, false},
		"parts, one of which keeps nothing": {19, "a .* and b ", func(f intFlow) flow.Pipeline {
			parts := f.Partition(3, func(i int) int { return i })
			return discard(flow.Merge(ten(parts[0], "a"), ten(parts[1], "b"), parts[2]).Take(500))
		}, true},
		"one behind the other": {30, "a .* and b ", func(f intFlow) flow.Pipeline {
			return discard(ten(f, "a").Map(twice).Batch(16, 0, flow.Name("b")).FlatMap(flatten).Take(500))
		}, false},
		"batches of batches": {50, "a .* and b ", func(f intFlow) flow.Pipeline {
			return f.Batch(10, 0, flow.Name("a")).ForEachBatch(5, 0, func(context.Context, [][]int) error { return nil }, flow.Name("b"))
		}, false},
		"workers": {37, "each of its 4 workers waits for 10 items", func(f intFlow) flow.Pipeline {
			return f.ForEachBatch(10, 0, func(context.Context, []int) error { return nil }, flow.Workers(4))
		}, true},
		"copies": {12, "b ", func(f intFlow) flow.Pipeline {
			bs := f.Broadcast(2)
			return discard(flow.Merge(ten(bs[0], "a"), bs[1].Batch(12, 0, flow.Name("b")).FlatMap(flatten)).Take(500))
		}, false},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			build := func(limit int) flow.Pipeline {
				b, f := orders(limit)
				b.total = 1000
				return c.shape(f)
			}
			must(t, build(c.least).Check())
			if standsStill(t, build(c.least)) {
				t.Errorf("it stands still with %d", c.least)
			}
			err := build(c.least - 1).Check()
			if name == "batches of batches" {
				wantText(t, err, "waits for 5 items, but its source gives no more than 4 ")
			} else {
				wantText(t, err, c.names)
			}
			if !c.lucky && !standsStill(t, build(c.least-1)) {
				t.Errorf("it does not stand still with %d", c.least-1)
			}
		})
	}
}

// What is kept behind copies that come together again is not known: there are more of them than of what came in.
func TestBatchesBehindCopiesThatMeetAgainAreLetPass(t *testing.T) {
	_, f := orders(10)
	bs := f.Broadcast(2)
	must(t, discard(flow.Merge(bs...).Batch(15, 0).FlatMap(flatten).Take(100)).Check())
}

// Behind a Tee whose batch is too large the circle goes through the batch, not only through whoever waits for the source as well.
func TestTheCircleGoesThroughWhoKeepsItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, f := orders(100)
		batches := func(f intFlow) flow.Pipeline { return discard(f.Batch(500, 0, flow.Name("batch")).FlatMap(flatten)) }
		e := deadlock(t, flow.Trusting(discard(f.Tee(batches))).Run(t.Context()))
		equalSlices(t, "circle", names(e), []string{"batch", "orders"})
		equal(t, "what the batch holds", e.Hops[0].Holds, 100)
		wantText(t, e, "a source that leaves more unsettled would let them go on")
	})
}

// It names the source, what it waits for, and what the batch holds.
func TestG12Report(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := deadlock(t, flow.Trusting(batchedOrders(500, 0)).Run(t.Context()))
		i := slices.Index(names(e), "orders")
		equal(t, "what the source waits for", e.Hops[i].Waits, "for a settlement")
		equal(t, "what the batch holds", e.Hops[1-i].Holds, 100)
		equalSlices(t, "behind", e.Behind, []string{"store"})
	})
}

// A source at its limit whose items are somewhere else than in workers that wait is no deadlock: they are in user code, wait for a time,
// are kept by a stage, or are with goroutines that nobody looks at.
func TestSourcesAtTheirLimitThatGoOn(t *testing.T) {
	hour := func(ctx context.Context, i int) (int, error) { return i, nap(ctx, time.Hour) }
	tests := map[string]func(f intFlow) intFlow{
		"a slow stage":               func(f intFlow) intFlow { return tiny(f).TryMap(hour) },
		"slow workers":               func(f intFlow) intFlow { return f.Parallel(4, hour) },
		"slow lanes":                 func(f intFlow) intFlow { return f.ParallelByKey(2, func(i int) int { return i % 2 }, hour) },
		"a batch with a time":        func(f intFlow) intFlow { return f.Batch(500, time.Hour).FlatMap(flatten) },
		"a batch that can be filled": func(f intFlow) intFlow { return f.Batch(10, 0).FlatMap(flatten).TryMap(hour) },
		"a slow stage for each key": func(f intFlow) intFlow {
			return f.GroupBy(flow.Groups[int]{Max: 4}, func(i int) int { return i % 2 }, func(int) stage.Stage[int, int] { return eachAnHour() })
		},
		"items that a stage keeps":     func(f intFlow) intFlow { return f.Via(keepsForAnHour()) },
		"a loop with a slow body":      func(f intFlow) intFlow { return f.Loop(flow.Gated(2), aroundOnce(hour)) },
		"a loop that keeps for a time": func(f intFlow) intFlow { return f.Loop(flow.Gated(2).Children(100), keepsInside) },
		"a loop with slow groups":      func(f intFlow) intFlow { return f.Loop(flow.Gated(2).Children(100), groupsInside) },
	}
	for name, shape := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, f := orders(10)
				b.total = 40
				must(t, flow.Trusting(watched(discard(shape(f)))).Run(t.Context()))
				b.once(t)
			})
		})
	}
}

// eachAnHour hands on each item after an hour.
func eachAnHour() stage.Stage[int, int] {
	return viaFunc(func(ctx context.Context, in *stage.In[int], out *stage.Out[int]) error {
		for it, err := range in.All(ctx) {
			if err == nil {
				err = nap(ctx, time.Hour)
			}
			if err == nil {
				err = out.Emit(ctx, it)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// keepsForAnHour keeps each item and ends it after an hour, from another goroutine.
func keepsForAnHour() stage.Stage[int, int] {
	return viaFunc(func(ctx context.Context, in *stage.In[int], _ *stage.Out[int]) error {
		for it, err := range in.All(ctx) {
			if err != nil {
				return err
			}
			time.AfterFunc(time.Hour, in.Keep(it).Done)
		}
		return nap(ctx, 2*time.Hour)
	})
}

// aroundOnce has even numbers leave, and odd ones come round as even ones.
func aroundOnce(work func(context.Context, int) (int, error)) func(in intFlow) (out, again intFlow) {
	return func(in intFlow) (out, again intFlow) {
		out, again = in.TryMap(work).Split(func(i int) bool { return i%2 == 0 })
		return out, again.Map(func(i int) int { return i + 1 })
	}
}

func keepsInside(in intFlow) (out, again intFlow) {
	return in.Via(keepsForAnHour()).Split(func(int) bool { return true })
}

func groupsInside(in intFlow) (out, again intFlow) {
	groups := in.GroupBy(flow.Groups[int]{Max: 4}, func(i int) int { return i % 2 }, func(int) stage.Stage[int, int] { return eachAnHour() })
	return groups.Split(func(int) bool { return true })
}

// A drain ends a source at its limit, and with it what waits for more; nobody takes that for a deadlock.
func TestDrainOfASourceAtItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := orders(10)
		p := f.Batch(11, 0).To(stage.Discard[[]int]()).OnDeadlock(flow.DeadlockConfig{Interval: time.Hour})
		r := start(t, flow.Trusting(p))
		time.Sleep(time.Minute)
		must(t, r.Drain(t.Context()))
		b.once(t)
		equal(t, "done", len(b.kind(stage.Done)), 10)
	})
}

// Nothing is said where a batch can be filled all the same: behind what settles items, makes many of one, or some of none.
func TestBatchesThatAreNotFilledBySourcesAlone(t *testing.T) {
	tests := map[string]func(f intFlow) intFlow{
		"BestEffort": func(f intFlow) intFlow { return f.BestEffort() },
		"a loop":     func(f intFlow) intFlow { return f.Loop(flow.Gated(1), copiesRound) },
		"KeepAlive":  func(f intFlow) intFlow { return f.KeepAlive(time.Minute, func() int { return 1 }) },
		"FlatMap":    func(f intFlow) intFlow { return f.FlatMap(func(i int) []int { return make([]int, 20) }) },
	}
	for name, shape := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, f := orders(1)
				b.total = 10
				sizes := newSeen[int]()
				must(t, watched(shape(f).Batch(5, 0, flow.Name("batch")).Map(size).ForEach(sizes.each)).Run(t.Context()))
				if !slices.Contains(sizes.values(), 5) {
					t.Errorf("batches of %v, want one of 5", sizes.values())
				}
				b.once(t)
			})
		})
	}
}

// copiesRound has a copy of each item leave, nine times.
func copiesRound(in intFlow) (out, again intFlow) {
	bs := in.Broadcast(2)
	return bs[0], bs[1].Filter(func(i int) bool { return i < 90 }).Map(func(i int) int { return i + 10 })
}

// A run has one OnDeadlock. One that nobody would heed is a build error.
func TestOnDeadlockOfAPipelineBesideAnother(t *testing.T) {
	beside := func(f intFlow) flow.Pipeline { return watched(discard(f)) }
	wantText(t, discard(unending().Tee(beside, flow.Name("tee"))).Check(), "flow: tee .*: the pipeline beside it has an OnDeadlock: say it of the whole")
	wantText(t, discard(unending().With(beside(unending()))).Check(), "flow: with.*: the pipeline beside it has an OnDeadlock: say it of the whole")
	must(t, watched(discard(unending().Tee(func(f intFlow) flow.Pipeline { return discard(f) }))).Check())
}
