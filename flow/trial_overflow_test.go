package flow_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// question is a request with a channel for its answer.
type question struct {
	n     int
	reply chan string
}

func questions(n int) []question {
	qs := make([]question, n)
	for i := range qs {
		qs[i] = question{i, make(chan string, 2)}
	}
	return qs
}

// replies returns how many questions got each answer; a question without one, or with two, fails the test.
func replies(t *testing.T, qs []question) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, q := range qs {
		if len(q.reply) != 1 {
			t.Fatalf("question %d got %d answers, want one", q.n, len(q.reply))
		}
		counts[<-q.reply]++
	}
	return counts
}

// T31: items that carry a reply channel overflow an edge that drops. The hook gets each item that was dropped, with the reason,
// so that every reply resolves, once; and the counts agree. In a graph and behind an Inlet, for both policies.
func TestT31DroppedHookResolvesReplies(t *testing.T) {
	for _, policy := range []flow.Policy{flow.DropNewest, flow.DropOldest} {
		hook := func(q question, why flow.DropReason) { q.reply <- "dropped: " + why.String() }
		edge := flow.Edge[question]{Name: "line", Capacity: 5, OnFull: policy, Dropped: hook}
		answer := func(_ context.Context, q question) error {
			time.Sleep(time.Second)
			q.reply <- "done"
			return nil
		}
		check := func(t *testing.T, r *flow.Run, qs []question, done int) {
			t.Helper()
			got := replies(t, qs)
			equal(t, "answered", got["done"], done)
			equal(t, "dropped", got["dropped: full"], len(qs)-done)
			e := edgeStats(t, r, "line")
			equal(t, "dropped, by the edge's count", e.Dropped[flow.DropFull], int64(len(qs)-done))
			equal(t, "in = out + dropped", e.In, e.Out+e.Dropped.Total())
			equal(t, "dropped, by the report", r.Report().Dropped, int64(len(qs)-done))
		}
		inBubble(t, policy.String()+" in a graph", func(t *testing.T) {
			qs := questions(100)
			next := 0
			src := flow.FromFunc(func(context.Context) (question, error) {
				if next == len(qs) {
					return question{}, stage.ErrEnd
				}
				synctest.Wait() // the consumer has taken what it can
				next++
				return qs[next-1], nil
			})
			r := start(t, src.Edge(edge).ForEach(answer))
			must(t, r.Wait())
			check(t, r, qs, 6) // one in hand, five waiting
		})
		inBubble(t, policy.String()+" behind an inlet", func(t *testing.T) {
			qs := questions(100)
			in := flow.NewInlet(edge)
			r := start(t, in.Flow().ForEach(answer))
			for i, q := range qs {
				_, err := in.Offer(t.Context(), q)
				synctest.Wait()
				if wantDrop := policy == flow.DropNewest && i >= 6; errors.Is(err, flow.ErrDropped) != wantDrop {
					t.Fatalf("Offer(%d) = %v", i, err)
				}
			}
			in.Close()
			must(t, r.Wait())
			check(t, r, qs, 6)
		})
	}
}

// T32: a storm of offers from 64 goroutines into an edge of 100 that refuses them. Each refusal is decided at once and allocates
// nothing, so that memory stays flat.
func TestT32RefusingAllocatesNothing(t *testing.T) {
	const goroutines, each = 64, 5000
	for _, policy := range []flow.Policy{flow.DropNewest, flow.Reject} {
		t.Run(policy.String(), func(t *testing.T) {
			in := flow.NewInlet(flow.Edge[int]{Name: "storm", Capacity: 100, OnFull: policy})
			release := make(chan struct{})
			r := start(t, in.Flow().ForEach(func(context.Context, int) error {
				<-release
				return nil
			}))
			accepted := 0
			for range 300 { // it is full now, and the consumer has what it takes
				if _, err := in.Offer(t.Context(), 1); err == nil {
					accepted++
				}
				runtime.Gosched()
			}
			ctx := t.Context()
			storm := func(n int) {
				var wg sync.WaitGroup
				for range goroutines {
					wg.Go(func() {
						for range n {
							if _, err := in.Offer(ctx, 2); err == nil {
								t.Error("an offer to a full edge was accepted")
							}
						}
					})
				}
				wg.Wait()
			}
			waitFull(t, r)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			storm(each)
			runtime.ReadMemStats(&after)
			if got := after.Mallocs - before.Mallocs; got > goroutines*20 {
				t.Errorf("%d allocations for %d refusals, want only those of %d goroutines", got, goroutines*each, goroutines)
			}
			close(release)
			in.Close()
			must(t, r.Wait())
			equal(t, "items that arrived", stageStats(t, r, "foreach#2").Out, edgeStats(t, r, "storm").Out)
		})
	}
}

