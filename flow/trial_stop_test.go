package flow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// T20: the source is blocked in its Pull, on a broker that is gone, and another goroutine stops the run. Stop must end the wait
// at once, although the source would never return by itself.
func TestT20StopEndsABlockedPull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, flow.From(stage.SourceFunc(blocked)).Buffer(4, flow.Block).Map(twice).To(stage.Discard[int]()))
		time.Sleep(time.Hour)
		began := time.Now()
		go stopped(t, r)
		equal(t, "time until it has stopped", time.Since(began), 0)
	})
}

// T22: a shutdown while handlers run, each of which must still write to a database with the item's context. The intake ends, what
// is in flight finishes with a live context, and sinks are closed last but for the source.
func TestT22DrainLetsHandlersFinishWithALiveContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(1000)
		b.stays, b.most = true, 4
		handled := 0
		r := start(t, flow.FromItems(b).Parallel(4, func(ctx context.Context, i int) (int, error) {
			time.Sleep(5 * time.Second)
			return i, ctx.Err()
		}).ForEach(func(ctx context.Context, _ int) error {
			handled++
			return ctx.Err()
		}))
		time.Sleep(7 * time.Second) // four are done, four are being worked on, the others wait
		began := time.Now()
		must(t, r.Drain(t.Context()))
		b.once(t)
		equal(t, "acknowledged messages", len(b.kind(stage.Done)), b.next)
		equal(t, "handled messages", handled, b.next)
		want := time.Duration((b.next+3)/4)*5*time.Second - 7*time.Second
		equal(t, "time of the drain", time.Since(began), want)
	})
}

// T23: the source is in a long poll when the drain begins. The poll is cancelled, and what it brings all the same is given back:
// never acknowledged, never dropped in silence.
func TestT23LateArrivalsAreGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(10)
		poll := stage.ItemSourceFunc(func(ctx context.Context, dst []stage.Item[int]) (int, error) {
			<-ctx.Done() // the answer comes although nobody waits for it any more
			return b.PullItems(context.WithoutCancel(ctx), dst)
		})
		got := newSeen[int]()
		r := start(t, flow.FromItems(poll).Buffer(16, flow.Block).ForEach(got.each))
		time.Sleep(time.Minute)
		must(t, r.Drain(t.Context()))
		b.once(t)
		equal(t, "messages that arrived", b.next, 1)
		equal(t, "messages given back", len(b.kind(stage.Failed)), 1)
		equal(t, "messages at the sink", len(got.values()), 0)
		equal(t, "given back in the report", r.Report().GivenBack, 1)
	})
}

// T23, with a source that has already learnt that it may ask for many: all ten come late.
func TestT23TenLateArrivalsAreGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(73)
		pulls := 0
		poll := stage.ItemSourceFunc(func(ctx context.Context, dst []stage.Item[int]) (int, error) {
			if pulls++; pulls > 6 { // 1 + 2 + 4 + 8 + 16 + 32 have come
				<-ctx.Done()
				return b.PullItems(context.WithoutCancel(ctx), dst)
			}
			return b.PullItems(ctx, dst)
		})
		got := newSeen[int]()
		r := start(t, flow.FromItems(poll).Buffer(128, flow.Block).ForEach(got.each))
		time.Sleep(time.Minute)
		must(t, r.Drain(t.Context()))
		b.once(t)
		equalSlices(t, "messages given back", b.kind(stage.Failed), []int{63, 64, 65, 66, 67, 68, 69, 70, 71, 72})
		equal(t, "messages at the sink", len(got.values()), 63)
	})
}

// retryForEver is a retry without end.
func retryForEver() flow.ErrOption {
	return flow.OnError(flow.Retry(1<<30, func() backoff.BackOff { return backoff.NewConstantBackOff(time.Second) }))
}

// T24: a sink retries for ever against a dead endpoint. A drain must end at its deadline, tell that it did not finish, and give
// back what was left.
func TestT24RetryObservesTheDrainDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(100)
		b.stays = true
		r := start(t, flow.FromItems(b).Buffer(16, flow.Block).To(stage.SinkFunc(func(context.Context, []int) error {
			return errors.New("dead endpoint")
		}), retryForEver()))
		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		err := r.Drain(ctx)
		wantError(t, err, flow.ErrStopped)
		wantError(t, err, context.DeadlineExceeded)
		equal(t, "time of the drain", time.Since(began), 10*time.Second)
		b.once(t)
		equal(t, "messages given back", len(b.kind(stage.Failed)), b.next)
		rep := r.Report()
		equal(t, "given back in the report", rep.GivenBack, int64(b.next))
		equal(t, "done in the report", rep.Done, 0)
	})
}

// T25: the sink has confirmed 10,000 items and the run is stopped at once. What was confirmed must have been acknowledged
// before the source is closed: nothing that is done comes again.
func TestT25EarnedAcknowledgementsGetOutBeforeClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &closingBroker{broker: newBroker(20_000)}
		var r *flow.Run
		confirmed := 0
		reached := make(chan struct{})
		r = start(t, flow.FromItems(b).Buffer(64, flow.Block).To(stage.SinkFunc(func(ctx context.Context, items []int) error {
			if confirmed += len(items); confirmed >= 10_000 {
				close(reached)
				<-ctx.Done() // these have not been confirmed
				confirmed -= len(items)
				return context.Cause(ctx)
			}
			return nil
		})))
		<-reached
		stopped(t, r)
		b.once(t)
		equal(t, "acknowledged messages", len(b.kind(stage.Done)), confirmed)
		equal(t, "acknowledgements before Close", b.atClose, b.next)
	})
}

