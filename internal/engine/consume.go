package engine

import "github.com/weir-go/weir/stage"

// consumer pulls, and settles what it gets as done.
type consumer[T any] struct {
	w   *Worker
	in  Input[T]
	buf chunkBuffer[T]
}

// Consume makes w pull everything from in: the work is done by the steps in it.
func Consume[T any](w *Worker, in Input[T]) {
	c := &consumer[T]{w: w, in: in, buf: chunkBuffer[T]{tagged: in.Tagged}}
	w.sink = true
	w.Body(c.run, func() {
		in.Leave()
		c.buf.abandon(w)
	})
}

func (c *consumer[T]) run() error {
	for {
		values, tags := c.buf.room(maxChunk)
		n, err := c.in.Pull(values, tags)
		if n > 0 {
			c.w.run.report.done.Add(int64(n))
			release(Cut(tags, 0, min(n, len(tags))), stage.Outcome{})
			clear(values[:n])
			c.buf.used(c.w, n)
		}
		if err != nil {
			return err
		}
	}
}

// counted is a step that only counts, for a stage that does no more than to hand on.
type counted[T any] struct {
	Fused
	in Input[T]
}

// Counted returns in, counted for the stage of at.
func Counted[T any](at Fused, in Input[T]) Input[T] {
	return Input[T]{Reader: &counted[T]{Fused: at, in: in}, Stream: in.Stream}
}

// Pull implements [Reader].
func (c *counted[T]) Pull(dst []T, tags []*Tag) (int, error) {
	n, err := c.in.Pull(dst, tags)
	c.Stage.Count(n, n)
	return n, err
}

// Leave implements [Reader].
func (c *counted[T]) Leave() { c.in.Leave() }
