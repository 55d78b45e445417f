package stagetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-go/weir/stage"
)

// press is a publisher that keeps the rules: each of its subscriptions gets the values, in the goroutine that requests or, where
// it is asynchronous, in one of its own.
type press struct {
	values []int
	err    error // nil: Complete
	once   bool  // it serves one subscription
	async  bool
	chunk  int // the most values in a call
	shut   bool
	alter  alteration

	mu   sync.Mutex
	subs []*order
}

func (p *press) Subscribe(ctx context.Context, to stage.Subscriber[int]) (stage.Subscription, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.once && len(p.subs) > 0 {
		return nil, errBoom
	}
	o := &order{press: p, to: to, rest: p.values, end: p.err, shut: p.shut, add: saturating}
	p.subs = append(p.subs, o)
	sub := &line{order: o, ctx: ctx, request: o.Request, cancel: o.Cancel}
	if p.alter != nil {
		p.alter(sub)
	}
	o.work(func() {})
	return sub, nil
}

// open makes the values of all subscriptions available.
func (p *press) open() {
	for _, o := range p.subs {
		o.work(func() { o.shut = false })
	}
}

func saturating(asked, n int64) int64 { return asked + min(n, math.MaxInt64-asked) }

// order is a subscription of a press.
type order struct {
	*press
	mu    sync.Mutex
	to    stage.Subscriber[int] // nil when it is over
	rest  []int
	end   error
	bad   error // of a request
	asked int64
	shut  bool
	busy  bool // somebody delivers
	naive bool // it delivers whoever else does

	add func(asked, n int64) int64
}

func (o *order) Request(n int64) {
	o.work(func() {
		if n < 1 {
			o.bad = fmt.Errorf("asked for %d", n)
			return
		}
		o.asked = o.add(o.asked, n)
	})
}

func (o *order) Cancel() { o.work(func() { o.to = nil }) }

// work makes a change and then every call that is due, unless somebody is about it.
func (o *order) work(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if change(); o.busy && !o.naive {
		return
	}
	o.busy = true
	if o.async {
		go o.calls()
		return
	}
	o.callsLocked()
}

func (o *order) calls() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.callsLocked()
}

func (o *order) callsLocked() {
	for call := o.next(); call != nil; call = o.next() {
		o.mu.Unlock()
		call()
		o.mu.Lock()
	}
	o.busy = false
}

// next returns the call that is due, if any.
func (o *order) next() func() {
	to, bad := o.to, o.bad
	switch {
	case to == nil:
		return nil
	case bad != nil:
		o.to = nil
		return func() { to.Fail(bad) }
	case o.shut:
		return nil
	case len(o.rest) == 0:
		o.to = nil
		if o.end != nil {
			return func() { to.Fail(o.end) }
		}
		return to.Complete
	case o.asked < 1:
		return nil
	}
	n := int(min(o.asked, int64(len(o.rest)), int64(max(o.chunk, 1))))
	vs := o.rest[:n]
	o.rest = o.rest[n:]
	if o.asked != math.MaxInt64 {
		o.asked -= int64(n)
	}
	return func() {
		if to.Deliver(vs...) < n {
			o.Cancel()
		}
	}
}

// line is what a press and its subscriber hear of each other: the twins change it.
type line struct {
	*order
	ctx     context.Context // of Subscribe
	request func(n int64)
	cancel  func()
}

func (l *line) Request(n int64) { l.request(n) }

func (l *line) Cancel() { l.cancel() }

type alteration func(l *line)

// ears is a subscriber that hears something else than what was said.
type ears struct {
	stage.Subscriber[int]
	deliver  func(vs ...int) int
	complete func()
	fail     func(err error)
}

func (e ears) Deliver(vs ...int) int {
	if e.deliver != nil {
		return e.deliver(vs...)
	}
	return e.Subscriber.Deliver(vs...)
}

func (e ears) Complete() {
	if e.complete != nil {
		e.complete()
		return
	}
	e.Subscriber.Complete()
}

func (e ears) Fail(err error) {
	if e.fail != nil {
		e.fail(err)
		return
	}
	e.Subscriber.Fail(err)
}

type publisherTwin struct {
	rule, breaks string
	in           string // whose check finds it, if not that of the rule
	opts         PublisherOptions[int]
	press        *press
	alter        alteration
}

func prints(values ...int) *press { return &press{values: values} }

