package stagetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing/synctest"
	"time"
	"weak"

	"github.com/weir-go/weir/stage"
)

// errNoError is the end of a stream whose publisher called Fail with nil.
var errNoError = errors.New("Fail without an error")

// listener is the kit's side of a subscription. It keeps the account of what was requested and what came, and notes every call
// that the account does not allow.
type listener[T any] struct {
	*publisherKit[T]
	pub    stage.Publisher[T]
	handle weak.Pointer[subscriber[T]] // to what the publisher was given
	news   chan struct{}               // something has come

	// Set before the first request.
	inside func() // runs inside each Deliver
	dwell  int    // how often each call lets other goroutines run
	limit  int    // how many values it takes

	mu        sync.Mutex
	sub       stage.Subscription // nil where Subscribe failed
	asked     int64
	got       []T   // delivered, taken or not
	end       error // ErrEnd for Complete; nil while open
	running   int   // calls of the subscriber
	answering int   // calls of inside
	stopped   bool  // it has taken fewer than it was given
	cancelled bool  // Cancel has returned
}

// subscriber is what the publisher is given: only that one is to hold it.
type subscriber[T any] struct{ l *listener[T] }

func (s *subscriber[T]) Deliver(vs ...T) int { return s.l.deliver(vs) }

func (s *subscriber[T]) Complete() { s.l.finish("Complete", stage.ErrEnd) }

func (s *subscriber[T]) Fail(err error) {
	if err == nil {
		err = errNoError
	}
	s.l.finish("Fail", err)
}

// listen opens a publisher and subscribes to it.
func (k *publisherKit[T]) listen() *listener[T] { return k.listenTo(k.open(k.t)) }

func (k *publisherKit[T]) listenTo(pub stage.Publisher[T]) *listener[T] {
	k.t.Cleanup(func() { _ = closeTwice(pub) })
	l, err := k.subscribe(k.t.Context(), pub)
	if err != nil {
		k.log.addf("second", "the first Subscribe returned %v", err)
	}
	return l
}

// subscribe is the only place that holds what the publisher is given.
func (k *publisherKit[T]) subscribe(ctx context.Context, pub stage.Publisher[T]) (*listener[T], error) {
	l := &listener[T]{publisherKit: k, pub: pub, news: make(chan struct{}, 1), limit: math.MaxInt}
	if k.Endless {
		l.limit = len(k.Want)
	}
	to := &subscriber[T]{l}
	l.handle = weak.Make(to)
	var sub stage.Subscription
	o := call(func() (_ int, err error) {
		sub, err = pub.Subscribe(ctx, to)
		return 0, err
	})
	switch s := o.unexpected(); {
	case s != "":
		return l, fmt.Errorf("nothing: it %s", s)
	case o.err != nil:
		return l, o.err
	case sub == nil:
		return l, errors.New("no subscription and no error")
	}
	l.mu.Lock()
	l.sub = sub
	l.mu.Unlock()
	k.t.Cleanup(func() { callOf(sub, stage.Subscription.Cancel) })
	return l, nil
}

// request calls Request in a goroutine of its own.
func (l *listener[T]) request(n int64) { l.say(ruleOf(n), fmt.Sprintf("Request(%d)", n), l.ask(n)) }

// cancel calls Cancel in a goroutine of its own.
func (l *listener[T]) cancel() { l.say("U5", "Cancel", l.leave) }

// ruleOf returns the rule for how a request of n returns.
func ruleOf(n int64) string {
	if n < 1 {
		return "U4"
	}
	return "U5"
}

// ask enters a request in the account and returns the call that makes it.
func (l *listener[T]) ask(n int64) func(stage.Subscription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n > 0 && !l.cancelled {
		l.asked += min(n, math.MaxInt64-l.asked)
	}
	return func(sub stage.Subscription) { sub.Request(n) }
}

func (l *listener[T]) leave(sub stage.Subscription) {
	sub.Cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancelled = true
}

// say makes a call of the subscription and looks at how it went.
func (l *listener[T]) say(rule, what string, fn func(stage.Subscription)) {
	sub := l.subscription()
	if sub == nil {
		return
	}
	o := callOf(sub, fn)
	if s := o.unexpected(); s != "" {
		l.log.addf(rule, "%s %s", what, s)
	} else if o.took > prompt(l.Bubble) {
		l.log.addf(rule, "%s took %v", what, o.took)
	}
}

// callOf makes a call of sub in a goroutine of its own.
func callOf(sub stage.Subscription, fn func(stage.Subscription)) outcome {
	return call(func() (int, error) {
		fn(sub)
		return 0, nil
	})
}

// sayHere makes a call of the subscription in the goroutine that delivers.
func (l *listener[T]) sayHere(rule, what string, fn func(stage.Subscription)) {
	defer func() {
		if v := recover(); v != nil {
			l.log.addf(rule, "%s panicked inside Deliver: %v", what, v)
		}
	}()
	if sub := l.subscription(); sub != nil {
		fn(sub)
	}
}

