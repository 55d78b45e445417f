package flow_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// G13: a job that submits others to its own pool, which is full.
func TestG13PutOfAStageIntoItsOwnPool(t *testing.T) {
	tests := map[string]func(ctx context.Context, in *flow.Inlet[int], i int) error{
		"Put": func(ctx context.Context, in *flow.Inlet[int], i int) error {
			for range 3 {
				if _, err := in.Put(ctx, i+1); err != nil {
					return err
				}
			}
			return nil
		},
		"Put with a context of its own": func(ctx context.Context, in *flow.Inlet[int], i int) error {
			ctx, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			_, err := in.Put(ctx, i)
			_, err2 := in.Put(ctx, i)
			_, err3 := in.Put(ctx, i)
			return firstError(err, err2, err3)
		},
		"Do": func(ctx context.Context, in *flow.Inlet[int], i int) error { return in.Do(ctx, i) },
	}
	for name, submit := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := flow.NewInlet(flow.Edge[int]{Name: "jobs", Capacity: 1})
				p := in.Flow().Parallel(2, func(ctx context.Context, i int) (int, error) { return i, submit(ctx, in, i) }, flow.Name("pool"))
				r := start(t, discard(p))
				began := time.Now()
				_, err := in.Put(t.Context(), 1)
				must(t, err)
				err = r.Wait()
				wantError(t, err, flow.ErrWouldDeadlock)
				wantStage(t, err, "pool")
				equal(t, "time", time.Since(began), 0)
			})
		})
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// A stage may wait for room in an inlet whose items it never gets: that is backpressure.
func TestPutOfAStageIntoAnotherPartOfItsRunWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		side := flow.NewInlet(flow.Edge[int]{Capacity: 1})
		got := newSeen[int]()
		feeding := flow.FromSlice(ints(20)).ForEach(func(ctx context.Context, i int) error {
			if i == 19 {
				defer side.Close()
			}
			_, err := side.Put(ctx, i)
			return err
		})
		fed := side.Flow().Tap(func(int) { time.Sleep(time.Minute) }).ForEach(got.each)
		must(t, flow.Join(feeding, fed).Run(t.Context()))
		equalSlices(t, "items", got.values(), ints(20))
	})
}

// The pool of another run is none of its own.
func TestPutOfAStageIntoAnotherRunWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := flow.NewInlet(flow.Edge[int]{Capacity: 1})
		other := start(t, discard(in.Flow().Tap(func(int) { time.Sleep(time.Minute) })))
		must(t, flow.FromSlice(ints(10)).ForEach(func(ctx context.Context, i int) error {
			_, err := in.Put(ctx, i)
			return err
		}).Run(t.Context()))
		in.Close()
		must(t, other.Wait())
	})
}

// A group of a GroupBy, and a producer of a MergeHub, put into their own run as well.
func TestPutOfAGroupIntoItsOwnHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := flow.NewMergeHub[int](2, flow.Edge[int]{Capacity: 1})
		in, err := hub.Attach()
		must(t, err)
		greedy := viaFunc(func(ctx context.Context, items *stage.In[int], _ *stage.Out[int]) error {
			for it, err := range items.All(ctx) {
				if err != nil {
					return err
				}
				for range 300 {
					if _, err := in.Put(ctx, it.Value); err != nil {
						return err
					}
				}
			}
			return nil
		})
		r := start(t, discard(hub.Flow().GroupBy(flow.Groups[int]{Max: 2}, func(i int) int { return i }, func(int) stage.Stage[int, int] { return greedy })))
		_, err = in.Put(t.Context(), 1)
		must(t, err)
		wantError(t, r.Wait(), flow.ErrWouldDeadlock)
	})
}

// A wait inside user code is nothing that a run can see through, but it can say whose code it is: once, and again when something has
// moved in between.
func TestStallIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []flow.Stall
		var at []time.Duration
		began := time.Now()
		p := flow.FromSlice(ints(3)).Buffer(1, flow.Block).Map(twice, flow.Name("innocent")).Buffer(1, flow.Block).
			ForEach(func(context.Context, int) error {
				time.Sleep(10 * time.Minute)
				return nil
			}, flow.Name("waits"))
		must(t, p.OnDeadlock(flow.DeadlockConfig{Stalled: func(s flow.Stall) {
			told, at = append(told, s), append(at, time.Since(began))
		}}).Run(t.Context()))
		equal(t, "stalls", len(told), 3)
		for i, s := range told {
			equalSlices(t, "stages", s.Stages, []string{"waits"})
			equal(t, "time without a move", s.For, time.Minute)
			if late := at[i] - time.Duration(i)*10*time.Minute; late < time.Minute || late > 75*time.Second {
				t.Errorf("told %v after the last move, want a minute, or up to a quarter more", late)
			}
		}
	})
}

// A quiet source is no stall.
func TestAQuietSourceIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan int)
		time.AfterFunc(time.Hour, func() { close(gate) })
		p := discard(flow.FromChan(gate).Map(twice).Buffer(1, flow.Block))
		must(t, p.OnDeadlock(flow.DeadlockConfig{Stalled: func(s flow.Stall) { t.Errorf("told of %+v", s) }}).Run(t.Context()))
	})
}

// T17: a source whose partition is taken away, and whose callback has what is under way finished, while the goroutine that pulls from it waits
// for room in a full edge. The callback never waits for that goroutine: a drain is bounded by its context, and a stop does not wait.
func TestT17CallbackOfASourceWhoseReaderWaitsForRoom(t *testing.T) {
	for name, revoke := range map[string]func(ctx context.Context, r *flow.Run){
		"drain": func(ctx context.Context, r *flow.Run) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_ = r.Drain(ctx)
		},
		"stop": func(_ context.Context, r *flow.Run) { r.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker(1000)
				r := start(t, watched(flow.FromItems(b).Buffer(2, flow.Block).ForEach(func(ctx context.Context, _ int) error {
					return nap(ctx, time.Hour)
				})))
				time.Sleep(time.Minute) // the edge is full, and the reader waits
				began := time.Now()
				revoke(t.Context(), r)
				if d := time.Since(began); d > time.Second {
					t.Errorf("the callback took %v, want a second at most", d)
				}
				wantError(t, r.Wait(), flow.ErrStopped)
				equal(t, "time until all was given back", time.Since(began) <= time.Second, true)
				b.once(t)
			})
		})
	}
}