var publisherTwins = []publisherTwin{
	{rule: "U1", breaks: "delivers one more", alter: func(l *line) { l.request = func(n int64) { l.order.Request(n + 1) } }},
	{rule: "U1", breaks: "swaps values", press: prints(2, 1, 3, 4, 5, 6, 7, 8, 9)},
	{rule: "U1", breaks: "delivers a value twice", press: prints(1, 1, 2, 3, 4, 5, 6, 7, 8, 9)},
	{rule: "U1", breaks: "ends early", press: prints(1, 2, 3, 4, 5)},
	{rule: "U1", breaks: "invents a value", press: prints(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)},
	{rule: "U1", breaks: "remembers the last request only", alter: func(l *line) {
		l.add = func(_, n int64) int64 { return n }
	}},
	{rule: "U1", breaks: "overflows", alter: func(l *line) {
		l.add = func(asked, n int64) int64 { return asked + n }
	}},
	{rule: "U1", breaks: "takes the largest number for a mistake", alter: func(l *line) {
		l.request = func(n int64) {
			if n == math.MaxInt64 {
				n = -1
			}
			l.order.Request(n)
		}
	}},
	{rule: "U1", breaks: "forgets what was requested before there were values", alter: func(l *line) {
		l.request = func(n int64) {
			if !l.shut {
				l.order.Request(n)
			}
		}
	}},
	{rule: "U1", breaks: "loses requests that come at once", alter: func(l *line) {
		l.request = func(n int64) {
			l.mu.Lock()
			asked := l.asked
			l.mu.Unlock()
			time.Sleep(time.Millisecond) // in which the others look as well
			l.work(func() { l.asked = saturating(asked, n) })
		}
	}},
	{rule: "U2", breaks: "delivers from whatever goroutine requests", alter: func(l *line) {
		l.naive = true
		to := l.to
		l.to = ears{Subscriber: to, deliver: func(vs ...int) int {
			time.Sleep(time.Millisecond) // in which the others get here, too
			return to.Deliver(vs...)
		}}
	}},
	{rule: "U2", breaks: "completes while the last value is delivered", alter: func(l *line) {
		to := l.to
		l.to = ears{complete: func() {}, deliver: func(vs ...int) int {
			if vs[0] < 9 {
				return to.Deliver(vs...)
			}
			var wg sync.WaitGroup
			wg.Go(func() { to.Deliver(vs...) })
			wg.Go(to.Complete)
			wg.Wait()
			return 1
		}}
	}},
	{rule: "U3", breaks: "ends when asked for more", alter: func(l *line) {
		to, ended := l.to, false
		l.to = ears{Subscriber: to, complete: func() { ended = true }}
		l.request = func(n int64) {
			if l.order.Request(n); ended {
				to.Complete()
			}
		}
	}},
	{rule: "U3", breaks: "ends twice", alter: func(l *line) {
		to := l.to
		l.to = ears{Subscriber: to, complete: func() { to.Complete(); to.Complete() }}
	}},
	{rule: "U3", breaks: "fails, then completes", press: &press{err: errBoom}, opts: PublisherOptions[int]{Err: errBoom}, alter: func(l *line) {
		to := l.to
		l.to = ears{Subscriber: to, fail: func(err error) { to.Fail(err); to.Complete() }}
	}},
	{rule: "U3", breaks: "delivers behind the end", alter: func(l *line) {
		to := l.to
		l.to = ears{Subscriber: to, complete: func() { to.Complete(); to.Deliver(10) }}
	}},
	{rule: "U3", breaks: "never ends", alter: func(l *line) { l.to = ears{Subscriber: l.to, complete: func() {}} }},
	{rule: "U3", breaks: "completes instead of failing", opts: PublisherOptions[int]{Err: errBoom}},
	{rule: "U3", breaks: "fails instead of completing", press: &press{err: errBoom}},
	{rule: "U3", breaks: "answers a request behind the end", alter: func(l *line) {
		to, ended := l.to, false
		l.to = ears{Subscriber: to, complete: func() { ended = true; to.Complete() }}
		l.request = func(n int64) {
			if ended {
				to.Complete()
				return
			}
			l.order.Request(n)
		}
	}},
	{rule: "U3", in: "U6", breaks: "completes behind Cancel", alter: func(l *line) {
		cancelled := false
		to := l.to
		l.cancel = func() { cancelled = true }
		l.request = func(n int64) {
			if cancelled {
				to.Complete()
				return
			}
			l.order.Request(n)
		}
	}},
	{rule: "U3", in: "U6", breaks: "refuses a request behind Cancel", alter: func(l *line) {
		to := l.to
		l.request = func(n int64) {
			if n < 1 {
				to.Fail(errBoom)
				return
			}
			l.order.Request(n)
		}
	}},
	{rule: "U4", breaks: "panics", alter: badRequest(func(*line) { panic(errBoom) })},
	{rule: "U4", breaks: "says nothing", alter: badRequest(func(*line) {})},
	{rule: "U4", breaks: "takes it for Cancel", alter: badRequest(func(l *line) { l.order.Cancel() })},
	{rule: "U4", breaks: "completes", alter: badRequest(func(l *line) {
		l.work(func() { l.rest = nil })
	})},
	{rule: "U4", breaks: "fails without an error", alter: func(l *line) {
		to := l.to
		l.to = ears{Subscriber: to, fail: func(error) { to.Fail(nil) }}
	}},
	{rule: "U4", breaks: "says so at the next request", alter: func(l *line) {
		late := false
		l.request = func(n int64) {
			if late {
				n = -1
			}
			if late = n < 1; !late {
				l.order.Request(n)
			}
		}
	}},
	{rule: "U5", breaks: "delivers inside a delivery", alter: func(l *line) { l.naive = true }},
	{rule: "U5", breaks: "holds a lock while it delivers", alter: func(l *line) {
		lock := make(chan struct{}, 1)
		l.request = func(n int64) {
			select {
			case lock <- struct{}{}:
				l.order.Request(n)
				<-lock
			case <-time.After(time.Second):
			}
		}
	}},
	{rule: "U5", breaks: "waits in Request", alter: func(l *line) {
		l.request = func(n int64) { time.Sleep(time.Second); l.order.Request(n) }
	}},
	{rule: "U5", breaks: "waits in Cancel", alter: func(l *line) {
		l.cancel = func() { time.Sleep(time.Second); l.order.Cancel() }
	}},
	{rule: "U5", breaks: "has room for 64 requests", alter: func(l *line) {
		room := make(chan struct{}, 64)
		l.request = func(n int64) {
			select {
			case room <- struct{}{}:
				l.order.Request(n)
			case <-time.After(time.Second):
			}
		}
	}},
	{rule: "U5", breaks: "panics at the second Cancel", alter: func(l *line) {
		gone := make(chan struct{})
		l.cancel = func() { close(gone); l.order.Cancel() }
	}},
	{rule: "U5", breaks: "belongs to a goroutine", alter: func(l *line) {
		owner := goroutine()
		l.request = func(n int64) {
			if goroutine() != owner {
				panic("not the goroutine that subscribed")
			}
			l.order.Request(n)
		}
	}},
	{rule: "U6", breaks: "does not hear Cancel", alter: func(l *line) { l.cancel = func() {} }},
	{rule: "U6", breaks: "delivers what is left at Cancel", alter: func(l *line) {
		to := l.to
		var more sync.Once
		l.cancel = func() {
			l.order.Cancel()
			time.AfterFunc(time.Second, func() { more.Do(func() { to.Deliver(l.rest...) }) })
		}
	}},
	{rule: "U6", breaks: "holds on to the subscriber", alter: func(l *line) {
		to := l.to
		l.cancel = func() { l.order.Cancel(); runtime.KeepAlive(to) }
	}},
	{rule: "U7", breaks: "goes on with the next value", alter: func(l *line) {
		to := l.to
		l.to = ears{Subscriber: to, deliver: func(vs ...int) int { to.Deliver(vs...); return len(vs) }}
	}},
	{rule: "U7", breaks: "completes as if it had been the end", alter: func(l *line) {
		to := l.to
		l.to = ears{Subscriber: to, deliver: func(vs ...int) int {
			n := to.Deliver(vs...)
			if n < len(vs) {
				to.Complete()
			}
			return n
		}}
	}},
	{rule: "second", breaks: "refuses it although it serves many", press: &press{once: true}},
	{rule: "second", breaks: "accepts it although it serves one", opts: PublisherOptions[int]{Once: true}},
	{rule: "U1", in: "second", breaks: "gives it the place of the first", alter: func(l *line) {
		for _, o := range l.subs[:len(l.subs)-1] {
			o.Cancel()
		}
	}},
	{rule: "ctx", breaks: "ends with the context of Subscribe", alter: func(l *line) { context.AfterFunc(l.ctx, l.order.Cancel) }},
}

