package engine

import (
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// Fan is the tail that puts every item into several edges, one for each branch.
type Fan[T any] struct {
	Fused
	in    Input[T]
	links []*Link[T] // nil: the branch has left
	open  int
	buf   chunkBuffer[T]
}

// NewFan makes w copy everything from in to n branches, which are then attached one by one.
func NewFan[T any](w *Worker, st *Stage, in Input[T], n int) *Fan[T] {
	f := &Fan[T]{Fused: NewFused(w, st), in: in, links: make([]*Link[T], n), open: n}
	f.buf.tagged = in.Tagged
	w.Body(f.run, func() {
		in.Leave()
		f.buf.abandon(w)
	})
	return f
}

// Stream returns what is known of the stream that the branches get.
func (f *Fan[T]) Stream() Stream {
	s := f.in.Stream
	s.Branch = true
	return s
}

// Attach makes l the edge of branch i.
func (f *Fan[T]) Attach(i int, l *Link[T]) {
	f.links[i] = l
	l.Feed(f.W)
}

func (f *Fan[T]) run() error {
	for {
		room, err := f.demand()
		if err != nil {
			return err
		}
		values, tags := f.buf.room(room)
		n, err := f.in.Pull(values, tags)
		if n > 0 {
			f.Stage.Count(n, n)
			if perr := f.put(values[:n], Cut(tags, 0, n)); perr != nil {
				return perr
			}
			f.buf.used(f.W, n)
		}
		if err != nil {
			return err
		}
	}
}

// demand waits until every branch has room, and returns the least.
func (f *Fan[T]) demand() (int, error) {
	room := maxChunk
	for i, l := range f.links {
		if l == nil {
			continue
		}
		n, err := l.Demand(f.W.Out, maxChunk, true)
		switch {
		case err == queue.ErrLeft:
			f.drop(i)
		case err != nil:
			return 0, err
		default:
			room = min(room, n)
		}
	}
	if f.open == 0 {
		return 0, queue.ErrLeft
	}
	return room, nil
}

func (f *Fan[T]) drop(i int) {
	f.links[i] = nil
	f.open--
}

// put hands a chunk to every branch. Each has a share of the claims; that of a branch which has left is done.
func (f *Fan[T]) put(values []T, tags []*Tag) (err error) {
	for _, t := range tags {
		t.Share(f.open)
	}
	i := 0
	defer func() {
		if i < len(f.links) { // it failed, or a hook of the edge's has ended the goroutine
			f.abort(err, i, len(values), tags)
		}
		Clear(values, tags)
	}()
	for ; i < len(f.links); i++ {
		l := f.links[i]
		if l == nil {
			continue
		}
		took, err := l.Put(f.W.Out, values, tags, nil)
		if err == queue.ErrLeft {
			share(tags[min(took, len(tags)):], stage.Outcome{})
			f.drop(i)
		} else if err != nil {
			f.W.suspect(err)
			return edgeError(f.W, err)
		}
	}
	share(tags, stage.Outcome{})
	return nil
}

// abort gives back the shares of branch i from what its edge took on, those of the branches behind it, and the fan's own.
func (f *Fan[T]) abort(cause error, i, n int, tags []*Tag) {
	if cause == nil { // user code of the edge's, about one of them
		cause, f.W.doubt = f.W.Cause(), true
	}
	o := f.W.givenBack(false, cause)
	took := f.W.Out.Took
	share(tags[min(took, len(tags)):], o)
	for _, l := range f.links[i+1:] {
		if l != nil {
			share(tags, o)
		}
	}
	f.W.run.report.givenBack.Add(int64(n - took))
	share(tags, o)
}

// share ends one share of each tag, and keeps the tags.
func share(tags []*Tag, o stage.Outcome) {
	for _, t := range tags {
		t.Release(o)
	}
}
