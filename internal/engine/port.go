package engine

import (
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/queue"
)

// portChunk is the most items that a worker with several inputs takes from one of them at a time.
const portChunk = 64

// Port is one of several inputs of a worker: a head at an edge with a place of its own to park, because a [queue.Waiter] serves
// one queue, and with the items that were taken and are not yet handed on.
type Port[T any] struct {
	Stream
	Values []T // at hand, Tags beside them
	Tags   []*Tag

	w    *Worker
	link *Link[T]
	wait *queue.Waiter
	gone atomic.Bool
	buf  Buffer[T]
	past chan time.Time // closed: a time that is up
}

// NewPort makes w a consumer of the edge.
func NewPort[T any](w *Worker, l *Link[T]) *Port[T] {
	p := &Port[T]{Stream: l.Stream, w: w, link: l, wait: queue.NewWaiter(), past: make(chan time.Time)}
	close(p.past)
	p.wait.Owner = w
	w.ahead = append(w.ahead, func(st *Stage) { l.to = append(l.to, st) })
	l.read(w)
	w.quits = append(w.quits, p.quit)
	w.Hold(portChunk)
	return p
}

// Fill waits until an item is at hand, and takes what is there, at most limit, where there was none.
func (p *Port[T]) Fill(limit int) error {
	if len(p.Values) > 0 {
		return nil
	}
	values, tags := p.buf.Room(min(limit, portChunk), p.Tagged)
	n, err := p.take(values, tags, nil)
	p.Values, p.Tags = values[:n], Cut(tags, 0, min(n, len(tags)))
	return err
}

// Poll takes what is there, up to len(dst), and does not wait: nothing is no error.
func (p *Port[T]) Poll(dst []T, tags []*Tag) (int, error) {
	n, err := p.take(dst, tags, p.past)
	if err == queue.ErrTimeout {
		return 0, nil
	}
	return n, err
}

// take takes from the edge. Waiting there is the worker's waiting.
func (p *Port[T]) take(dst []T, tags []*Tag, timeout <-chan time.Time) (int, error) {
	now := clock.Now()
	p.w.In.Parked.Start(now)
	n, err := p.link.TakeAt(now, p.wait, dst, tags, timeout)
	p.w.In.Parked.Stop(max(now, p.wait.Returned))
	return n, err
}

// Move hands on items at hand, up to len(dst), and returns how many.
func (p *Port[T]) Move(dst []T, tags []*Tag) int {
	n := copy(dst, p.Values)
	if p.Tagged {
		copy(tags, p.Tags[:n])
	}
	p.Drop(n)
	return n
}

// Drop forgets the first n items at hand, whose tags somebody else has taken over.
func (p *Port[T]) Drop(n int) {
	Clear(p.Values[:n], Cut(p.Tags, 0, min(n, len(p.Tags))))
	p.Values, p.Tags = p.Values[n:], Cut(p.Tags, min(n, len(p.Tags)), len(p.Tags))
}

// Leave gives back what is at hand and leaves the edge.
func (p *Port[T]) Leave() {
	if n := len(p.Values); n > 0 {
		p.w.run.report.givenBack.Add(int64(n))
		release(p.Tags, p.w.givenBack(p.Branch, p.w.Cause()))
		p.Drop(n)
	}
	p.quit()
}

// quit leaves the edge. It may be called from any goroutine.
func (p *Port[T]) quit() {
	if p.gone.CompareAndSwap(false, true) {
		p.link.Leave(p.w.Cause())
	}
}

// paced makes a reader of ports the head of its worker: the pacer says how much is pulled.
type paced[T any] struct {
	w *Worker
	Reader[T]
}

// Paced returns what r reads from ports, as the head of w.
func Paced[T any](w *Worker, r Reader[T], s Stream) Input[T] {
	w.branch = s.Branch
	return Input[T]{Reader: &paced[T]{w, r}, Stream: s}
}

// Pull implements [Reader].
func (h *paced[T]) Pull(dst []T, tags []*Tag) (int, error) {
	k := h.w.granted(clock.Now(), len(dst))
	n, err := h.Reader.Pull(dst[:k], Cut(tags, 0, min(k, len(tags))))
	h.w.took(clock.Now(), k, n)
	return n, err
}