// badRequest does something else for a request of less than one.
func badRequest(do func(l *line)) alteration {
	return func(l *line) {
		l.request = func(n int64) {
			if n < 1 {
				do(l)
				return
			}
			l.order.Request(n)
		}
	}
}

// opens returns a function that opens presses like p, and options that do.
func (p *press) opens(o PublisherOptions[int]) (PublisherOptions[int], func(*testing.T) stage.Publisher[int]) {
	fresh := func(values []int, shut bool) *press {
		return &press{values: values, err: p.err, once: p.once, async: p.async, chunk: p.chunk, shut: shut, alter: p.alter}
	}
	o.Want = numbers
	o.Waiting = func(*testing.T) (stage.Publisher[int], func()) {
		p := fresh(p.values, true)
		return p, p.open
	}
	o.Empty = func(*testing.T) stage.Publisher[int] { return fresh(nil, false) }
	return o, func(*testing.T) stage.Publisher[int] { return fresh(p.values, false) }
}

// checks are those of the kit for the twin.
func (tw publisherTwin) checks() []check {
	p := cmp.Or(tw.press, new(press))
	if p.alter = tw.alter; p.values == nil {
		p.values = numbers
	}
	opts, open := p.opens(tw.opts)
	opts.Bubble = true
	return newPublisherKit(opts, open).checks()
}

