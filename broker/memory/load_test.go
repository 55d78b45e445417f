package memory_test

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/memory"
	"github.com/weir-go/weir/stage"
)

// carry moves total messages through a stream, with several senders and fetchers, and returns how often each was done.
func carry(t *testing.T, s *memory.Stream, total, parties int, outcome func(d *broker.Delivery) stage.Outcome) []atomic.Int32 {
	t.Helper()
	times := make([]atomic.Int32, total)
	var sending, fetching sync.WaitGroup
	for p := range parties {
		sender := s.Sender(memory.SendConfig{})
		f := s.Fetcher(memory.FetchConfig{InFlight: 64})
		if err := errors.Join(sender.Open(t.Context()), f.Open(t.Context())); err != nil {
			t.Fatal(err)
		}
		sending.Go(func() {
			for first := p; first < total; first += 16 * parties {
				send(t, sender, numbers(first, min(first+16*parties, total), parties))
			}
		})
		fetching.Go(func() {
			dst := make([]broker.Delivery, 32)
			for {
				n, err := f.Fetch(t.Context(), dst)
				if err == stage.ErrEnd {
					break
				} else if err != nil {
					t.Error(err)
					break
				}
				for i := range dst[:n] {
					o := outcome(&dst[i])
					if o.Kind == stage.Done {
						times[number(&dst[i])].Add(1)
					}
					f.Settle(dst[i].Token, o)
				}
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	sending.Wait()
	s.End()
	fetching.Wait()
	return times
}

// send tries again while the stream is full.
func send(t *testing.T, sender *memory.Sender, msgs []broker.Message) {
	for {
		err := sender.Send(t.Context(), msgs)
		if err == nil {
			return
		}
		bad, ok := errors.AsType[*stage.BatchError](err)
		if !ok || !errors.Is(err, broker.ErrFull) {
			t.Error(err)
			return
		}
		msgs = msgs[bad.Items[0].Index:]
		runtime.Gosched()
	}
}

func numbers(from, to, step int) (msgs []broker.Message) {
	for i := from; i < to; i += step {
		msgs = append(msgs, broker.Message{Data: []byte{byte(i), byte(i >> 8), byte(i >> 16)}})
	}
	return msgs
}

func number(d *broker.Delivery) int {
	return int(d.Data[0]) | int(d.Data[1])<<8 | int(d.Data[2])<<16
}

func TestManyPartiesAtOnce(t *testing.T) {
	s := memory.NewStream(memory.StreamConfig{MaxMessages: 100})
	times := carry(t, s, 20_000, 4, func(d *broker.Delivery) stage.Outcome {
		if d.Attempt == 1 && number(d)%10 == 0 {
			return stage.Outcome{Kind: stage.Failed, Delay: time.Duration(number(d)%3) * time.Microsecond}
		}
		return stage.Outcome{}
	})
	for i := range times {
		if got := times[i].Load(); got != 1 {
			t.Fatalf("message %d was done %d times", i, got)
		}
	}
	if i := s.Info(); i.Delivered != 22_000 || i.Redelivered != 2000 {
		t.Fatalf("Info() = %+v", i)
	}
}

func TestFaultsUnderLoad(t *testing.T) {
	s := memory.NewStream(memory.StreamConfig{MaxMessages: 100})
	over := make(chan struct{})
	var faults sync.WaitGroup
	faults.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-over:
				return
			default:
			}
			s.Down()
			_ = s.Resize(int64(50+i%50), 0)
			runtime.Gosched()
			s.Up()
			_ = s.Info()
			runtime.Gosched()
		}
	})
	times := carry(t, s, 5000, 4, func(*broker.Delivery) stage.Outcome { return stage.Outcome{} })
	close(over)
	faults.Wait()
	for i := range times {
		if got := times[i].Load(); got != 1 {
			t.Fatalf("message %d was done %d times", i, got)
		}
	}
}

func TestMemoryIsFlat(t *testing.T) {
	s := memory.NewStream(memory.StreamConfig{MaxMessages: 1000, DedupIDs: 1000})
	sender, f := sending(t, s, memory.SendConfig{}), opened(t, s, memory.FetchConfig{})
	msgs, dst := numbers(0, 500, 1), make([]broker.Delivery, 500)
	round := func(total int) uint64 {
		for range total / len(msgs) {
			if err := sender.Send(t.Context(), msgs); err != nil {
				t.Fatal(err)
			}
			n, err := f.Fetch(t.Context(), dst)
			if n != len(msgs) || err != nil {
				t.Fatalf("Fetch returned (%d, %v)", n, err)
			}
			for i := range dst {
				f.Settle(dst[i].Token, stage.Outcome{})
			}
		}
		clear(dst)
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := round(100_000)
	after := round(1_000_000)
	if slack := uint64(64 << 10); after > before+before/10+slack {
		t.Fatalf("%d bytes are in use after 1,100,000 messages, %d after 100,000", after, before)
	}
}
