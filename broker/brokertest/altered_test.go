package brokertest

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/memory"
	"github.com/weir-go/weir/stage"
)

type change = func(s *memory.Stream, c Config, h *Stream)

// fetcher is a Fetcher of package memory with some methods replaced.
type fetcher struct {
	*memory.Fetcher
	open   func(context.Context) error
	fetch  func(context.Context, []broker.Delivery) (int, error)
	after  func([]broker.Delivery)
	settle func(uint64, stage.Outcome)
	limits func(*broker.Limits)
	close  func() error
}

func (f *fetcher) Open(ctx context.Context) error {
	if f.open != nil {
		return f.open(ctx)
	}
	return f.Fetcher.Open(ctx)
}

func (f *fetcher) Fetch(ctx context.Context, dst []broker.Delivery) (int, error) {
	if f.fetch != nil {
		return f.fetch(ctx, dst)
	}
	n, err := f.Fetcher.Fetch(ctx, dst)
	if f.after != nil {
		f.after(dst[:n])
	}
	return n, err
}

func (f *fetcher) Settle(token uint64, o stage.Outcome) {
	if f.settle != nil {
		f.settle(token, o)
		return
	}
	f.Fetcher.Settle(token, o)
}

func (f *fetcher) Limits() broker.Limits {
	l := f.Fetcher.Limits()
	if f.limits != nil {
		f.limits(&l)
	}
	return l
}

func (f *fetcher) Close() error {
	if f.close != nil {
		return f.close()
	}
	return f.Fetcher.Close()
}

// fetchers alters each Fetcher of a stream.
func fetchers(alter func(*fetcher)) change {
	return func(_ *memory.Stream, _ Config, h *Stream) {
		fresh := h.Fetcher
		h.Fetcher = func() broker.Fetcher {
			f, ok := fresh().(*fetcher)
			if !ok {
				f = &fetcher{Fetcher: fresh().(*memory.Fetcher)}
			}
			alter(f)
			return f
		}
	}
}

// after alters each delivery.
func after(alter func(*broker.Delivery)) change {
	return fetchers(func(f *fetcher) {
		f.after = func(ds []broker.Delivery) {
			for i := range ds {
				alter(&ds[i])
			}
		}
	})
}

// whileDown alters each Fetcher, which knows whether the broker is down.
func whileDown(alter func(f *fetcher, down *atomic.Bool)) change {
	return func(s *memory.Stream, c Config, h *Stream) {
		var down atomic.Bool
		goDown, comeUp := h.Down, h.Up
		h.Down = func() { goDown(); down.Store(true) }
		h.Up = func() { down.Store(false); comeUp() }
		fetchers(func(f *fetcher) { alter(f, &down) })(s, c, h)
	}
}

// limits alters what is asked of the stream.
func limits(alter func(*Config)) change {
	return func(_ *memory.Stream, c Config, h *Stream) {
		alter(&c)
		*h = hooks(newMemory(c), c)
	}
}

// limited makes Fetchers with one limit that name another.
func limited(s *memory.Stream, inFlight, named int) func() broker.Fetcher {
	return func() broker.Fetcher {
		return &fetcher{
			Fetcher: s.Fetcher(memory.FetchConfig{InFlight: inFlight}),
			limits:  func(l *broker.Limits) { l.InFlight = named },
		}
	}
}

var errBrief = errors.New("a moment has passed")

// briefly returns a context that lasts for a moment, also where ctx is done. Virtual time makes that long enough.
func briefly(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	time.AfterFunc(time.Millisecond, func() { cancel(errBrief) })
	return ctx
}

// ahead fetches n at a time and keeps what is not asked for yet.
func ahead(f *fetcher, n int) func(context.Context, []broker.Delivery) (int, error) {
	var kept []broker.Delivery
	return func(ctx context.Context, dst []broker.Delivery) (int, error) {
		if len(kept) == 0 {
			buf := make([]broker.Delivery, n)
			got, err := f.Fetcher.Fetch(ctx, buf)
			if err != nil {
				return 0, err
			}
			kept = buf[:got]
		}
		given := copy(dst, kept)
		kept = kept[given:]
		return given, nil
	}
}

// keepsLate keeps what comes when the context has ended for the next Fetch.
func keepsLate(s *memory.Stream, c Config, h *Stream) {
	fetchers(func(f *fetcher) {
		var kept []broker.Delivery
		f.fetch = func(ctx context.Context, dst []broker.Delivery) (int, error) {
			if n := copy(dst, kept); n > 0 {
				kept = kept[n:]
				return n, nil
			}
			n, err := f.Fetcher.Fetch(ctx, dst)
			if err != nil {
				late := make([]broker.Delivery, 3)
				got, _ := f.Fetcher.Fetch(briefly(ctx), late)
				kept = append(kept, late[:got]...)
			}
			return n, err
		}
	})(s, c, h)
}