// Each twin is caught, and each check catches one.
func TestPublisherTwinsAreCaught(t *testing.T) {
	catches := make(map[string]bool)
	for _, twin := range publisherTwins {
		t.Run(twin.rule+" "+twin.breaks, func(t *testing.T) {
			var errs []error
			for _, c := range twin.checks() {
				found := findingsOf(t, []check{c}, cmp.Or(twin.in, twin.rule))
				found = slices.DeleteFunc(found, func(err error) bool { return !strings.Contains(err.Error(), rules[twin.rule]) })
				errs = append(errs, found...)
				catches[c.rule+" "+c.name] = catches[c.rule+" "+c.name] || len(found) > 0
			}
			wantFinding(t, errs, twin.rule)
		})
	}
	for name, one := range catches {
		if !one {
			t.Errorf("the check %q catches no twin", name)
		}
	}
}

func TestAHealthyPublisherHasNoFindings(t *testing.T) {
	for name, p := range map[string]*press{
		"value by value":         {},
		"several values a call":  {chunk: 4},
		"in its own goroutine":   {chunk: 4, async: true},
		"fails":                  {err: errBoom},
		"serves one":             {once: true},
		"fails, in its own, one": {err: errBoom, async: true, once: true},
	} {
		for _, bubble := range []bool{true, false} {
			if !bubble && p.chunk == 0 {
				continue // one with real clocks, which are slow, is enough
			}
			t.Run(fmt.Sprintf("%s, bubble %t", name, bubble), func(t *testing.T) {
				p.values = numbers
				opts, open := p.opens(PublisherOptions[int]{Err: p.err, Once: p.once, Bubble: bubble})
				TestPublisher(t, opts, open)
			})
		}
	}
}

func TestAnEndlessPublisherIsAskedForItsValuesOnly(t *testing.T) {
	many := make([]int, 1000)
	for i := range many {
		many[i] = i + 1
	}
	p := &press{values: many, chunk: 4}
	opts, open := p.opens(PublisherOptions[int]{Endless: true, Bubble: true})
	TestPublisher(t, opts, open)
}

func TestAPublisherWithoutASubscriptionIsCaught(t *testing.T) {
	for name, err := range map[string]error{"an error": errBoom, "neither subscription nor error": nil} {
		t.Run(name, func(t *testing.T) {
			open := func(*testing.T) stage.Publisher[int] {
				return stage.PublisherFunc(func(context.Context, stage.Subscriber[int]) (stage.Subscription, error) { return nil, err })
			}
			kit := newPublisherKit(PublisherOptions[int]{Want: numbers, Bubble: true}, open)
			wantFinding(t, findingsOf(t, kit.checks(), "second"), "second")
		})
	}
}

func TestBreachesAreFewEnoughToRead(t *testing.T) {
	var b breaches
	for i := range 2 * mostBreaches {
		b.addf("U1", "breach %d", i)
	}
	if errs := b.found(); len(errs) != mostBreaches || errors.Is(errs[0], errBoom) || !strings.HasPrefix(errs[0].Error(), "breach 0") {
		t.Fatalf("%d findings, the first %v, want %d from the first on", len(errs), errs[0], mostBreaches)
	}
}
