package flow_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// S21: every message settles once, with the right outcome, wherever it leaves the pipeline.
func TestS21ClaimsOfWholeRuns(t *testing.T) {
	cases := map[string]struct {
		build func(flow.Flow[int]) flow.Pipeline
		done  int // of 100
	}{
		"map":    {func(f flow.Flow[int]) flow.Pipeline { return discard(f.Map(twice)) }, 100},
		"filter": {func(f flow.Flow[int]) flow.Pipeline { return discard(f.Filter(even)) }, 100},
		"filtermap": {func(f flow.Flow[int]) flow.Pipeline {
			return discard(f.FilterMap(func(i int) (int, bool) { return i, even(i) }))
		}, 100},
		"skip":     {func(f flow.Flow[int]) flow.Pipeline { return discard(f.Skip(37)) }, 100},
		"skip all": {func(f flow.Flow[int]) flow.Pipeline { return discard(f.Skip(370)) }, 100},
		"flatmap 0 to 3": {func(f flow.Flow[int]) flow.Pipeline {
			return discard(f.FlatMap(func(i int) []int { return ints(i % 4) }))
		}, 100},
		"flatmap and an edge": {func(f flow.Flow[int]) flow.Pipeline {
			return discard(f.FlatMap(func(i int) []int { return ints(i % 4) }).Buffer(2, flow.Block))
		}, 100},
		"batch": {func(f flow.Flow[int]) flow.Pipeline { return f.Batch(7, 0).To(stage.Discard[[]int]()) }, 100},
		"batch weight": {func(f flow.Flow[int]) flow.Pipeline {
			return f.BatchWeight(100, func(i int) int64 { return int64(i) }, 0).To(stage.Discard[[]int]())
		}, 100},
		"gather": {func(f flow.Flow[int]) flow.Pipeline { return f.To(stage.Discard[int](), flow.Gather(7, 0)) }, 100},
		"workers": {func(f flow.Flow[int]) flow.Pipeline {
			return f.To(stage.Discard[int](), flow.Workers(4), flow.Gather(7, 0))
		}, 100},
		"parallel": {func(f flow.Flow[int]) flow.Pipeline { return discard(f.Parallel(4, same)) }, 100},
		"skipped": {func(f flow.Flow[int]) flow.Pipeline {
			return discard(f.Parallel(4, failAt(50, errA), flow.OnError(flow.Skip)))
		}, 100},
		"broadcast": {func(f flow.Flow[int]) flow.Pipeline {
			bs := f.Broadcast(3)
			return flow.Join(discard(bs[0]), discard(bs[1].Filter(even)), bs[2].Batch(9, 0).To(stage.Discard[[]int]()))
		}, 100},
		"broadcast and merge": {func(f flow.Flow[int]) flow.Pipeline { return discard(flow.Merge(f.Broadcast(3)...)) }, 100},
		"tee": {func(f flow.Flow[int]) flow.Pipeline {
			return discard(f.Tee(func(f flow.Flow[int]) flow.Pipeline {
				return f.Take(3).ForEach(func(context.Context, int) error { return nil })
			}))
		}, 100},
		"take in the source's goroutine": {func(f flow.Flow[int]) flow.Pipeline { return discard(f.Take(30)) }, 30},
		"take behind an edge":            {func(f flow.Flow[int]) flow.Pipeline { return discard(f.Buffer(5, flow.Block).Take(30)) }, 30},
	}
	for name, c := range cases {
		inBubble(t, name, func(t *testing.T) {
			b := newBroker(100)
			r := start(t, c.build(flow.FromItems(b)))
			must(t, r.Wait())
			b.once(t)
			equal(t, "acknowledged", len(b.kind(stage.Done)), c.done)
			equal(t, "given back", len(b.kind(stage.Failed)), b.next-c.done)
		})
	}
}

