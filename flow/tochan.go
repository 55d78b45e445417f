package flow

import (
	"context"
	"sync"

	"github.com/weir-go/weir/internal/engine"
)

// ToChan sends every value on ch, and closes ch: the way to code that reads from a channel. What went wrong is not to be seen
// there, so look at Run's error, or Wait's, behind the loop over ch.
//
//	Shape:        T → ; in the goroutine of what is upstream; holds one value.
//	Emits:        a value when it has been received, or fits into ch.
//	Backpressure: pulls the next value when the last one has been sent, and nothing before.
//	Ends:         with upstream. It closes ch once, behind the last value, and also when the run stops or fails. A
//	              pipeline that did not start leaves ch open.
//	Errors:       the end of the run interrupts a send. With Timeout, a value that nobody takes for so long has
//	              failed, and OnError says what then. A nil ch, Workers and Gather are build errors, and so is a
//	              second run. A channel that somebody else has closed stops the run.
//	Claims:       an item settles as done when its value has been sent: what becomes of it then is not known.
//	Concurrency:  serves one run. Nobody else may close ch, and who else sends on it must have finished before.
//	Cost:         a send, and a pull per item; no allocation per item.
func (f Flow[T]) ToChan(ch chan<- T, opts ...SinkOption) Pipeline {
	up := f.node()
	s, n, h := sinkSettings("tochan", up.about(), opts)
	n.check(ch != nil, "channel must not be nil")
	n.check(!s.workersOn, "Workers needs To or ForEach: ToChan sends one value at a time")
	n.check(s.gather == nil, "Gather needs To: ToChan sends one value at a time")
	n.serveOnce()
	send := func(ctx context.Context, v T) (struct{}, error) {
		select {
		case ch <- v:
			return struct{}{}, nil
		case <-ctx.Done():
			return struct{}{}, context.Cause(ctx)
		}
	}
	return leafOf(n, func(b *build) {
		w := b.run.NewWorker()
		in := up.reader(b, w)
		b.decided(n, h, in.Stream)
		in.Reader = oneByOne[T]{in.Reader}
		sent := engine.Try(engine.NewCall(w, b.stage(n), send, h), in)
		closeCh := sync.OnceFunc(func() {
			if err := closeChan(b.name(n), ch); err != nil {
				b.run.Stop(err)
			}
		})
		sent.Reader = &atEnd[struct{}]{Reader: sent.Reader, do: closeCh}
		engine.Consume(w, sent)
	})
}

// closeChan closes ch for the stage name. Somebody else may have closed it.
func closeChan[T any](name string, ch chan<- T) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = engine.Panicked(name, p)
		}
	}()
	close(ch)
	return nil
}

// oneByOne asks for one item at a time, so that each is settled before the next one is fetched.
type oneByOne[T any] struct{ engine.Reader[T] }

// Pull implements engine.Reader.
func (o oneByOne[T]) Pull(dst []T, tags []*engine.Tag) (int, error) {
	return o.Reader.Pull(dst[:1], engine.Cut(tags, 0, min(1, len(tags))))
}

// atEnd calls do when nothing will be pulled any more, behind everything that Leave gives back.
type atEnd[T any] struct {
	engine.Reader[T]
	do func()
}

// Leave implements engine.Reader.
func (a *atEnd[T]) Leave() {
	a.Reader.Leave()
	a.do()
}
