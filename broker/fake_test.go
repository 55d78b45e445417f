package broker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/stage"
)

// desk is a Fetcher of given payloads, which writes down how each delivery ends. What fails is delivered again when its delay is
// over.
type desk struct {
	mu       sync.Mutex
	cond     chan struct{} // closed and made anew when something has changed
	waiting  []broker.Delivery
	inFlight map[uint64]broker.Delivery
	ends     []string // "token kind delay", in the order they came
	left     int      // messages that are not ended
	limits   broker.Limits
	openErr  error
	opened   int
	closed   int
}

// newDesk returns a desk with these payloads; their tokens, and sequences, are 1, 2, 3.
func newDesk(payloads ...string) *desk {
	d := &desk{cond: make(chan struct{}), inFlight: map[uint64]broker.Delivery{}, limits: broker.Limits{InFlight: 100, Message: 1000}}
	for i, p := range payloads {
		d.waiting = append(d.waiting, broker.Delivery{
			Token: uint64(i + 1), Sequence: uint64(i + 1), ID: "m" + strconv.Itoa(i+1), Subject: "in", Data: []byte(p), Attempt: 1,
		})
	}
	d.left = len(payloads)
	return d
}

func (d *desk) Open(context.Context) error { d.opened++; return d.openErr }

func (d *desk) Limits() broker.Limits { return d.limits }

func (d *desk) Close() error { d.closed++; return nil }

func (d *desk) Fetch(ctx context.Context, dst []broker.Delivery) (int, error) {
	for {
		d.mu.Lock()
		n := copy(dst, d.waiting)
		d.waiting = d.waiting[n:]
		for _, got := range dst[:n] {
			d.inFlight[got.Token] = got
		}
		left, changed := d.left, d.cond
		d.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		if left == 0 {
			return 0, stage.ErrEnd
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

func (d *desk) Settle(token uint64, o stage.Outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	got, ok := d.inFlight[token]
	if !ok {
		panic(fmt.Sprintf("token %d settled twice", token))
	}
	delete(d.inFlight, token)
	kind := [...]string{"done", "terminated", "failed"}[o.Kind]
	if o.GivenBack {
		kind = "given back"
	}
	d.ends = append(d.ends, fmt.Sprintf("%d %s", token, kind))
	if o.Kind != stage.Failed {
		d.left--
		d.changed()
		return
	}
	time.AfterFunc(o.Delay, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		got.Attempt++
		d.waiting = append(d.waiting, got)
		d.changed()
	})
}

func (d *desk) changed() {
	close(d.cond)
	d.cond = make(chan struct{})
}

// endings returns how the deliveries ended, in order of their tokens.
func (d *desk) endings() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(slices.Values(d.ends))
}

// shelf is a Sender with room for so many messages, that can be told to fail.
type shelf struct {
	mu     sync.Mutex
	room   int
	stored []broker.Message
	sends  []int // how many messages each Send had
	times  []time.Time
	fail   func(m broker.Message) error // nil: none fails
	err    error                        // of a whole Send
	limits broker.Limits
	closed int
}

func (s *shelf) Open(context.Context) error { return nil }

func (s *shelf) Limits() broker.Limits { return s.limits }

func (s *shelf) Close() error { s.closed++; return nil }

func (s *shelf) Send(ctx context.Context, msgs []broker.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sends, s.times = append(s.sends, len(msgs)), append(s.times, time.Now())
	if s.err != nil {
		return s.err
	}
	var bad stage.BatchError
	for i, m := range msgs {
		if s.fail != nil {
			if err := s.fail(m); err != nil {
				bad.Add(i, err)
				continue
			}
		}
		if len(s.stored) >= s.room {
			bad.Add(i, fmt.Errorf("shelf: %w", broker.ErrFull))
			continue
		}
		m.Data = slices.Clone(m.Data)
		s.stored = append(s.stored, m)
	}
	return bad.OrNil()
}

// free makes room.
func (s *shelf) free(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room += n
}

// payloads returns what is stored.
func (s *shelf) payloads() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, m := range s.stored {
		all = append(all, string(m.Data))
	}
	return all
}

var errBoom = errors.New("boom")

// text is the codec of strings; "bad" can't be decoded, "panic" makes it panic, and "secret" can't be encoded.
var text = broker.CodecFunc(
	func(dst []byte, v string) ([]byte, error) {
		if v == "secret" {
			return nil, errBoom
		}
		return append(dst, v...), nil
	},
	func(data []byte, v *string) error {
		switch string(data) {
		case "bad":
			return errBoom
		case "panic":
			panic(errBoom)
		}
		*v = string(data)
		return nil
	})
