package engine

import (
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/internal/claim"
	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// Conflater carries values into an edge of capacity one, and merges the next one into what waits there: it takes the waiting value
// back, merges, and puts the result.
//
// It must not take back what an idle consumer has been woken for: then it would depend on the scheduler what is merged. So
// consumers say that they come before they do, and take one value each time. What was put and not taken back is
// theirs in that order. With as many of these as the consumer has come, or fewer, it is idle, or has all that there was: the
// next value goes into the edge as it is. With one more, that one waits, and nobody has come for it.
type Conflater[T any] struct {
	Fused
	in    Input[T]
	out   *Link[T]
	merge func(waiting, next T) T
	buf   chunkBuffer[T]

	came  atomic.Int64   // how often a consumer has come
	given int64          // values put and not taken back
	own   *Tag           // of the value that was put last, if it was made here
	back  *queue.Waiter  // for taking back
	past  chan time.Time // closed: a time that is up
	value [1]T           // taken back
	tag   [1]*Tag        // of it
	holds int            // 1 while value is there
}

// NewConflater makes w carry everything from in to the edge, which has a capacity of one and no other producer.
func NewConflater[T any](w *Worker, st *Stage, in Input[T], out *Link[T], merge func(waiting, next T) T) *Conflater[T] {
	c := &Conflater[T]{
		Fused: NewFused(w, st), in: in, out: out, merge: merge, buf: chunkBuffer[T]{tagged: in.Tagged},
		back: queue.NewWaiter(), past: make(chan time.Time),
	}
	close(c.past)
	w.Hold(1)
	out.Feed(w)
	w.Body(c.run, c.leave)
	return c
}

func (c *Conflater[T]) run() error {
	for {
		values, tags := c.buf.room(maxChunk)
		n, err := c.in.Pull(values, tags)
		if n > 0 {
			c.Stage.Count(n, 0)
			if herr := c.hand(values[:n], Cut(tags, 0, min(n, len(tags)))); herr != nil {
				return herr
			}
			c.buf.used(c.W, n)
		}
		if err != nil {
			return err
		}
	}
}

// hand puts a chunk into the edge. It gives back what could not be.
func (c *Conflater[T]) hand(values []T, tags []*Tag) (err error) {
	for i := 0; i < len(values); {
		if c.given <= c.came.Load() {
			err = c.put(values[i:i+1], Cut(tags, i, min(i+1, len(tags))), nil)
			i++
		} else if err = c.takeBack(); err == nil && c.holds > 0 {
			var n int
			n, err = c.fold(values[i:], Cut(tags, min(i, len(tags)), len(tags)))
			i += n
		}
		if err != nil {
			c.W.giveBack(err, len(values)-i, Cut(tags, min(i, len(tags)), len(tags)))
			return err
		}
	}
	return nil
}

// put hands one value over. It waits for room only until the consumer, which has come, has taken the last one.
func (c *Conflater[T]) put(values []T, tags []*Tag, own *Tag) error {
	c.own = own
	c.given++
	return put(c.W, c.out, values, tags)
}

// takeBack takes back what waits, unless the consumer has been faster.
func (c *Conflater[T]) takeBack() error {
	n, err := c.out.TakeAt(clock.Now(), c.back, c.value[:], plain(c.tag[:], c.in.Tagged), c.past)
	c.holds = n
	c.given -= int64(n)
	if err == queue.ErrTimeout {
		return nil
	}
	return err
}

// fold merges values into the one taken back until there are no more, or a consumer has come, and puts it. It returns how
// many values are not the caller's any more.
func (c *Conflater[T]) fold(values []T, tags []*Tag) (n int, err error) {
	came := c.came.Load()
	for n < len(values) && (n == 0 || c.came.Load() == came) {
		if err := c.mergeOne(values[n]); err != nil {
			c.Lose(err, 1, Cut(tags, min(n, len(tags)), min(n+1, len(tags))))
			return n + 1, err // the value taken back is given back by leave
		}
		if tags != nil {
			c.adopt(tags[n])
			tags[n] = nil
		}
		n++
	}
	clear(values[:n])
	c.holds = 0
	return n, c.put(c.value[:], plain(c.tag[:], c.in.Tagged), c.own)
}

// mergeOne calls the user's function.
func (c *Conflater[T]) mergeOne(next T) (err error) {
	defer c.Guard(&err)
	began := c.Begin()
	c.value[0] = c.merge(c.value[0], next)
	c.End(began, 0, 0)
	return nil
}

// adopt makes the tag at hand that of a group with one more member.
func (c *Conflater[T]) adopt(next *Tag) {
	t := c.tag[0]
	if t == nil && next == nil {
		return
	}
	meta := stage.MergeGroup(metaOf(t), metaOf(next))
	if t != nil && t == c.own {
		t.Meta = meta
		t.Adopt(next)
		return
	}
	c.own = claim.Derive(meta, t, next)
	c.tag[0] = c.own
}

func metaOf(t *Tag) (m stage.Meta) {
	if t != nil {
		m = t.Meta
	}
	return m
}

func (c *Conflater[T]) leave() {
	c.GiveBack(c.holds, plain(c.tag[:c.holds], c.in.Tagged))
	c.holds = 0
	c.buf.abandon(c.W)
	c.in.Leave()
}

// ReadConflated makes w the consumer of what c hands on.
func ReadConflated[T any](w *Worker, c *Conflater[T]) Input[T] {
	in := ReadEdge(w, c.out)
	return Input[T]{Reader: &conflated[T]{c: c, in: in}, Stream: in.Stream}
}

// conflated is the consumer's side.
type conflated[T any] struct {
	c  *Conflater[T]
	in Input[T]
}

// Pull implements [Reader]. It takes one value: what waits behind it can still be merged.
func (r *conflated[T]) Pull(dst []T, tags []*Tag) (int, error) {
	r.c.came.Add(1)
	n, err := r.in.Pull(dst[:1], Cut(tags, 0, min(1, len(tags))))
	r.c.Stage.Count(0, n)
	return n, err
}

// Leave implements [Reader].
func (r *conflated[T]) Leave() { r.in.Leave() }
