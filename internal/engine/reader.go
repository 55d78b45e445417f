package engine

import (
	"cmp"
	"time"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// Tag is what travels beside a value; nil for a plain one.
type Tag = queue.Tag

// Reader is what a step or a tail pulls from: the chain to its left, in the same goroutine.
type Reader[T any] interface {
	// Pull waits for at least one item and puts up to len(dst) of them into dst, and their tags into tags, which is nil where
	// the stream is plain. n items may come with an error, which is reported once. len(dst) is at least 1.
	Pull(dst []T, tags []*Tag) (n int, err error)
	// Leave says that nothing will be pulled any more.
	Leave()
}

// TimedReader is a Reader that can be waited on with a limit: the head at an edge.
type TimedReader[T any] interface {
	Reader[T]
	// PullUntil is Pull without regard to the cost of items, for steps that gather them. It returns queue.ErrTimeout when
	// timeout delivers first.
	PullUntil(dst []T, tags []*Tag, timeout <-chan time.Time) (n int, err error)
}

// Stream is what is known of a stream before it runs.
type Stream struct {
	Tagged  bool           // items may have tags
	Claims  bool           // somebody wants to know how they end
	Again   bool           // an item that fails comes again in the same run
	Bounded bool           // a Take limits how many there are
	Branch  bool           // it is a branch of a fan-out: what it holds when it leaves early is done, others have it too
	Effect  string         // the stage in front whose effect must not be repeated; "": none
	Dropped *stage.Outcome // how an item ends that an edge drops, where the edge does not say; nil: not said

	// Loses is told of each edge that can drop, by those who do not know yet whether there is an Effect in front; nil: it is known.
	Loses func(edge string)
}

// Input is a Reader and what is known of its stream.
type Input[T any] struct {
	Reader[T]
	Stream
}

// Fused is the base of every step: the stage it works for and the goroutine it runs in.
type Fused struct {
	W     *Worker
	Stage *Stage
}

// NewFused makes st one of the stages of w.
func NewFused(w *Worker, st *Stage) Fused {
	w.stages = append(w.stages, st)
	w.follow(st)
	st.Workers = append(st.Workers, w)
	return Fused{W: w, Stage: st}
}

// Begin marks the stage as the one that is running user code. End takes what Begin returned.
func (f *Fused) Begin() int64 {
	f.W.active.Store(f.Stage)
	if !f.W.sampling {
		return 0
	}
	return clock.Now()
}

// End counts the items of a chunk that went in and came out, and its time where the chunk is a sample.
func (f *Fused) End(began int64, in, out int) {
	f.Stage.Count(in, out)
	if began != 0 {
		f.Stage.sampled.Add(clock.Now() - began)
	}
}

// Guard is deferred around user code. It turns a panic into an error of the stage.
func (f *Fused) Guard(err *error) {
	if p := recover(); p != nil {
		*err = Panicked(f.Stage.Name, p)
	}
}

// GuardAll is [Fused.Guard] for code that is about several items, any of which may be to blame.
func (f *Fused) GuardAll(err *error) {
	if p := recover(); p != nil {
		*err = Panicked(f.Stage.Name, p)
		f.W.doubt = true
	}
}

// GiveBack releases the tags of n items that nobody has processed, and counts them.
func (f *Fused) GiveBack(n int, tags []*Tag) { f.W.giveBack(nil, n, tags) }

// Refuse releases the tags of n items because the step wants no more.
func (f *Fused) Refuse(n int, tags []*Tag) { f.W.giveBack(ErrLeft, n, tags) }

// Enough leaves in, upstream of the step, while the worker goes on with what it has: what is held there is not wanted.
func (f *Fused) Enough(in interface{ Leave() }) {
	was := f.W.leaving
	f.W.leaving = true
	in.Leave()
	f.W.leaving = was
}

// Lose ends n items at the first of which user code failed with err: that one has failed, the others are given back. Where there
// are more tags than items, the first item has more than one.
func (f *Fused) Lose(err error, n int, tags []*Tag) {
	f.Stage.Failed.Add(1)
	f.W.run.report.failed.Add(1)
	f.W.run.report.givenBack.Add(int64(n - 1))
	first := max(len(tags)-n+1, 0)
	release(tags[:first], stage.Outcome{Kind: stage.Failed, Err: err})
	release(tags[first:], f.W.givenBack(false, err))
}

// Buffer is a step's own room for values and tags, made as large as it was ever asked for.
type Buffer[T any] struct {
	Values []T
	Tags   []*Tag
}

// Room returns the first n places, with places for tags where tagged.
func (b *Buffer[T]) Room(n int, tagged bool) ([]T, []*Tag) {
	if n > len(b.Values) {
		b.Values = make([]T, n)
		if tagged {
			b.Tags = make([]*Tag, n)
		}
	}
	if !tagged {
		return b.Values[:n], nil
	}
	return b.Values[:n], b.Tags[:n]
}

// Abandon gives back the tags that are still here when user code has ended the goroutine: then the frames that would have
// handed them on are gone.
func (b *Buffer[T]) Abandon(f *Fused) { b.abandon(f.W) }

func (b *Buffer[T]) abandon(w *Worker) {
	for i, t := range b.Tags {
		if t != nil {
			w.giveBack(nil, 1, b.Tags[i:i+1])
		}
	}
}

// Clear forgets values, so that they can be collected, and their tags.
func Clear[T any](values []T, tags []*Tag) {
	clear(values)
	clear(tags)
}

// Cut returns tags[from:to], nil where the stream is plain.
func Cut(tags []*Tag, from, to int) []*Tag {
	if tags == nil {
		return nil
	}
	return tags[from:to]
}

// both returns a function that calls those of a and b that are not nil.
func both(a, b func(string)) func(string) {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(edge string) { a(edge); b(edge) }
}

// Or returns what is known of a stream that comes from two. It is no branch: what waits behind the point where they meet
// may have come from either.
func (s Stream) Or(o Stream) Stream {
	s.Tagged = s.Tagged || o.Tagged
	s.Claims = s.Claims || o.Claims
	s.Again = s.Again && o.Again
	s.Bounded = s.Bounded && o.Bounded
	s.Branch = false
	s.Effect = cmp.Or(s.Effect, o.Effect)
	s.Loses = both(s.Loses, o.Loses)
	if s.Dropped == nil {
		s.Dropped = o.Dropped
	}
	return s
}