// closingBroker remembers how many messages were settled when it was closed.
type closingBroker struct {
	*broker
	atClose int
}

func (b *closingBroker) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.atClose = len(b.settled)
	return nil
}

// together runs both functions at the same time and waits for them.
func together(a, b func()) {
	var wg sync.WaitGroup
	wg.Go(a)
	wg.Go(b)
	wg.Wait()
}

// T27: a thousand races of Close with Close, Close with Offer, Stop with Stop and Drain with Stop: no panic, no double settling,
// nothing left over.
func TestT27RacesOfTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 1000 {
			in := flow.NewInlet(flow.Edge[int]{Capacity: 2})
			r := start(t, in.Flow().Map(twice).To(stage.Discard[int]()))
			together(in.Close, in.Close)
			must(t, r.Wait())
		}
		for range 1000 {
			in := flow.NewInlet(flow.Edge[int]{Capacity: 2})
			got := newSeen[int]()
			r := start(t, in.Flow().ForEach(got.each))
			var err error
			together(in.Close, func() { _, err = in.Offer(t.Context(), 1) })
			must(t, r.Wait())
			equal(t, "accepted and arrived", len(got.values()) == 1, err == nil)
			if err != nil {
				wantError(t, err, flow.ErrClosed)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		for range 1000 {
			b := newBroker(50)
			r := start(t, flow.FromItems(b).Buffer(4, flow.Block).To(stage.Discard[int]()))
			together(r.Stop, r.Stop)
			if err := r.Wait(); err != nil {
				wantError(t, err, flow.ErrStopped)
			}
			b.once(t)
		}
		for range 1000 {
			b := newBroker(50)
			b.stays = true
			r := start(t, flow.FromItems(b).Parallel(2, same).To(stage.Discard[int]()))
			var drained error
			together(r.Stop, func() { drained = r.Drain(t.Context()) })
			if err := r.Wait(); err != nil {
				wantError(t, err, flow.ErrStopped)
			}
			equal(t, "what Drain and Wait say", fmt.Sprint(drained), fmt.Sprint(r.Wait()))
			b.once(t)
		}
	})
}

// T28: after Close every further call says so, twice, and returns: no lock is held on the way out.
func TestT28AfterCloseEveryCallReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, policy := range []flow.Policy{flow.Block, flow.DropNewest, flow.DropOldest, flow.Reject} {
			in := flow.NewInlet(flow.Edge[int]{Capacity: 1, OnFull: policy})
			r := start(t, in.Flow().To(stage.Discard[int]()))
			in.Close()
			in.Close()
			must(t, r.Wait())
			for range 2 {
				_, offered := in.Offer(t.Context(), 1)
				_, put := in.Put(t.Context(), 1)
				for i, err := range []error{offered, put, in.Do(t.Context(), 1)} {
					if !errors.Is(err, flow.ErrClosed) {
						t.Fatalf("%v: call %d after Close = %v, want ErrClosed", policy, i, err)
					}
				}
			}
			r.Stop()
			must(t, r.Drain(t.Context()))
			if _, err := in.Flow().To(stage.Discard[int]()).Start(t.Context()); err == nil {
				t.Fatal("a second run of an inlet was started")
			}
		}
	})
}

// T30: every offer resolves once, whatever happens meanwhile, and after Close none is accepted, so that a constant stream
// of offers can't keep the pipeline from ending.
func TestT30EveryOfferResolvesOnce(t *testing.T) {
	policies := map[string]flow.Policy{
		"block": flow.Block, "drop newest": flow.DropNewest, "drop oldest": flow.DropOldest, "reject": flow.Reject,
	}
	for name, policy := range policies {
		inBubble(t, name, func(t *testing.T) { offersResolve(t, policy) })
	}
}

func offersResolve(t *testing.T, policy flow.Policy) {
	var mu sync.Mutex
	var closed atomic.Bool
	dropped, accepted := 0, 0
	in := flow.NewInlet(flow.Edge[int]{Capacity: 3, OnFull: policy, Dropped: func(int, flow.DropReason) {
		mu.Lock()
		defer mu.Unlock()
		dropped++
	}})
	got := newSeen[int]()
	r := start(t, in.Flow().ForEach(func(ctx context.Context, v int) error {
		time.Sleep(time.Millisecond)
		return got.each(ctx, v)
	}))
	var wg sync.WaitGroup
	refused := 0
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				after := closed.Load()
				_, err := in.Offer(t.Context(), 1000*g+i)
				mu.Lock()
				if after && !errors.Is(err, flow.ErrClosed) {
					t.Errorf("Offer() after Close = %v, want ErrClosed", err)
				}
				_, full := errors.AsType[*flow.FullError](err)
				switch {
				case err == nil:
					accepted++
				case errors.Is(err, flow.ErrDropped), full, errors.Is(err, flow.ErrClosed):
					refused++
				default:
					t.Errorf("Offer() = %v, want no error, ErrDropped, *FullError or ErrClosed", err)
				}
				mu.Unlock()
				time.Sleep(time.Duration(g+1) * 100 * time.Microsecond)
			}
		})
	}
	time.Sleep(20 * time.Millisecond)
	in.Close()
	closed.Store(true)
	must(t, r.Wait()) // although offers go on
	wg.Wait()
	equal(t, "offers that resolved", accepted+refused, 1600)
	arrived := got.values()
	slices.Sort(arrived)
	equal(t, "items that arrived twice", len(slices.Compact(arrived)), len(got.values()))
	evicted := 0
	if policy == flow.DropOldest {
		evicted = dropped
	}
	equal(t, "accepted = arrived + evicted", accepted, len(got.values())+evicted)
}
