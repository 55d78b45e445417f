package engine

import (
	"errors"

	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// firstRoom is how large a tail's buffer is to begin with; it grows while chunks fill it.
const firstRoom = 16

// chunkBuffer is a tail's buffer.
type chunkBuffer[T any] struct {
	Buffer[T]
	tagged bool
	size   int
	cut    bool // the last place was smaller than size
}

// room returns a place for at most limit items.
func (b *chunkBuffer[T]) room(limit int) ([]T, []*Tag) {
	b.size = max(b.size, firstRoom)
	b.cut = limit < b.size
	return b.Room(min(b.size, limit), b.tagged)
}

// used makes the buffer grow when a chunk of n items has filled it, or when the head of w would have taken more: behind a
// Filter no chunk is ever full.
func (b *chunkBuffer[T]) used(w *Worker, n int) {
	if !b.cut && b.size < maxChunk && (n == b.size || w.curbed) {
		b.size = min(4*b.size, maxChunk)
	}
}

// pump is the tail that puts what it pulls into an edge.
type pump[T any] struct {
	w    *Worker
	in   Input[T]
	link *Link[T]
	sole bool // the edge has no other producer
	buf  chunkBuffer[T]
}

// Pump makes w carry everything from in to the edge. sole says that no other worker feeds the edge.
func Pump[T any](w *Worker, in Input[T], l *Link[T], sole bool) {
	p := &pump[T]{w: w, in: in, link: l, sole: sole, buf: chunkBuffer[T]{tagged: l.Tagged}}
	l.Feed(w)
	w.Body(p.run, p.leave)
}

func (p *pump[T]) run() error {
	for {
		room, err := p.link.Demand(p.w.Out, maxChunk, p.sole)
		if err != nil {
			return err
		}
		values, tags := p.buf.room(room)
		n, err := p.in.Pull(values, plain(tags, p.in.Tagged))
		if n > 0 {
			if perr := put(p.w, p.link, values[:n], Cut(tags, 0, n)); perr != nil {
				return perr
			}
			p.buf.used(p.w, n)
		}
		if err != nil {
			return err
		}
	}
}

func (p *pump[T]) leave() {
	p.in.Leave()
	p.buf.abandon(p.w)
}

// plain returns tags for a stream that has some, nil for a plain one.
func plain(tags []*Tag, tagged bool) []*Tag {
	if !tagged {
		return nil
	}
	return tags
}

// put hands values to the edge and gives back what the edge did not take, also where user code of the edge's does not return.
func put[T any](w *Worker, l *Link[T], values []T, tags []*Tag) (err error) {
	defer func() {
		took := w.Out.Took
		w.doubt = w.doubt || err == nil && took < len(values) // it was the weight of one of them
		w.giveBack(err, len(values)-took, Cut(tags, min(took, len(tags)), len(tags)))
		Clear(values, tags)
	}()
	if _, err = l.Put(w.Out, values, tags, nil); err != nil {
		w.suspect(err)
		err = edgeError(w, err)
	}
	return err
}

// suspect notes that an edge has refused the worker's items because of what its functions say of one of them.
func (w *Worker) suspect(err error) { w.doubt = w.doubt || queue.WrongItem(err) }

// edgeError makes an edge's refusal an error of the stage that met it. Everything else is the end of the edge, which the engine
// knows; a worker that is to end anyway ends for its own reason.
func edgeError(w *Worker, err error) error {
	if gone := w.Gone(); gone != nil {
		return gone
	}
	if _, full := errors.AsType[*queue.FullError](err); full || queue.WrongItem(err) {
		return &stage.Error{Stage: w.last(), Err: err}
	}
	return err
}

// last returns the name of the worker's last stage.
func (w *Worker) last() string {
	if len(w.stages) == 0 {
		return "engine"
	}
	return w.stages[len(w.stages)-1].Name
}
