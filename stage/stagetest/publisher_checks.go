package stagetest

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/weir-go/weir/stage"
)

const goroutines = 8

// noMore requests bit by bit.
func (k *publisherKit[T]) noMore() {
	for _, size := range []int{1, 2, 7} {
		l := k.listen()
		for asked := size; ; asked += size {
			l.request(int64(size))
			if !l.wantValues(min(asked, len(k.Want))) || asked >= len(k.Want) {
				break
			}
			if asked == size {
				k.quiet()
			}
		}
	}
}

// additive requests where the publisher can't have answered before the last request: inside the first delivery.
func (k *publisherKit[T]) additive() {
	l := k.listen()
	l.inside = once(func() {
		for range len(k.Want) - 1 {
			l.requestHere(1)
		}
	})
	l.request(1)
	l.wantValues(len(k.Want))
}

// once returns a function that does what fn does the first time. It is for calls that come one after another.
func once(fn func()) func() {
	done := false
	return func() {
		if !done {
			done = true
			fn()
		}
	}
}

func (k *publisherKit[T]) additiveWaiting() {
	k.whileWaiting(func(l *listener[T]) {
		for range len(k.Want) {
			l.request(1)
		}
	}).wantValues(len(k.Want))
}

// whileWaiting lets fn use a subscription before there are values.
func (k *publisherKit[T]) whileWaiting(fn func(l *listener[T])) *listener[T] {
	pub, release := k.Waiting(k.t)
	l := k.listenTo(pub)
	fn(l)
	settle(k.Bubble)
	release()
	return l
}

func (k *publisherKit[T]) saturating() {
	for _, last := range []int64{1, math.MaxInt64} {
		l := k.listen()
		l.inside = once(func() {
			l.requestHere(math.MaxInt64)
			l.requestHere(math.MaxInt64)
			l.requestHere(last)
		})
		l.request(1)
		l.wantAll()
	}
}

func (k *publisherKit[T]) saturatingWaiting() {
	k.whileWaiting(func(l *listener[T]) {
		l.request(math.MaxInt64)
		l.request(1)
		l.request(math.MaxInt64)
	}).wantAll()
}

// crowd requests from eight goroutines: everything, and then just as much as there is.
func (k *publisherKit[T]) crowd() {
	const requests = 10
	l := k.listen()
	each(func(i int) {
		for j := range requests {
			l.request([]int64{1, math.MaxInt64}[(i+j)%2])
		}
	})
	l.wantAll()

	few := k.listen()
	few.dwell = requests
	each(func(i int) {
		for asked := i; asked < len(k.Want)-1; asked += goroutines {
			few.request(1)
		}
	})
	few.wantValues(len(k.Want) - 1)
	k.quiet()
}

// each calls fn in eight goroutines and waits for them.
func each(fn func(i int)) {
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() { fn(i) })
	}
	wg.Wait()
}

// serial lets every delivery take a while, in which others may request.
func (k *publisherKit[T]) serial() {
	const rounds, dwell = 5, 50
	for range rounds {
		l := k.listen()
		l.dwell = dwell
		each(func(i int) {
			for asked := i; asked < len(k.Want); asked += goroutines {
				l.request(1)
			}
		})
		if !l.wantValues(len(k.Want)) {
			return
		}
	}
}

func (k *publisherKit[T]) ending() {
	l := k.listen()
	l.request(int64(len(k.Want)))
	l.wantAll()
}

func (k *publisherKit[T]) endingEmpty() { k.listenTo(k.Empty(k.t)).wantEnd() }

func (k *publisherKit[T]) behindTheEnd() {
	l := k.listen()
	l.request(math.MaxInt64)
	l.wantAll()
	l.request(1)
	l.request(0)
	l.cancel()
	l.request(math.MaxInt64)
	k.quiet()
}

// badRequest requests less than one: at first, between values, and inside a delivery.
func (k *publisherKit[T]) badRequest() {
	for _, n := range []int64{0, -1, math.MinInt64} {
		l := k.listen()
		l.request(n)
		l.wantRefused(n)

		l = k.listen()
		if l.request(1); l.wantValues(1) {
			l.request(n)
			l.wantRefused(n)
		}

		l = k.listen()
		l.inside = once(func() { l.requestHere(n) })
		l.request(1)
		l.wantRefused(n)
	}
}

// wantRefused waits for what a bad request comes to, and requests more behind it.
func (l *listener[T]) wantRefused(n int64) {
	switch _, end := l.await(l.over); {
	case end == nil:
		l.log.addf("U4", "Request(%d) was not reported", n)
	case end == stage.ErrEnd:
		l.log.addf("U4", "behind Request(%d) the stream ended by Complete", n)
	case errors.Is(end, errNoError):
		l.log.addf("U4", "behind Request(%d) came %v", n, end)
	}
	l.request(int64(len(l.Want)))
	settle(l.Bubble)
}

