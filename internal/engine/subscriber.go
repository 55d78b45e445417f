package engine

import (
	"fmt"
	"math"
	"sync"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/stage"
)

// Credit is how many values a subscriber still wants, and the stage.Subscription that says so. Its methods may be called before
// the run starts. Credit of math.MaxInt64 is without limit and is not used up.
type Credit struct {
	mu        sync.Mutex
	left      int64
	err       error // a request that is none
	cancelled bool
	w         *Worker // from the start of the run to its end
	name      string
	news      chan struct{}
}

// NewCredit returns a Credit of 0.
func NewCredit() *Credit { return &Credit{news: make(chan struct{}, 1)} }

// Request implements stage.Subscription.
func (c *Credit) Request(n int64) {
	c.mu.Lock()
	w := c.w
	switch {
	case c.cancelled || c.err != nil:
		w = nil
	case n < 1:
		c.err = &stage.Error{Stage: c.name, Err: fmt.Errorf("a subscriber must request at least 1, got %d", n)}
	case n > math.MaxInt64-c.left:
		c.left = math.MaxInt64
	default:
		c.left += n
	}
	err := c.err
	c.ring()
	c.mu.Unlock()
	if w != nil && err != nil {
		w.run.Stop(err)
	}
}

// Cancel implements stage.Subscription.
func (c *Credit) Cancel() {
	c.mu.Lock()
	w := c.w
	c.cancelled, c.w = true, nil
	c.ring()
	c.mu.Unlock()
	if w != nil {
		w.quit(ErrLeft)
	}
}

func (c *Credit) ring() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// over ends the account: both methods do nothing from now on. It reports whether that was so before.
func (c *Credit) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.cancelled
	c.cancelled, c.w = true, nil
	return before
}

// state returns the credit, at most limit, and whether it was cancelled, or what is wrong.
func (c *Credit) state(limit int) (left int, cancelled bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int(min(c.left, int64(limit))), c.cancelled, c.err
}

// use takes n of the credit.
func (c *Credit) use(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left != math.MaxInt64 {
		c.left -= int64(n)
	}
}

// subscriberTail delivers what it pulls to a subscriber.
type subscriberTail[T any] struct {
	Fused
	in     Input[T]
	to     stage.Subscriber[T]
	credit *Credit
	buf    chunkBuffer[T]
	values []T // pulled, not yet delivered
	tags   []*Tag
	end    error // behind them
	told   bool
}

// Deliver makes w deliver everything from in to a subscriber, as far as credit goes. It reads one item ahead of the credit, so
// that the end is told without.
func Deliver[T any](w *Worker, st *Stage, in Input[T], to stage.Subscriber[T], credit *Credit) {
	t := &subscriberTail[T]{Fused: NewFused(w, st), in: in, to: to, credit: credit, buf: chunkBuffer[T]{tagged: in.Tagged}}
	w.sink = true
	w.opens = append(w.opens, func() {
		credit.mu.Lock()
		defer credit.mu.Unlock()
		credit.name = st.Name
		if err, ok := credit.err.(*stage.Error); ok { //nolint:errorlint // it is its own
			err.Stage = st.Name // it came before there was a name
		}
		if !credit.cancelled {
			credit.w = w
		}
	})
	w.Body(t.run, t.leave)
}

// run delivers, and tells the subscriber how it ended, also where the subscriber's code does not return.
func (t *subscriberTail[T]) run() (err error) {
	returned := false
	err = &stage.Error{Stage: t.Stage.Name, Err: stage.ErrGoexit}
	defer func() {
		if !returned && t.W.resume {
			return // a step in front has dealt with a Goexit: another goroutine goes on
		}
		if terr := t.tell(err); terr != nil {
			err = terr
		}
		t.to = nil // a run that is kept does not keep its subscriber
	}()
	err = t.loop()
	returned = true
	return err
}

func (t *subscriberTail[T]) loop() error {
	for {
		if len(t.values) == 0 {
			if t.end != nil {
				return t.end
			}
			if err := t.pull(); err != nil {
				return err
			}
			continue
		}
		n, err := t.wait()
		if err == nil {
			err = t.deliver(n)
		}
		if err != nil {
			return err
		}
	}
}

// pull takes what is wanted, and a single item where nothing is.
func (t *subscriberTail[T]) pull() error {
	left, cancelled, err := t.credit.state(maxChunk)
	switch {
	case cancelled:
		return stage.ErrEnd
	case err != nil:
		return err
	}
	values, tags := t.buf.room(max(left, 1))
	n, err := t.in.Pull(values, tags)
	if n > 0 {
		t.values, t.tags = values[:n], Cut(tags, 0, min(n, len(tags)))
		t.Stage.Count(n, 0)
		t.buf.used(t.W, n)
	}
	if t.end = err; err == ErrLeft {
		t.end = stage.ErrEnd // it was cancelled
	}
	return nil
}

// wait waits for credit, and returns how many items may be delivered.
func (t *subscriberTail[T]) wait() (int, error) {
	for {
		left, cancelled, err := t.credit.state(len(t.values))
		switch gone := t.W.Gone(); {
		case cancelled:
			return 0, stage.ErrEnd
		case gone != nil:
			return 0, gone
		case err != nil:
			return 0, err
		case left > 0:
			return left, nil
		}
		t.W.Out.Parked.Start(clock.Now())
		select {
		case <-t.credit.news:
		case <-t.W.Context().Done():
		}
		t.W.Out.Parked.Stop(clock.Now())
	}
}

// deliver delivers n items.
func (t *subscriberTail[T]) deliver(n int) (err error) {
	t.credit.use(n)
	began := t.Begin()
	took, err := t.call(n)
	t.End(began, 0, took)
	tags := Cut(t.tags, 0, min(n, len(t.tags)))
	if err != nil {
		t.Lose(err, n, tags)
		t.drop(n)
		return err
	}
	t.W.run.report.done.Add(int64(took))
	release(Cut(tags, 0, min(took, len(tags))), stage.Outcome{})
	t.drop(took)
	if took < n { // it wants no more
		t.credit.over()
		return stage.ErrEnd
	}
	return nil
}

func (t *subscriberTail[T]) drop(n int) {
	clear(t.values[:n])
	t.values, t.tags = t.values[n:], Cut(t.tags, min(n, len(t.tags)), len(t.tags))
}

// call calls the subscriber.
func (t *subscriberTail[T]) call(n int) (took int, err error) {
	defer t.GuardAll(&err)
	took = t.to.Deliver(t.values[:n]...)
	if took < 0 || took > n {
		return 0, &stage.Error{Stage: t.Stage.Name, Err: fmt.Errorf("Deliver returned %d for %d values", took, n)}
	}
	return took, nil
}

// tell tells the subscriber how the stream ended, unless it has cancelled. It returns the error of a subscriber that panics.
func (t *subscriberTail[T]) tell(end error) (err error) {
	if t.credit.over() || t.told {
		return nil
	}
	t.told = true
	defer t.Guard(&err)
	t.Begin()
	switch gone := t.W.Gone(); {
	case gone != nil:
		t.to.Fail(gone)
	case end == stage.ErrEnd:
		t.to.Complete()
	default:
		t.to.Fail(end)
	}
	return nil
}

func (t *subscriberTail[T]) leave() {
	t.GiveBack(len(t.values), t.tags)
	t.values, t.tags = nil, nil
	t.in.Leave()
	t.buf.abandon(t.W)
}
