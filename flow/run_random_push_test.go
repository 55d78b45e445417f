package flow_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// pushed is a source that pushes what it is asked for.
func (w *world) pushed(src *source) flow.Flow[int] {
	p := &publisher{w: w, src: src, window: w.s.most + 1, news: make(chan struct{}, 1)}
	src.push = p
	return flow.FromPush(stage.PublisherFunc(p.subscribe), p.window, w.called(src)...)
}

// publisher delivers numbers, and keeps the account of what was requested.
type publisher struct {
	w      *world
	src    *source
	to     stage.Subscriber[int]
	window int
	news   chan struct{}

	mu        sync.Mutex
	requested int
	delivered int
	over      bool // cancelled
}

func (p *publisher) subscribe(_ context.Context, to stage.Subscriber[int]) (stage.Subscription, error) {
	if err := p.w.hit(); err != nil {
		return nil, err
	}
	p.to = to
	p.w.helpers.Go(p.run)
	return p, nil
}

// Request implements stage.Subscription. What may come and what is waiting are never more than the window.
func (p *publisher) Request(n int64) {
	p.w.must()
	p.mu.Lock()
	defer p.mu.Unlock()
	if open := p.requested - p.delivered; n < 1 || open+int(n) > p.window {
		p.w.wrong(fmt.Errorf("L3: %s: %d are requested, and %d more, with a window of %d", p.src.point.name, open, n, p.window))
	}
	p.requested += int(n)
	p.ring()
}

// Cancel implements stage.Subscription.
func (p *publisher) Cancel() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.ring()
}

func (p *publisher) ring() {
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// run delivers until there is no more. In a drain it waits to be cancelled.
func (p *publisher) run() {
	for sent := 0; sent < p.w.s.items || p.w.s.fault == "drain"; {
		vs, over := p.next()
		switch {
		case over:
			return
		case len(vs) == 0:
			<-p.news
			continue
		}
		time.Sleep(p.w.s.pause)
		if p.to.Deliver(vs...) < len(vs) {
			return
		}
		sent += len(vs)
	}
	p.to.Complete()
}

// next takes what was requested and is there.
func (p *publisher) next() (vs []int, over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.delivered < min(p.requested, p.w.s.items) && len(vs) < p.w.s.sinkN {
		vs = append(vs, p.delivered)
		p.delivered++
	}
	return vs, p.over
}

// balance is L3 for a source that pushes, when everything waits: what was requested is what has passed, what waits in front of
// the pipeline, and what may still come, and the latter two are never more than the window.
func (p *publisher) balance() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if passed := len(p.src.point.got.values()); p.requested-passed > p.window || p.delivered > p.requested {
		return fmt.Errorf("L3: %s: %d were requested, %d delivered and %d have passed, with a window of %d",
			p.src.point.name, p.requested, p.delivered, passed, p.window)
	}
	return nil
}

// subscriber is a sink that says how much it wants.
type subscriber struct {
	w     *world
	e     *end
	sub   stage.Subscription
	again bool // it requests as many as it got
	leave int  // values behind which it takes no more; 0: never

	mu    sync.Mutex
	asked int64
	got   int64
	told  []string // how the stream ended
}

// toSubscriber ends f in a subscriber, which requests in one of three ways: as much as it got, a few
// now and then, or all at once.
func (w *world) toSubscriber(f stream, e *end, n int) flow.Pipeline {
	s := &subscriber{w: w, e: e}
	if w.s.leavers && n > 1 {
		s.leave, w.leavers = (w.s.leave+3)/4, true
	}
	p, sub := f.ToSubscriber(s)
	s.sub = sub
	switch {
	case n == 2:
		s.request(math.MaxInt64)
	case n%3 == 1:
		w.beside(func() {
			for !w.isOver() {
				s.request(int64(n))
				time.Sleep(w.s.slow + time.Millisecond)
			}
		})
	default:
		s.again = true
		s.request(int64(n))
	}
	w.tidies = append(w.tidies, s.check)
	return p
}

func (s *subscriber) request(n int64) {
	s.mu.Lock()
	s.asked += n
	s.mu.Unlock()
	s.sub.Request(n)
}

// Deliver implements stage.Subscriber.
func (s *subscriber) Deliver(ds ...datum) int {
	s.w.must()
	s.mu.Lock()
	s.got += int64(len(ds))
	got, asked := s.got, s.asked
	s.mu.Unlock()
	if got > asked {
		s.w.wrong(fmt.Errorf("L3: a subscriber got %d values and has asked for %d", got, asked))
	}
	for i, d := range ds {
		if s.leave > 0 && int(got)-len(ds)+i >= s.leave {
			return i
		}
		_ = s.e.got.each(context.Background(), d)
	}
	if s.again {
		s.request(int64(len(ds)))
	}
	return len(ds)
}

// Complete implements stage.Subscriber.
func (s *subscriber) Complete() { s.end("complete") }

// Fail implements stage.Subscriber.
func (s *subscriber) Fail(error) { s.end("fail") }

func (s *subscriber) end(how string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, how)
}

// check checks that the subscriber was told once how the stream ended, unless it has left.
func (s *subscriber) check(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.leave > 0 && s.got > int64(s.leave)
	switch {
	case left && len(s.told) == 0:
		s.w.s.seen.note("left subscriber")
	case len(s.told) != 1, left, err == nil && s.told[0] != "complete" && s.w.s.fault != "leave": // a loop left early does not hear of an error
		s.w.wrong(fmt.Errorf("a subscriber heard %q of a run that ended with %w", s.told, err))
	}
}