// waitFull waits until the only edge of r is full and its consumer has something in hand.
func waitFull(t *testing.T, r *flow.Run) {
	t.Helper()
	for range 1_000_000 {
		if e := edgeStats(t, r, "storm"); e.Depth == e.Capacity && e.Out > 0 {
			return
		}
		runtime.Gosched()
	}
	t.Fatal("the edge did not fill")
}

// T34: one of three sinks behind a Broadcast is blocked for ever. With blocking edges the whole fan-out stops with it; with a
// dropping edge on that branch the two others get everything.
func TestT34BlockedBranch(t *testing.T) {
	run := func(t *testing.T, policy flow.Policy) (got [2]*seen[int], r *flow.Run) {
		t.Helper()
		got = [2]*seen[int]{newSeen[int](), newSeen[int]()}
		branches := flow.FromSlice(ints(1000)).Broadcast(3)
		r = start(t, flow.Join(
			branches[0].Buffer(4, flow.Block).ForEach(got[0].each),
			branches[1].Buffer(8, flow.Block).ForEach(got[1].each),
			branches[2].Buffer(16, policy, flow.Name("dead")).ForEach(hang),
		))
		time.Sleep(time.Hour)
		return got, r
	}
	inBubble(t, "block: all stop", func(t *testing.T) {
		got, r := run(t, flow.Block)
		dead := edgeStats(t, r, "dead")
		equal(t, "depth of the dead branch", dead.Depth, 16)
		equal(t, "how long its producer has waited", dead.Blocked, time.Hour)
		for i, s := range got {
			equal(t, fmt.Sprint("items of branch ", i), len(s.values()), 17)
		}
		stopped(t, r)
	})
	for _, policy := range []flow.Policy{flow.DropNewest, flow.DropOldest} {
		inBubble(t, policy.String()+": the others go on", func(t *testing.T) {
			got, r := run(t, policy)
			for i, s := range got {
				equalSlices(t, fmt.Sprint("branch ", i), s.values(), ints(1000))
			}
			equal(t, "dropped", edgeStats(t, r, "dead").Dropped.Total(), 1000-17)
			stopped(t, r)
		})
	}
}

// T37: one branch is throttled to one item in five seconds. How far the other runs ahead is bounded by the slow branch's edge,
// and that edge is the one whose producer waits. Partition does not exist yet: a Broadcast with a filter in each branch
// has the same wait at the head of the line.
func TestT37HeadOfLineWaitIsBoundedByTheSlowBranch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, fast := newSeen[int](), newSeen[int]()
		branches := flow.FromSlice(ints(200)).Broadcast(2)
		r := start(t, flow.Join(
			branches[0].Buffer(10, flow.Block, flow.Name("even")).Filter(even).ForEach(func(ctx context.Context, v int) error {
				if err := nap(ctx, 5*time.Second); err != nil {
					return err
				}
				return slow.each(ctx, v)
			}),
			branches[1].Buffer(10, flow.Block, flow.Name("odd")).Filter(func(i int) bool { return !even(i) }).ForEach(fast.each),
		))
		for range 20 {
			time.Sleep(5 * time.Second)
			synctest.Wait()
			ahead := len(fast.values()) - len(slow.values())
			if ahead > (10+16)/2+1 {
				t.Fatalf("the fast branch is %d items ahead, want at most what the slow edge and its consumer hold", ahead)
			}
		}
		even, odd := edgeStats(t, r, "even"), edgeStats(t, r, "odd")
		if even.Blocked < 90*time.Second || odd.Blocked != 0 {
			t.Fatalf("producers waited %v for the slow edge and %v for the fast one", even.Blocked, odd.Blocked)
		}
		stopped(t, r)
	})
}
