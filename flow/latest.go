package flow

import (
	"time"

	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// latestChunk is how many values are taken at once where all but the last are let go.
const latestChunk = 64

// latest reads from an edge and keeps the last value. Those before it settle as done.
type latest[T any] struct {
	engine.Fused
	in    *engine.Timed[T]
	buf   engine.Buffer[T]
	value T
	tag   *engine.Tag
	holds bool
	end   error
}

// newLatest returns a latest for the stage nd in w, behind an edge.
func newLatest[T any](b *build, w *engine.Worker, up upstream[T], nd *node) latest[T] {
	in := engine.NewTimed(engine.ReadEdge(w, front(b, up, nd)))
	at := engine.NewFused(w, b.stage(nd))
	w.Hold(1)
	return latest[T]{Fused: at, in: in}
}

// take waits for values, at most for limit. It reports whether none came in that time.
func (l *latest[T]) take(limit time.Duration) (late bool) {
	values, tags := l.buf.Room(latestChunk, l.in.Tagged)
	n, err := l.in.TakeFor(values, tags, limit)
	if err == queue.ErrTimeout {
		return true
	}
	l.end = err
	if n == 0 {
		return false
	}
	l.tag.Release(stage.Outcome{})
	l.value, l.tag, l.holds = values[n-1], nil, true
	if tags != nil {
		l.tag, tags[n-1] = tags[n-1], nil
		for i, t := range tags[:n-1] {
			tags[i] = nil
			t.Release(stage.Outcome{})
		}
	}
	clear(values[:n])
	l.Stage.Count(n, 0)
	return false
}

// emit hands the value on.
func (l *latest[T]) emit(dst []T, tags []*engine.Tag) int {
	dst[0] = l.value
	if tags != nil {
		tags[0] = l.tag
	}
	l.forget()
	l.Stage.Count(0, 1)
	return 1
}

// rest hands on what is held when upstream has ended.
func (l *latest[T]) rest(dst []T, tags []*engine.Tag) (int, error) {
	if l.holds && l.end == stage.ErrEnd {
		return l.emit(dst, tags), l.end
	}
	return 0, l.end
}

func (l *latest[T]) forget() {
	var zero T
	l.value, l.tag, l.holds = zero, nil, false
}

// Leave implements engine.Reader.
func (l *latest[T]) Leave() {
	if l.holds {
		l.GiveBack(1, []*engine.Tag{l.tag})
		l.forget()
	}
	l.in.Leave()
}