// S21: what an edge drops settles as its SettleDropped says, or the source's; the worst share of a message decides.
func TestS21OutcomeOfDroppedItems(t *testing.T) {
	want := map[string]stage.Outcome{
		"ack": {}, "term": {Kind: stage.Terminated, Err: flow.ErrDropped}, "nak": {Kind: stage.Failed, GivenBack: true, Err: flow.ErrDropped, Delay: time.Minute},
	}
	settlements := map[string]flow.Settlement{"ack": flow.Ack, "term": flow.Term, "nak": flow.Nak(time.Minute)}
	for name, s := range settlements {
		for _, policy := range []flow.Policy{flow.DropNewest, flow.DropOldest} {
			check := func(t *testing.T, b *broker, p flow.Pipeline) {
				t.Helper()
				r := start(t, p)
				must(t, r.Wait())
				b.once(t)
				dropped := int(r.Report().Dropped)
				if dropped == 0 {
					t.Fatal("nothing was dropped")
				}
				n := 0
				for i := range b.next {
					if o := b.outcome(t, i); o == want[name] && (name != "ack") {
						n++
					}
				}
				if name != "ack" {
					equal(t, "messages that ended as dropped", n, dropped)
				}
				equal(t, "done", len(b.kind(stage.Done)), 50-n)
			}
			slow := func(ctx context.Context, _ int) error { return nap(ctx, time.Second) }
			inBubble(t, name+" at the edge, "+policy.String(), func(t *testing.T) {
				b := newBroker(50)
				check(t, b, flow.FromItems(b).Buffer(3, policy, flow.SettleDropped(s)).ForEach(slow))
			})
			inBubble(t, name+" at the source, "+policy.String(), func(t *testing.T) {
				b := newBroker(50)
				check(t, b, flow.FromItems(b, flow.SettleDropped(s)).Map(twice).Buffer(3, policy).ForEach(slow))
			})
			inBubble(t, name+" in a branch, "+policy.String(), func(t *testing.T) {
				b := newBroker(50)
				bs := flow.FromItems(b).Broadcast(2)
				check(t, b, flow.Join(bs[0].Buffer(3, policy, flow.SettleDropped(s)).ForEach(slow), discard(bs[1])))
			})
		}
	}
	inBubble(t, "not said", func(t *testing.T) {
		for _, e := range []flow.Edge[int]{
			{Capacity: 3, OnFull: flow.DropNewest}, {Capacity: 3, OnFull: flow.DropOldest}, {Capacity: 3, MaxWait: time.Second},
		} {
			if err := discard(flow.FromItems(newBroker(1)).Edge(e)).Check(); err == nil {
				t.Fatalf("an edge %+v that can drop messages was accepted", e)
			}
		}
		must(t, discard(flow.FromItems(newBroker(1)).Buffer(3, flow.Reject)).Check())
		must(t, discard(flow.FromSlice(ints(1)).Buffer(3, flow.DropNewest)).Check())
	})
}

// S21: failed before terminated before done, whichever branch it is that fails.
func TestS21WorstShareDecides(t *testing.T) {
	inBubble(t, "failed and done", func(t *testing.T) {
		b := newBroker(1)
		bs := flow.FromItems(b).Broadcast(2)
		err := flow.Join(discard(bs[0]), bs[1].ForEach(func(context.Context, int) error { return errA })).Run(t.Context())
		wantError(t, err, errA)
		wantError(t, b.outcome(t, 0).Err, errA)
		equal(t, "outcome", b.outcome(t, 0).Kind, stage.Failed)
	})
	inBubble(t, "one of three elements fails", func(t *testing.T) {
		b := newBroker(1)
		err := flow.FromItems(b).FlatMap(func(int) []int { return ints(3) }).TryMap(failAt(1, errA)).To(stage.Discard[int]()).Run(t.Context())
		wantError(t, err, errA)
		equal(t, "outcome", b.outcome(t, 0).Kind, stage.Failed)
	})
	inBubble(t, "a batch fails as a whole", func(t *testing.T) {
		b := newBroker(10)
		err := flow.FromItems(b).Batch(4, 0).ForEach(func(_ context.Context, vs []int) error {
			if vs[0] == 4 {
				return errA
			}
			return nil
		}).Run(t.Context())
		wantError(t, err, errA)
		b.once(t)
		equalSlices(t, "done", b.kind(stage.Done), ints(4))
		for i := 4; i < 8; i++ {
			wantError(t, b.outcome(t, i).Err, errA)
		}
	})
}

