package flow_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
	"pgregory.net/rapid"
)

// received returns everything that comes from ch until it is closed.
func received(ch <-chan int) (vs []int) {
	for v := range ch {
		vs = append(vs, v)
	}
	return vs
}

// isClosed reports whether ch is closed, and empty.
func isClosed(ch <-chan int) bool {
	select {
	case _, open := <-ch:
		return !open
	default:
		return false
	}
}

func TestToChanSendsAllAndCloses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vs, f := drawFlow(t)
		ch := make(chan int, rapid.IntRange(0, 20).Draw(t, "room"))
		r, err := f.ToChan(ch).Start(context.Background())
		if err != nil {
			t.Fatalf("Start() = %v", err)
		}
		got := received(ch)
		if err := r.Wait(); err != nil || !slices.Equal(got, vs) {
			t.Fatalf("received %v, %v, want %v", got, err, vs)
		}
	})
}

func TestToChanReadsTheNextValueWhenTheLastOneIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(100)
		ch := make(chan int)
		r := start(t, flow.FromItems(b).Map(twice).ToChan(ch))
		for i := range 10 {
			synctest.Wait()
			equal(t, "read", b.next, i+1)
			equal(t, "acknowledged", len(b.kind(stage.Done)), i)
			equal(t, "value", <-ch, 2*i)
		}
		synctest.Wait()
		stopped(t, r)
		equal(t, "closed", isClosed(ch), true)
		b.once(t)
		equalSlices(t, "acknowledged", b.kind(stage.Done), ints(10))
		equalSlices(t, "given back", b.kind(stage.Failed), []int{10})
	})
}

func TestToChanClosesHoweverTheRunEnds(t *testing.T) {
	for name, c := range map[string]struct {
		step func(flow.Flow[int]) flow.Flow[int]
		end  func(*flow.Run, context.CancelFunc)
	}{
		"stopped":   {nil, func(r *flow.Run, _ context.CancelFunc) { r.Stop() }},
		"cancelled": {nil, func(_ *flow.Run, cancel context.CancelFunc) { cancel() }},
		"failed":    {func(f flow.Flow[int]) flow.Flow[int] { return f.TryMap(failAt(2, errA)) }, nil},
		"failed behind an edge": {func(f flow.Flow[int]) flow.Flow[int] {
			return f.TryMap(failAt(2, errA)).Buffer(1, flow.Block)
		}, nil},
		"panic": {func(f flow.Flow[int]) flow.Flow[int] { return f.Map(func(int) int { panic("boom") }) }, nil},
	} {
		inBubble(t, name, func(t *testing.T) {
			b := newBroker(5)
			b.stays = true
			f := flow.FromItems(b)
			if c.step != nil {
				f = c.step(f)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ch := make(chan int)
			r, err := f.ToChan(ch).Start(ctx)
			must(t, err)
			go func() {
				synctest.Wait()
				if c.end != nil {
					c.end(r, cancel)
				}
			}()
			if c.end == nil {
				received(ch)
			}
			if r.Wait() == nil {
				t.Fatal("Wait() = nil, want an error")
			}
			equal(t, "closed", isClosed(ch), true)
			b.once(t)
		})
	}
}

// A graph may go through a channel: the channel is closed when its sender has ended, and not when all have.
func TestToChanClosesBeforeTheRunHasEnded(t *testing.T) {
	ch := make(chan int, 3)
	got := newSeen[int]()
	must(t, flow.Join(flow.FromSlice(ints(100)).ToChan(ch), flow.FromChan(ch).ForEach(got.each)).Run(t.Context()))
	equalSlices(t, "values", got.values(), ints(100))
}

func TestToChanInADrainSendsWhatIsInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(30)
		b.stays = true
		ch := make(chan int)
		r := start(t, flow.FromItems(b).Buffer(9, flow.Block).ToChan(ch))
		synctest.Wait()
		go func() { _ = r.Drain(context.Background()) }()
		synctest.Wait()
		equalSlices(t, "values", received(ch), ints(10))
		must(t, r.Wait())
		b.once(t)
	})
}

func TestToChanWithATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(6)
		ch := make(chan int)
		r := start(t, flow.FromItems(b).ToChan(ch, flow.Timeout(time.Second), flow.OnError(flow.Skip)))
		time.Sleep(3500 * time.Millisecond) // nobody takes 0, 1 and 2
		equalSlices(t, "values", received(ch), []int{3, 4, 5})
		must(t, r.Wait())
		equal(t, "skipped", r.Report().Skipped, 3)
		b.once(t)

		err := flow.FromSlice(ints(3)).ToChan(make(chan int), flow.Timeout(time.Second), flow.Name("full")).Run(t.Context())
		wantStage(t, err, "full")
		wantError(t, err, context.DeadlineExceeded)
	})
}

func TestToChanOfAChannelThatSomebodyElseCloses(t *testing.T) {
	for name, vs := range map[string][]int{"before a value": ints(3), "before the end": nil} {
		t.Run(name, func(t *testing.T) {
			ch := make(chan int, 5)
			close(ch)
			err := flow.FromSlice(vs).ToChan(ch, flow.Name("bad")).Run(t.Context())
			wantStage(t, err, "bad")
			if _, ok := errors.AsType[*stage.PanicError](err); !ok {
				t.Fatalf("got %v, want a panic", err)
			}
		})
	}
}

func TestToChanServesOneRun(t *testing.T) {
	ch := make(chan int, 10)
	p := flow.FromSlice(ints(3)).ToChan(ch, flow.Name("out"))
	must(t, p.Check())
	must(t, p.Run(t.Context()))
	equalSlices(t, "values", received(ch), ints(3))
	if err := p.Run(t.Context()); err == nil {
		t.Fatal("the second run had no error")
	}
}

func TestToChanRefusesArguments(t *testing.T) {
	f := flow.FromSlice(ints(1))
	ch := make(chan int)
	refused(t, f.ToChan(nil), "tochan#2", "channel must not be nil")
	refused(t, f.ToChan(ch, flow.Workers(1)), "Workers needs To or ForEach")
	refused(t, f.ToChan(ch, flow.Gather(3, 0)), "Gather needs To")
	equal(t, "closed", isClosed(ch), false)
}

func TestToChanAllocatesNothing(t *testing.T) {
	allocatesNothing(t, func(n int) error {
		ch := make(chan int, 100)
		r, err := flow.From(counting(n)).ToChan(ch).Start(context.Background())
		if err != nil {
			return err
		}
		var got tally
		for range ch {
			got.n++
		}
		return errors.Join(r.Wait(), got.want(n))
	})
}
