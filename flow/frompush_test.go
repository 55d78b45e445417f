package flow_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// feed is a publisher of 0, 1, ..., one each second, as far as it was asked.
type feed struct {
	mu        sync.Mutex
	asked     int64
	delivered int64
	cancels   int
	to        stage.Subscriber[int]
	onCancel  func()
}

func (p *feed) Subscribe(_ context.Context, to stage.Subscriber[int]) (stage.Subscription, error) {
	p.to = to
	p.tick()
	return p, nil
}

func (p *feed) tick() {
	time.AfterFunc(time.Second, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.to == nil {
			return
		}
		if p.asked > p.delivered {
			p.delivered += int64(p.to.Deliver(int(p.delivered)))
		}
		p.tick()
	})
}

func (p *feed) Request(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked += n
}

func (p *feed) Cancel() {
	p.mu.Lock()
	p.to = nil
	p.cancels++
	p.mu.Unlock()
	if p.onCancel != nil {
		p.onCancel()
	}
}

func (p *feed) counts() (asked, delivered int64, cancels int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked, p.delivered, p.cancels
}

// What the pipeline can't take is not asked for, and so is not sent.
func TestFromPushRequestsWhatThereIsRoomFor(t *testing.T) {
	inBubble(t, "a sink that hangs", func(t *testing.T) {
		p := &feed{}
		r := start(t, flow.FromPush(p, 8).Buffer(4, flow.Block).ForEach(hang))
		time.Sleep(time.Hour)
		asked, delivered, _ := p.counts()
		if delivered != asked || asked > 4+1+8 {
			t.Fatalf("asked for %d, delivered %d, want both the same and at most 13", asked, delivered)
		}
		stopped(t, r)
		_, after, cancels := p.counts()
		equal(t, "cancels", cancels, 1)
		equal(t, "delivered", after, delivered)
	})
}

func TestFromPushIsCancelledAtOnce(t *testing.T) {
	inBubble(t, "by a Take, while another branch goes on", func(t *testing.T) {
		p := &feed{}
		taken := newSeen[int]()
		r := start(t, flow.Join(flow.FromPush(p, 8).Take(3).ForEach(taken.each), flow.From(then(1)).ForEach(func(context.Context, int) error { return nil })))
		time.Sleep(time.Minute)
		_, _, cancels := p.counts()
		equal(t, "cancels", cancels, 1)
		equalSlices(t, "values", taken.values(), ints(3))
		stopped(t, r)
	})
	inBubble(t, "in each of two runs", func(t *testing.T) {
		p := &feed{}
		f := flow.FromPush(p, 8).Take(3)
		for i := range 2 {
			p.asked, p.delivered = 0, 0
			got, err := f.Collect(t.Context(), 10)
			must(t, err)
			equalSlices(t, "values", got, ints(3))
			equal(t, "cancels", p.cancels, i+1)
		}
	})
}

// A drain is the end of the subscription, not of what has been delivered.
func TestFromPushDrain(t *testing.T) {
	inBubble(t, "values in the window", func(t *testing.T) {
		p := &feed{}
		got := newSeen[int]()
		r := start(t, flow.FromPush(p, 8).ForEach(func(ctx context.Context, v int) error {
			if err := nap(ctx, time.Minute); err != nil {
				return err
			}
			return got.each(ctx, v)
		}))
		time.Sleep(30 * time.Second)
		_, delivered, _ := p.counts()
		must(t, r.Drain(t.Context()))
		equalSlices(t, "values", got.values(), ints(int(delivered)))
		equal(t, "cancels", p.cancels, 1)
	})
	inBubble(t, "with nothing to wait for", func(t *testing.T) {
		p := &feed{}
		r := start(t, flow.FromPush(p, 8).ForEach(func(context.Context, int) error { return nil }))
		synctest.Wait()
		began := time.Now()
		must(t, r.Drain(t.Context()))
		equal(t, "time", time.Since(began), 0)
	})
}

func TestFromPushFailures(t *testing.T) {
	broken := func(fn func(to stage.Subscriber[int]) error) stage.Publisher[int] {
		return stage.PublisherFunc(func(_ context.Context, to stage.Subscriber[int]) (stage.Subscription, error) {
			return &feed{}, fn(to)
		})
	}
	tests := []struct {
		name string
		p    stage.Publisher[int]
		want error
	}{
		{"Subscribe fails", broken(func(stage.Subscriber[int]) error { return errA }), errA},
		{"Subscribe panics", broken(func(stage.Subscriber[int]) error { panic(errA) }), errA},
		{"Fail", broken(func(to stage.Subscriber[int]) error {
			to.Fail(errA)
			return nil
		}), errA},
		{"Cancel panics", stage.PublisherFunc(func(_ context.Context, to stage.Subscriber[int]) (stage.Subscription, error) {
			to.Fail(errB)
			return &feed{onCancel: func() { panic(errA) }}, nil
		}), errA},
	}
	for _, tt := range tests {
		inBubble(t, tt.name, func(t *testing.T) {
			err := flow.FromPush(tt.p, 0, flow.Name("in")).ForEach(func(context.Context, int) error { return nil }).Run(t.Context())
			wantStage(t, err, "in")
			wantError(t, err, tt.want)
		})
	}
	inBubble(t, "more than was asked for", func(t *testing.T) {
		var got []int
		err := flow.FromPush(broken(func(to stage.Subscriber[int]) error {
			to.Deliver(1)
			return nil
		}), 0, flow.Name("in")).ForEach(func(_ context.Context, v int) error {
			got = append(got, v)
			return nil
		}).Run(t.Context())
		wantStage(t, err, "in")
		equal(t, "values", len(got), 0)
	})
	inBubble(t, "Cancel panics in a drain", func(t *testing.T) {
		r := start(t, flow.FromPush(&feed{onCancel: func() { panic(errA) }}, 8, flow.Name("in")).ForEach(hang))
		synctest.Wait()
		err := r.Drain(t.Context())
		wantStage(t, err, "in")
		wantError(t, err, errA)
	})
}

func TestFromPushBuildErrors(t *testing.T) {
	err := flow.Join(
		flow.FromPush[int](nil, 0).ForEach(hang),
		flow.FromPush[int](&feed{}, -1).ForEach(hang),
	).Check()
	for _, want := range []string{"publisher must not be nil", "window must be 0 to 2147483647, got -1"} {
		wantText(t, err, want)
	}
}

// A flow is a publisher for another: what one side asks for is what the other delivers.
func TestFromPushOfToSubscriber(t *testing.T) {
	inBubble(t, "two pipelines", func(t *testing.T) {
		src := &endless{}
		var up *flow.Run
		p := stage.PublisherFunc(func(ctx context.Context, to stage.Subscriber[int]) (stage.Subscription, error) {
			p, sub := flow.From(src).ToSubscriber(to)
			var err error
			up, err = p.Start(context.WithoutCancel(ctx))
			return sub, err
		})
		got, err := flow.FromPush(p, 16).Take(1000).Collect(t.Context(), 1000)
		must(t, err)
		equalSlices(t, "values", got, ints(1000))
		must(t, up.Wait())
		if most := 1000 + 16 + 1; src.next > most {
			t.Fatalf("the source was asked for %d values, want at most %d", src.next, most)
		}
	})
}