func (k *publisherKit[T]) requestInside() {
	l := k.listen()
	l.inside = func() { l.requestHere(1) }
	l.request(1)
	l.wantAll()
}

// promptCalls makes many calls although there is nothing to deliver.
func (k *publisherKit[T]) promptCalls() {
	k.whileWaiting(func(l *listener[T]) {
		for range 100 {
			l.request(1)
		}
		for range 3 {
			l.cancel()
		}
	})
	k.quiet()
}

// anyGoroutine cancels from all goroutines, some of which still request. It leaves values over, so that no end is due: one that
// is on its way may arrive behind Cancel.
func (k *publisherKit[T]) anyGoroutine() {
	for range 5 {
		l := k.listen()
		l.dwell = 10
		each(func(i int) {
			for asked := i; asked < len(k.Want)-1; asked += goroutines {
				l.request(1)
			}
			for range 3 {
				l.cancel()
			}
		})
		k.quiet()
	}
}

// behindCancel cancels before and behind the first value, and goes on as if nothing had been.
func (k *publisherKit[T]) behindCancel() {
	for first := range int64(2) {
		l := k.listen()
		if first > 0 {
			if l.request(first); !l.wantValues(1) {
				return
			}
		}
		for range 3 {
			l.cancel()
		}
		l.request(1)
		l.request(-1)
		l.request(math.MaxInt64)
		l.cancel()
		k.quiet()
	}
}

func (k *publisherKit[T]) cancelInside() {
	for _, n := range []int64{1, 2, math.MaxInt64} {
		l := k.listen()
		l.inside = once(func() {
			l.cancelHere()
			l.cancelHere()
			l.requestHere(1)
			l.requestHere(0)
		})
		if l.request(n); !l.wantValues(1) {
			return
		}
		k.quiet()
	}
}

func (k *publisherKit[T]) cancelWaiting() {
	k.whileWaiting(func(l *listener[T]) {
		l.request(2)
		l.cancel()
		l.request(1)
	})
	k.quiet()
}

func (k *publisherKit[T]) forgetting() {
	l := k.listen()
	l.request(1)
	if !l.wantValues(1) {
		return
	}
	l.cancel()
	l.wantForgotten("Cancel")

	l = k.listen()
	l.inside = once(l.cancelHere)
	l.request(2)
	_, _ = l.await(func() bool { return l.cancelled && l.running == 0 })
	l.wantForgotten("Cancel inside Deliver")
}

// wantForgotten waits until nobody but the kit holds on to the subscription.
func (l *listener[T]) wantForgotten(behind string) {
	const tries = 20
	for range tries {
		runtime.GC()
		if l.handle.Value() == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if l.handle.Value() != nil {
		l.log.addf("U6", "the subscriber can still be reached behind %s", behind)
	}
	runtime.KeepAlive(l) // and with it the publisher and the subscription
}

// takingFewer takes one value only, and a part of what comes with the second.
func (k *publisherKit[T]) takingFewer() {
	for _, n := range []int64{2, math.MaxInt64} {
		l := k.listen()
		l.limit = 1
		if l.request(n); !l.wantValues(2) {
			return
		}
		l.request(1)
		k.quiet()
	}
}

// second subscribes twice.
func (k *publisherKit[T]) second() {
	first := k.listen()
	first.request(1)
	if !first.wantValues(1) {
		return
	}
	other, err := k.subscribe(k.t.Context(), first.pub)
	switch {
	case k.Once && err == nil:
		k.log.addf("second", "the publisher serves one subscription only, and has accepted a second one")
	case !k.Once && err != nil:
		k.log.addf("second", "the publisher serves many subscriptions, and the second Subscribe returned %v", err)
	case err == nil:
		other.request(math.MaxInt64)
		other.wantAll()
	}
	k.quiet()
	first.request(math.MaxInt64)
	first.wantAll()
}

func (k *publisherKit[T]) contextEnds() {
	pub := k.open(k.t)
	k.t.Cleanup(func() { _ = closeTwice(pub) })
	ctx, cancel := context.WithCancelCause(k.t.Context())
	l, err := k.subscribe(ctx, pub)
	if cancel(errCause); err != nil {
		k.log.addf("ctx", "Subscribe returned %v", err)
		return
	}
	k.quiet()
	l.request(math.MaxInt64)
	want := len(k.Want)
	if got, end := l.await(func() bool { return len(l.got) >= want || l.over() }); got < want {
		k.log.addf("ctx", "%d values were delivered, want %d, and the stream has ended with %v", got, want, end)
	}
}