// S21: at a stop everything inside is given back at once, wherever it is, and with the cause.
func TestS21StopGivesEverythingBack(t *testing.T) {
	shapes := map[string]func(flow.Flow[int]) flow.Pipeline{
		"edge":     func(f flow.Flow[int]) flow.Pipeline { return f.Buffer(9, flow.Block).ForEach(hang) },
		"parallel": func(f flow.Flow[int]) flow.Pipeline { return f.Parallel(3, same).ForEach(hang) },
		"stuck one": func(f flow.Flow[int]) flow.Pipeline {
			return f.Parallel(3, func(ctx context.Context, i int) (int, error) {
				if i == 4 {
					return i, hang(ctx, i)
				}
				return i, nil
			}).Buffer(2, flow.Block).To(stage.Discard[int]())
		},
		"unordered": func(f flow.Flow[int]) flow.Pipeline { return f.Parallel(3, same, flow.Unordered).ForEach(hang) },
		"batch":     func(f flow.Flow[int]) flow.Pipeline { return f.Batch(1000, 0).To(stage.Discard[[]int]()) },
		"batches": func(f flow.Flow[int]) flow.Pipeline {
			return f.Batch(4, 0).ForEach(func(ctx context.Context, _ []int) error { return hang(ctx, 0) })
		},
		"gather": func(f flow.Flow[int]) flow.Pipeline { return f.To(stage.Discard[int](), flow.Gather(1000, time.Hour)) },
		"flatmap": func(f flow.Flow[int]) flow.Pipeline {
			return f.FlatMap(func(i int) []int { return ints(5) }).Buffer(2, flow.Block).ForEach(hang)
		},
		"broadcast": func(f flow.Flow[int]) flow.Pipeline {
			bs := f.Broadcast(2)
			return flow.Join(bs[0].ForEach(hang), discard(bs[1]))
		},
		"merge": func(f flow.Flow[int]) flow.Pipeline {
			return flow.Merge(f.Broadcast(3)...).Buffer(3, flow.Block).ForEach(hang)
		},
		"sink": func(f flow.Flow[int]) flow.Pipeline {
			return f.To(stage.SinkFunc(func(ctx context.Context, _ []int) error { return hang(ctx, 0) }))
		},
	}
	for name, shape := range shapes {
		inBubble(t, name, func(t *testing.T) {
			b := newBroker(150)
			b.stays = true
			r := start(t, shape(flow.FromItems(b)))
			time.Sleep(time.Minute)
			settled := len(b.kind(stage.Done))
			began := time.Now()
			stopped(t, r)
			equal(t, "time", time.Since(began), 0)
			b.once(t)
			equal(t, "done", len(b.kind(stage.Done)), settled)
			for _, i := range b.kind(stage.Failed) {
				wantError(t, b.outcome(t, i).Err, flow.ErrStopped)
			}
		})
	}
}

