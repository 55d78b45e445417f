package engine

import (
	"github.com/weir-go/weir/internal/clock"
)

// Bell wakes a worker that waits for any of several edges: whoever puts something into one of them rings. A ring that comes while
// the worker is awake is kept, so that one which has found all edges empty does not miss what has come since.
type Bell struct {
	rung  chan struct{}
	w     *Worker
	edges []int // that ring it, of the run's list
	waits stand
}

// NewBell returns a Bell for w.
func NewBell(w *Worker) *Bell {
	b := &Bell{rung: make(chan struct{}, 1), w: w}
	w.run.spots = append(w.run.spots, b)
	return b
}

// Ring wakes the worker, now or at its next Wait.
func (b *Bell) Ring() {
	select {
	case b.rung <- struct{}{}:
	default:
	}
}

// Wait waits for a ring, or for the end of the worker.
func (b *Bell) Wait() error {
	w, now := b.w, clock.Now()
	w.In.Parked.Start(now)
	b.waits.begin(now)
	defer func() {
		b.waits.end()
		w.In.Parked.Stop(clock.Now())
	}()
	w.Parks()
	select {
	case <-b.rung:
		return nil
	case <-w.Context().Done():
		return w.Gone()
	}
}

// SmallChunks makes the worker take few items at a time, as those that share an edge do.
func (w *Worker) SmallChunks() { w.pace.limit = sharedChunk }

// ringing is the tail that puts what it pulls into an edge, as a pump does, and rings whenever it has, and at the end.
type ringing[T any] struct {
	pump[T]
	bell *Bell
}

// PumpAndRing makes w carry everything from in to the edge, which it alone feeds, and ring bell.
func PumpAndRing[T any](w *Worker, in Input[T], l *Link[T], bell *Bell) {
	p := &ringing[T]{w: w, in: in, link: l, sole: true, buf: chunkBuffer[T]{tagged: l.Tagged}, bell: bell}
	l.Feed(w)
	bell.edges = append(bell.edges, l.id)
	w.closes = append(w.closes, bell.Ring)
	w.Body(p.run, p.leave)
}

func (p *ringing[T]) run() error {
	for {
		room, err := p.link.Demand(p.w.Out, maxChunk, true)
		if err != nil {
			return err
		}
		values, tags := p.buf.room(room)
		n, err := p.in.Pull(values, plain(tags, p.in.Tagged))
		if n > 0 {
			perr := put(p.w, p.link, values[:n], Cut(tags, 0, n))
			p.bell.Ring()
			if perr != nil {
				return perr
			}
			p.buf.used(p.w, n)
		}
		if err != nil {
			return err
		}
	}
}