func terminatedFails(f *fetcher) {
	f.settle = func(token uint64, o stage.Outcome) {
		if o.Kind == stage.Terminated {
			o.Kind = stage.Failed
		}
		f.Fetcher.Settle(token, o)
	}
}

func acksEarly(f *fetcher) {
	f.after = func(ds []broker.Delivery) {
		for _, d := range ds {
			f.Fetcher.Settle(d.Token, done())
		}
	}
}

// acksAll takes the first acknowledgement for one of all that it has handed out by then.
func acksAll(f *fetcher) {
	var mu sync.Mutex
	var out []uint64
	first := true
	f.after = func(ds []broker.Delivery) {
		mu.Lock()
		defer mu.Unlock()
		for _, d := range ds {
			out = append(out, d.Token)
		}
	}
	f.settle = func(token uint64, o stage.Outcome) {
		mu.Lock()
		defer mu.Unlock()
		f.Fetcher.Settle(token, o)
		if first && o.Kind == stage.Done {
			for _, other := range out {
				f.Fetcher.Settle(other, o)
			}
			first = false
		}
	}
}

// acksLate keeps acknowledgements until Close comes.
func acksLate(f *fetcher) {
	var mu sync.Mutex
	var kept []uint64
	f.settle = func(token uint64, o stage.Outcome) {
		if o.Kind != stage.Done {
			f.Fetcher.Settle(token, o)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		kept = append(kept, token)
	}
	f.close = func() error {
		for _, token := range kept {
			f.Fetcher.Settle(token, done())
		}
		return f.Fetcher.Close()
	}
}

func forgetsWhileDown(f *fetcher, down *atomic.Bool) {
	f.settle = func(token uint64, o stage.Outcome) {
		if !down.Load() {
			f.Fetcher.Settle(token, o)
		}
	}
}

func justGoes(f *fetcher) {
	f.close = func() error {
		f.Kill()
		return nil
	}
}

// instead returns a Fetch that replaces the error of a deletion.
func (f *fetcher) instead(err error) func(context.Context, []broker.Delivery) (int, error) {
	return func(ctx context.Context, dst []broker.Delivery) (int, error) {
		n, was := f.Fetcher.Fetch(ctx, dst)
		if errors.Is(was, broker.ErrDeleted) {
			return n, err
		}
		return n, was
	}
}

func saysOnce(f *fetcher) {
	said := false
	f.fetch = func(ctx context.Context, dst []broker.Delivery) (int, error) {
		n, err := f.Fetcher.Fetch(ctx, dst)
		if said {
			err = broker.ErrClosed
		}
		said = said || err != nil
		return n, err
	}
}

// sender is a Sender of package memory with some methods replaced.
type sender struct {
	*memory.Sender
	open   func(context.Context) error
	send   func(context.Context, []broker.Message) error
	limits func(*broker.Limits)
	close  func() error
}

func (s *sender) Open(ctx context.Context) error {
	if s.open != nil {
		return s.open(ctx)
	}
	return s.Sender.Open(ctx)
}

func (s *sender) Send(ctx context.Context, msgs []broker.Message) error {
	if s.send != nil {
		return s.send(ctx, msgs)
	}
	return s.Sender.Send(ctx, msgs)
}

func (s *sender) Limits() broker.Limits {
	l := s.Sender.Limits()
	if s.limits != nil {
		s.limits(&l)
	}
	return l
}

func (s *sender) Close() error {
	if s.close != nil {
		return s.close()
	}
	return s.Sender.Close()
}

// senders alters each Sender of a stream.
func senders(alter func(*sender)) change {
	return func(_ *memory.Stream, _ Config, h *Stream) {
		fresh := h.Sender
		h.Sender = func() broker.Sender {
			s := &sender{Sender: fresh().(*memory.Sender)}
			alter(s)
			return s
		}
	}
}

// rewriting sends other messages than it was given.
func rewriting(s *sender, alter func(*broker.Message)) func(context.Context, []broker.Message) error {
	return func(ctx context.Context, msgs []broker.Message) error {
		msgs = slices.Clone(msgs)
		for i := range msgs {
			alter(&msgs[i])
		}
		return s.Sender.Send(ctx, msgs)
	}
}

// failsTwice is a Close that works once.
func failsTwice(first func() error) func() error {
	closed := false
	return func() error {
		if closed {
			return errBoom
		}
		closed = true
		return first()
	}
}

// goroutine returns the number of the calling goroutine.
func goroutine() string {
	buf := make([]byte, 64)
	return string(bytes.Fields(buf[:runtime.Stack(buf, false)])[1])
}