func (l *listener[T]) requestHere(n int64) {
	l.sayHere(ruleOf(n), fmt.Sprintf("Request(%d)", n), l.ask(n))
}

func (l *listener[T]) cancelHere() { l.sayHere("U5", "Cancel", l.leave) }

func (l *listener[T]) subscription() stage.Subscription {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sub
}

// deliver takes what it may.
func (l *listener[T]) deliver(vs []T) int {
	l.enter("Deliver")
	defer l.exit()
	n := l.take(vs)
	l.linger()
	if l.inside != nil {
		l.answer(1)
		defer l.answer(-1)
		l.inside()
	}
	return n
}

// linger gives others the chance to call at the same time. It does not sleep: where a call waits for a mutex meanwhile, the time of a
// bubble stands still.
func (l *listener[T]) linger() {
	for range l.dwell {
		runtime.Gosched()
	}
}

func (l *listener[T]) answer(by int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answering += by
}

// finish notes the end.
func (l *listener[T]) finish(what string, end error) {
	l.enter(what)
	defer l.exit()
	l.linger()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.end != nil:
	case l.stopped:
		l.log.addf("U7", "%s was called although fewer values were taken than delivered", what)
	case l.cancelled:
		l.log.addf("U3", "%s was called behind Cancel", what)
	}
	l.end = end
}

// enter notes a call that comes at a wrong time.
func (l *listener[T]) enter(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.answering > 0:
		l.log.addf("U5", "%s was called while a call of Request or Cancel from inside Deliver runs: the stack grows", what)
	case l.running > 0:
		l.log.addf("U2", "%s was called while another call runs", what)
	}
	if l.end != nil {
		l.log.addf("U3", "%s was called behind the end (%v)", what, l.end)
	}
	l.running++
}

func (l *listener[T]) exit() {
	l.mu.Lock()
	l.running--
	l.mu.Unlock()
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// take enters values in the account, and returns how many of them are wanted.
func (l *listener[T]) take(vs []T) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch sum := int64(len(l.got) + len(vs)); {
	case l.stopped:
		l.log.addf("U7", "%d values were delivered behind a call that took fewer than it was given", len(vs))
	case sum > l.asked && l.cancelled:
		l.log.addf("U6", "%d values were delivered, requested were %d, and Cancel has returned", sum, l.asked)
	case sum > l.asked:
		l.log.addf("U1", "%d values were delivered, requested were %d", sum, l.asked)
	}
	for _, v := range vs {
		l.compare(len(l.got), v)
		l.got = append(l.got, v)
	}
	free := l.limit - (len(l.got) - len(vs))
	if free < len(vs) {
		l.stopped = true
	}
	return max(0, min(free, len(vs)))
}

func (l *listener[T]) compare(i int, v T) {
	switch {
	case i < len(l.Want) && !l.Equal(v, l.Want[i]):
		l.log.addf("U1", "value %d is %s, want %s", i, shown(v), shown(l.Want[i]))
	case i == len(l.Want) && !l.Endless:
		l.log.addf("U1", "value %d is %s, want only %d values", i, shown(v), i)
	}
}

// wantValues waits until n values have been delivered.
func (l *listener[T]) wantValues(n int) bool {
	got, end := l.await(func() bool { return len(l.got) >= n || l.over() })
	if got < n {
		l.log.addf("U1", "%d values were delivered, want %d; the stream has ended with %v", got, n, end)
	}
	return got >= n
}

// wantAll waits for all values, and for the end.
func (l *listener[T]) wantAll() {
	if l.wantValues(len(l.Want)) && !l.Endless {
		l.wantEnd()
	}
}

func (l *listener[T]) wantEnd() {
	switch got, end := l.await(l.over); {
	case end == nil:
		l.log.addf("U3", "the stream has not ended behind %d values", got)
	case !isFinal(end, l.final):
		l.log.addf("U3", "the stream ended with %v, want %v", end, l.final)
	}
}

// over reports whether the stream has ended. It wants the lock.
func (l *listener[T]) over() bool { return l.end != nil && l.running == 0 }

// await waits for what done reports, under the lock, but not for ever, and returns how many values have come, and the end.
func (l *listener[T]) await(done func() bool) (got int, end error) {
	limit := time.After(ending(l.Bubble))
	for waiting := true; ; {
		l.mu.Lock()
		got, end = len(l.got), l.end
		ok := done()
		l.mu.Unlock()
		if ok || !waiting {
			return got, end
		}
		select {
		case <-l.news:
		case <-limit:
			waiting = false
		}
	}
}

// quiet gives the publisher time for what it should not do.
func (k *publisherKit[T]) quiet() {
	if !k.Bubble {
		settle(false)
		return
	}
	time.Sleep(patience)
	synctest.Wait()
}
