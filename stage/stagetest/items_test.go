package stagetest

import (
	"context"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/stage"
)

// mail is an ItemSource whose messages want to be settled: it has no more than two of them in flight.
type mail struct {
	next, settled int
	closed        bool
}

func (m *mail) PullItems(ctx context.Context, dst []stage.Item[int]) (n int, err error) {
	switch {
	case len(dst) == 0:
		return 0, nil
	case m.next == len(numbers):
		return 0, stage.ErrEnd
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case m.next-m.settled >= 2:
		<-ctx.Done()
		return 0, context.Cause(ctx)
	}
	for ; n < len(dst) && m.next < len(numbers) && m.next-m.settled < 2; n++ {
		dst[n] = stage.Claimed(numbers[m.next], stage.Meta{}, m, uint64(m.next))
		m.next++
	}
	return n, nil
}

func (m *mail) Settle(uint64, stage.Outcome) { m.settled++ }

func (m *mail) Close() error {
	m.closed = true
	return nil
}

func TestAnItemSourceIsTestedByItsValues(t *testing.T) {
	TestSource(t, SourceOptions[int]{Want: numbers, Bubble: true}, func(*testing.T) stage.Source[int] { return Values(new(mail)) })
	m := new(mail)
	if err := Values(m).(io.Closer).Close(); err != nil || !m.closed {
		t.Errorf("Close() = %v, closed: %t", err, m.closed)
	}
	if _, ok := Values(stage.ItemSourceFunc(m.PullItems)).(io.Closer); ok {
		t.Error("a source that can't be closed can be closed by its values")
	}
}

func TestAnItemSourceThatWritesBehindDstIsCaught(t *testing.T) {
	kit := newSourceKit(SourceOptions[int]{Want: numbers, Bubble: true}, func(*testing.T) stage.Source[int] {
		m := new(mail)
		return Values(stage.ItemSourceFunc(func(ctx context.Context, dst []stage.Item[int]) (int, error) {
			n, err := m.PullItems(ctx, dst)
			clear(dst[len(dst):cap(dst)])
			return n, err
		}))
	})
	wantFinding(t, findingsOf(t, kit.checks(), "P1"), "P1")
}

// crate is an ItemSink.
type crate struct {
	shelf
	sort bool
}

func (c *crate) PushItems(ctx context.Context, items []stage.Item[int]) error {
	vs := make([]int, len(items))
	for i, it := range items {
		vs[i] = it.Value
	}
	if c.sort {
		slices.SortFunc(items, func(a, b stage.Item[int]) int { return a.Value - b.Value })
	}
	return c.Push(ctx, vs)
}

func TestAnItemSinkIsTestedByItsValues(t *testing.T) {
	var c *crate
	opts := SinkOptions[int]{Items: numbers, Bubble: true, Taken: func() []int { return c.taken }}
	TestSink(t, opts, func(*testing.T) stage.Sink[int] {
		c = new(crate)
		return Items(c)
	})
	if _, ok := Items(stage.ItemSinkFunc(c.PushItems)).(io.Closer); ok {
		t.Error("a sink that can't be closed can be closed by its values")
	}
	kit := newSinkKit(opts, func(*testing.T) stage.Sink[int] {
		c = &crate{sort: true}
		return Items(c)
	})
	wantFinding(t, findingsOf(t, kit.checks(), "K3"), "K3")
}

// A part that asks somewhere once a minute, or takes a minute, is healthy.
func TestSlowPartsAreHealthy(t *testing.T) {
	minute := func(ctx context.Context) error {
		select {
		case <-time.After(time.Minute):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	TestSource(t, SourceOptions[int]{Want: numbers, Bubble: true}, func(*testing.T) stage.Source[int] {
		m := newModel()
		return stage.SourceFunc(func(ctx context.Context, dst []int) (int, error) {
			if len(dst) > 0 && len(m.rest) > 0 {
				if err := minute(ctx); err != nil {
					return 0, err
				}
			}
			return m.Pull(ctx, dst)
		})
	})
	var s *shelf
	TestSink(t, SinkOptions[int]{Items: numbers, Bubble: true, Taken: func() []int { return s.taken }}, func(*testing.T) stage.Sink[int] {
		s = new(shelf)
		return altered{shelf: s, push: func(ctx context.Context, items []int) error {
			if err := minute(ctx); err != nil {
				return err
			}
			return s.Push(ctx, items)
		}}
	})
	synctest.Test(t, func(t *testing.T) {
		if o := callWaiting(true, func() (int, error) { return 0, minute(t.Context()) }); o.hung || o.took != time.Minute {
			t.Errorf("a call of a minute: %+v", o)
		}
	})
}
