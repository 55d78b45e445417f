package flow_test

import (
	"cmp"
	"context"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// S8: where an operator with several inputs leaves a branch early, what it holds of the branch is done: others have it too.
func TestS8InputsThatAreBranchesAndLeaveEarly(t *testing.T) {
	joins := map[string]func(f flow.Flow[int]) flow.Flow[int]{
		"zip": func(f flow.Flow[int]) flow.Flow[int] { return f.ZipWith(flow.FromSlice(ints(3)), first) },
		"one input": func(f flow.Flow[int]) flow.Flow[int] {
			return f.Interleave(1).FlatMap(func(int) []int { return ints(3) }).Take(4)
		},
		"one input, by a condition": func(f flow.Flow[int]) flow.Flow[int] {
			return f.Interleave(1).FlatMap(func(int) []int { return ints(3) }).TakeWhile(even)
		},
		"zip, with more behind": func(f flow.Flow[int]) flow.Flow[int] {
			return f.ZipWith(flow.FromSlice(ints(3)), first).Concat(flow.FromSlice(ints(3)))
		},
	}
	for name, join := range joins {
		inBubble(t, name, func(t *testing.T) {
			b := newBroker(300)
			bs := flow.FromItems(b).Broadcast(2)
			must(t, flow.Join(discard(join(bs[0])), discard(bs[1])).Run(t.Context()))
			b.once(t)
			equal(t, "acknowledged", len(b.kind(stage.Done)), 300)
		})
	}
}

// An error of one input stops all, and gives back what is there of the others.
func TestCrossingsErrorOfAnInput(t *testing.T) {
	joins := map[string]func(a, b flow.Flow[int]) flow.Flow[int]{
		"zip":        func(a, b flow.Flow[int]) flow.Flow[int] { return a.ZipWith(b, first) },
		"interleave": func(a, b flow.Flow[int]) flow.Flow[int] { return a.Interleave(1, b) },
		"sorted":     func(a, b flow.Flow[int]) flow.Flow[int] { return a.MergeSorted(cmp.Compare[int], b) },
		"priority":   func(a, b flow.Flow[int]) flow.Flow[int] { return flow.MergePriority(a, b) },
	}
	for name, join := range joins {
		for side, swap := range map[string]bool{"the second": false, "the first": true} {
			inBubble(t, name+" "+side, func(t *testing.T) {
				b := newBroker(50)
				b.stays = true
				a, bad := flow.FromItems(b), flow.FromFunc(func(ctx context.Context) (int, error) {
					if err := nap(ctx, time.Second); err != nil {
						return 0, err
					}
					return 0, errA
				}, flow.Name("bad"))
				if swap {
					a, bad = bad, a
				}
				began := time.Now()
				r := start(t, discard(join(a, bad)))
				err := r.Wait()
				wantStage(t, err, "bad")
				wantError(t, err, errA)
				equal(t, "time", time.Since(began), time.Second)
				b.once(t)
				for _, i := range b.kind(stage.Failed) {
					wantError(t, b.outcome(t, i).Err, errA)
				}
			})
		}
	}
}

// S4: a panic and a Goexit in the Dropped hook of a branch's edge stop the run; each message is still settled once.
func TestS4DroppedHookOfABranchThatDoesNotReturn(t *testing.T) {
	for _, tr := range troubles() {
		edge := flow.Edge[int]{Name: "bad", Capacity: 2, OnFull: flow.DropNewest, SettleDropped: flow.Ack, Dropped: func(i int, _ flow.DropReason) {
			if i > 30 {
				tr.do()
			}
		}}
		shapes := map[string]func(flow.Flow[int]) flow.Pipeline{
			"split": func(f flow.Flow[int]) flow.Pipeline {
				yes, no := f.Split(even)
				return flow.Join(yes.Edge(edge).ForEach(hang), discard(no))
			},
			"partition": func(f flow.Flow[int]) flow.Pipeline {
				bs := f.Partition(2, twice)
				return flow.Join(discard(bs[0]), bs[1].Edge(edge).ForEach(hang))
			},
			"an input of a priority merge": func(f flow.Flow[int]) flow.Pipeline {
				return flow.MergePriority(f.Edge(edge), flow.FromSlice(ints(5))).ForEach(hang)
			},
		}
		for name, shape := range shapes {
			inBubble(t, name+" "+tr.name, func(t *testing.T) {
				b := newBroker(400)
				err := shape(flow.FromItems(b)).Run(t.Context())
				wantStage(t, err, "bad")
				if tr.is != nil {
					wantError(t, err, tr.is)
				}
				b.once(t)
			})
		}
	}
}

// S18: weights of a branch's edge: an item in the router's hand waits for room by weight, and a weight that makes no sense stops the
// run.
func TestSplitIntoEdgesWithWeights(t *testing.T) {
	weigh := func(bad int) flow.Edge[int] {
		return flow.Edge[int]{Name: "bad", Capacity: 10, MaxWeight: 20, Weight: func(i int) int64 {
			if i == bad {
				return -1
			}
			return int64(i % 15)
		}}
	}
	inBubble(t, "all pass", func(t *testing.T) {
		b := newBroker(200)
		got := newSeen[int]()
		yes, no := flow.FromItems(b).Split(even)
		must(t, flow.Join(yes.Edge(weigh(-1)).ForEach(got.each), discard(no)).Run(t.Context()))
		equal(t, "values", len(got.values()), 100)
		b.once(t)
		equal(t, "acknowledged", len(b.kind(stage.Done)), 200)
	})
	inBubble(t, "a negative one", func(t *testing.T) {
		b := newBroker(200)
		yes, no := flow.FromItems(b).Split(even)
		err := flow.Join(discard(yes.Edge(weigh(100))), discard(no)).Run(t.Context())
		if err == nil {
			t.Fatal("Run() = nil, want the error of the weight")
		}
		b.once(t)
	})
}

// L1: what a branch has in its hands when user code fails there has not been processed, so it is not done, whatever the other
// branch made of it.
func TestItemsOfABranchBehindOneThatFailsAreNotDone(t *testing.T) {
	for _, tr := range troubles() {
		try := func(i int) int {
			if i >= 40 {
				tr.do()
			}
			return i
		}
		weighed := flow.Edge[int]{Capacity: 64, MaxWeight: 64, Weight: func(i int) int64 { return int64(try(i) / (i + 1)) }}
		lossy := flow.Edge[int]{
			Capacity: 1, OnFull: flow.DropNewest, SettleDropped: flow.Nak(0),
			Dropped: func(i int, _ flow.DropReason) { try(i) },
		}
		shapes := map[string]func(flow.Flow[int]) flow.Flow[int]{
			"conflate": func(f flow.Flow[int]) flow.Flow[int] { return f.Conflate(func(_, next int) int { return try(next) }) },
			"weight":   func(f flow.Flow[int]) flow.Flow[int] { return f.Parallel(1, same).Edge(weighed) },
			"hook":     func(f flow.Flow[int]) flow.Flow[int] { return f.Parallel(1, same).Edge(lossy) },
			"map":      func(f flow.Flow[int]) flow.Flow[int] { return f.Map(try) },
			"flatmap":  func(f flow.Flow[int]) flow.Flow[int] { return f.FlatMap(func(i int) []int { return []int{try(i), i} }) },
			"key":      func(f flow.Flow[int]) flow.Flow[int] { return f.ParallelByKey(3, try, same) },
			"scan":     func(f flow.Flow[int]) flow.Flow[int] { return f.Scan(0, func(_, i int) int { return try(i) }) },
		}
		for name, shape := range shapes {
			inBubble(t, name+" "+tr.name, func(t *testing.T) {
				b := newBroker(200)
				bs := flow.FromItems(b).Broadcast(2)
				most := -1
				sink := func(ctx context.Context, i int) error {
					err := nap(ctx, time.Duration(i%16/15)*time.Second)
					if err == nil {
						most = max(most, i) // ParallelByKey keeps no order among keys
					}
					return err
				}
				if err := flow.Join(discard(bs[0]), shape(bs[1]).ForEach(sink)).Run(t.Context()); err == nil {
					t.Fatal("Run() = nil, want an error")
				}
				b.once(t)
				for _, i := range b.kind(stage.Done) {
					if i > most {
						t.Errorf("message %d is done, and the last to reach the sink was %d", i, most)
					}
				}
			})
		}
	}
}
