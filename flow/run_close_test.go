package flow_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// S26: everything is closed once, after its last call: sinks, then dead letters, then sources; errors of closing count.
func TestS26ClosingOrder(t *testing.T) {
	for _, how := range []string{"end", "error", "stop", "drain", "never started"} {
		inBubble(t, how, func(t *testing.T) {
			var log []string
			newPart := func(name string) *part { return &part{name: name, log: &log} }
			src, other := newPart("source"), newPart("source")
			src.stays = how == "stop" || how == "drain"
			box := newPart("letters")
			sinks := []*part{newPart("sink"), newPart("sink")}
			bs := flow.Merge(flow.From[int](src), flow.From[int](other)).TryMap(same, flow.OnError(flow.DeadLetter(letters{box}))).Broadcast(2)
			if how == "error" {
				sinks[1].err = errA
			}
			p := flow.Join(
				bs[0].TryMap(same, flow.OnError(flow.DeadLetter(letters{box}))).To(sinks[0], flow.Workers(3)),
				bs[1].To(sinks[1], flow.OnError(flow.If(func(error) bool { return false }, flow.DeadLetter(letters{box})))),
			)
			if how == "never started" {
				wantText(t, flow.Join(p, discard(flow.Flow[int]{})).Run(t.Context()), "zero Flow")
				equal(t, "closed", len(log), 0)
				return
			}
			r := start(t, p)
			synctest.Wait()
			switch how {
			case "stop":
				r.Stop()
			case "drain":
				must(t, r.Drain(t.Context()))
			}
			_ = r.Wait()
			equal(t, "order", strings.Join(log, " "), "sink sink letters source source")
		})
	}
	inBubble(t, "errors and panics of closing", func(t *testing.T) {
		err := flow.From[int](&part{name: "s", log: new([]string), closeErr: errB}).To(&closer{err: errA}).Run(t.Context())
		wantError(t, err, errA)
		wantError(t, err, errB)
		err = flow.FromSlice(ints(3)).To(panickyCloser{}).Run(t.Context())
		if _, ok := errors.AsType[*stage.PanicError](err); !ok {
			t.Fatalf("Run() = %v, want the panic", err)
		}
	})
	inBubble(t, "a clean end leaves Close its time", func(t *testing.T) {
		began := time.Now()
		must(t, flow.FromSlice(ints(3)).To(&slowCloser{}).Run(t.Context()))
		equal(t, "time", time.Since(began), time.Hour)
	})
}

type panickyCloser struct{}

func (panickyCloser) Push(context.Context, []int) error { return nil }
func (panickyCloser) Close() error                      { panic("closing") }

// part is a source and a sink that notes its closing, and complains about calls behind it.
type part struct {
	name     string
	log      *[]string
	stays    bool
	err      error
	closeErr error
	closed   bool
	n        int
	mu       sync.Mutex
}

func (p *part) Pull(ctx context.Context, dst []int) (int, error) {
	if p.closed {
		panic("pulled after it was closed")
	}
	if p.n++; p.n <= 10 {
		dst[0] = p.n
		return 1, nil
	}
	if p.stays {
		return blocked(ctx, dst)
	}
	return 0, stage.ErrEnd
}

func (p *part) Push(context.Context, []int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		panic("pushed after it was closed")
	}
	return p.err
}

func (p *part) Close() error {
	p.closed = true
	*p.log = append(*p.log, p.name)
	return p.closeErr
}

// letters is a part as a sink of dead letters.
type letters struct{ *part }

func (l letters) Push(context.Context, []stage.DeadLetter) error { return nil }

var _ io.Closer = letters{}