// Do waits until its item is settled, and says how.
func TestInletDo(t *testing.T) {
	inBubble(t, "outcomes", func(t *testing.T) {
		in := flow.NewInlet(flow.Edge[int]{Name: "orders", Capacity: 2})
		r := start(t, in.Flow().
			Filter(func(i int) bool { return i != 1 }).
			FlatMap(func(i int) []int { return ints(i % 5) }).
			Parallel(2, func(ctx context.Context, i int) (int, error) { return i, nap(ctx, time.Second) }).
			To(stage.Discard[int]()))
		for _, c := range []struct {
			v    int
			want time.Duration
		}{{0, 0}, {1, 0}, {2, time.Second}, {4, 2 * time.Second}} {
			began := time.Now()
			must(t, in.Do(t.Context(), c.v))
			equal(t, "time", time.Since(began), c.want)
		}
		in.Close()
		must(t, r.Wait())
		wantError(t, in.Do(t.Context(), 1), flow.ErrClosed)
	})
	inBubble(t, "failure", func(t *testing.T) {
		in := flow.NewInlet(flow.Edge[int]{Capacity: 2})
		r := start(t, in.Flow().ForEach(func(context.Context, int) error { return errA }, flow.Name("orders")))
		err := in.Do(t.Context(), 1)
		wantStage(t, err, "orders")
		wantError(t, err, errA)
		wantError(t, r.Wait(), errA)
	})
	inBubble(t, "a panic in a pure step", func(t *testing.T) {
		in := flow.NewInlet(flow.Edge[int]{Capacity: 2})
		r := start(t, discard(in.Flow().Map(func(int) int { panic(errA) }, flow.Name("orders"))))
		err := in.Do(t.Context(), 1)
		wantStage(t, err, "orders")
		wantError(t, err, errA)
		wantError(t, r.Wait(), errA)
	})
	inBubble(t, "stop", func(t *testing.T) {
		in := flow.NewInlet(flow.Edge[int]{Capacity: 2})
		r := start(t, in.Flow().ForEach(hang))
		errs := make(chan error, 4)
		for i := range 4 { // one in hand, two waiting, one waiting for room
			go func() { errs <- in.Do(t.Context(), i) }()
		}
		synctest.Wait()
		stopped(t, r)
		for range 4 {
			if err := <-errs; !errors.Is(err, flow.ErrStopped) {
				t.Fatalf("Do() = %v, want ErrStopped", err)
			}
		}
	})
	inBubble(t, "the caller gives up", func(t *testing.T) {
		in := flow.NewInlet(flow.Edge[int]{Capacity: 1})
		r := start(t, in.Flow().ForEach(func(ctx context.Context, _ int) error { return nap(ctx, time.Hour) }))
		for range 3 { // in hand, waiting, waiting for room
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			wantError(t, in.Do(ctx, 1), context.DeadlineExceeded)
			cancel()
		}
		equal(t, "accepted", edgeStats(t, r, "inlet").In, 2)
		in.Close()
		must(t, r.Wait())
	})
	inBubble(t, "dropped", func(t *testing.T) {
		in := flow.NewInlet(flow.Edge[int]{Capacity: 1, OnFull: flow.DropOldest})
		r := start(t, in.Flow().ForEach(hang))
		go func() { _ = in.Do(t.Context(), 0) }()
		synctest.Wait()
		evicted := make(chan error)
		go func() { evicted <- in.Do(t.Context(), 1) }()
		synctest.Wait()
		_, err := in.Offer(t.Context(), 2)
		must(t, err)
		wantError(t, <-evicted, flow.ErrDropped)
		stopped(t, r)
	})
}

// Collect and Reduce settle messages before anything has been done with their result, so they are refused behind a source with
// claims, unless a Take says that somebody has thought of it.
func TestS24ResultsOfClaims(t *testing.T) {
	sum := func(a, b int) int { return a + b }
	for name, run := range map[string]func(flow.Flow[int]) error{
		"collect": func(f flow.Flow[int]) error { _, err := f.Collect(t.Context(), 100); return err },
		"reduce":  func(f flow.Flow[int]) error { _, err := f.Reduce(t.Context(), 0, sum); return err },
	} {
		for chain, bounded := range map[string]struct {
			flow func(flow.Flow[int]) flow.Flow[int]
			want bool
		}{
			"nothing":    {func(f flow.Flow[int]) flow.Flow[int] { return f }, false},
			"an edge":    {func(f flow.Flow[int]) flow.Flow[int] { return f.Buffer(4, flow.Block) }, false},
			"take":       {func(f flow.Flow[int]) flow.Flow[int] { return f.Take(5) }, true},
			"take, edge": {func(f flow.Flow[int]) flow.Flow[int] { return f.Take(5).Buffer(4, flow.Block) }, true},
			"merged":     {func(f flow.Flow[int]) flow.Flow[int] { return flow.Merge(f.Take(5), flow.FromSlice(ints(3)).Take(1)) }, true},
			"half":       {func(f flow.Flow[int]) flow.Flow[int] { return flow.Merge(flow.FromSlice(ints(3)).Take(1), f) }, false},
		} {
			b := newBroker(10)
			err := run(bounded.flow(flow.FromItems(b)))
			refused := err != nil && strings.Contains(err.Error(), "put a Take in front")
			if refused == bounded.want || err != nil && !refused {
				t.Errorf("%s behind %s: Run() = %v, want it accepted: %v", name, chain, err, bounded.want)
			}
			if refused && b.next != 0 {
				t.Errorf("%s behind %s: %d messages were read by a run that was refused", name, chain, b.next)
			}
		}
	}
}
