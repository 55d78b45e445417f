package engine

import (
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
}

// room returns a place for at most limit items.
func (b *chunkBuffer[T]) room(limit int) ([]T, []*Tag) {
	b.size = max(b.size, firstRoom)
	return b.Room(min(b.size, limit), b.tagged)
}

// used makes the buffer grow when a chunk of n items has filled it.
func (b *chunkBuffer[T]) used(n int) {
	if n == b.size && b.size < maxChunk {
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
	w.Body(p.run, in.Leave)
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
			p.buf.used(n)
		}
		if err != nil {
			return err
		}
	}
}

// plain returns tags for a stream that has some, nil for a plain one.
func plain(tags []*Tag, tagged bool) []*Tag {
	if !tagged {
		return nil
	}
	return tags
}

// put hands values to the edge and gives back what the edge did not take.
func put[T any](w *Worker, l *Link[T], values []T, tags []*Tag) error {
	took, err := l.Put(w.Out, values, tags, nil)
	if err != nil {
		w.giveBack(len(values)-took, Cut(tags, min(took, len(tags)), len(tags)))
		err = edgeError(w, err)
	}
	Clear(values, tags)
	return err
}

// edgeError makes an edge's refusal an error of the stage that met it. Other errors are ends that the engine knows.
func edgeError(w *Worker, err error) error {
	if err == queue.ErrLeft || w.Gone() != nil { //nolint:errorlint // identity: it comes from the queue itself
		return err
	}
	return &stage.Error{Stage: w.last(), Err: err}
}

// last returns the name of the worker's last stage.
func (w *Worker) last() string {
	if len(w.stages) == 0 {
		return "engine"
	}
	return w.stages[len(w.stages)-1].Name
}
