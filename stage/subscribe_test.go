package stage_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/stage"
	"github.com/weir-go/weir/stage/stagetest"
)

// counter is a publisher of 0, 1, ... that delivers within Request, each value alone.
type counter struct {
	total     int   // then it ends
	err       error // how; nil: by Complete
	requested int64
	requests  []int64
	delivered int
	cancels   int
	to        stage.Subscriber[int]
}

func (c *counter) Subscribe(_ context.Context, to stage.Subscriber[int]) (stage.Subscription, error) {
	if c.to != nil {
		return nil, errors.New("it serves one subscription")
	}
	c.to = to
	return c, nil
}

func (c *counter) Request(n int64) {
	c.requests = append(c.requests, n)
	c.requested += n
	for ; n > 0 && c.to != nil && c.delivered < c.total; n-- {
		if c.to.Deliver(c.delivered) == 0 {
			c.Cancel()
			return
		}
		c.delivered++
	}
	if c.to == nil || c.delivered < c.total {
		return
	}
	if c.err != nil {
		c.to.Fail(c.err)
	} else {
		c.to.Complete()
	}
	c.to = nil
}

func (c *counter) Cancel() {
	c.cancels++
	c.to = nil
}

// byHand is a publisher that a test drives itself.
type byHand struct {
	to       stage.Subscriber[int]
	requests chan int64
	cancels  chan struct{}
}

func newByHand() *byHand {
	return &byHand{requests: make(chan int64, 100), cancels: make(chan struct{}, 100)}
}

func (p *byHand) Subscribe(_ context.Context, to stage.Subscriber[int]) (stage.Subscription, error) {
	p.to = to
	return p, nil
}

func (p *byHand) Request(n int64) { p.requests <- n }

func (p *byHand) Cancel() { p.cancels <- struct{}{} }

func TestSubscribeConforms(t *testing.T) {
	for name, final := range map[string]error{"that completes": stage.ErrEnd, "that fails": errBoom} {
		t.Run(name, func(t *testing.T) {
			var c *counter
			fails := final
			if final == stage.ErrEnd {
				fails = nil
			}
			stagetest.TestSource(t, stagetest.SourceOptions[int]{
				Want: oneToNine, Err: final, Bubble: true, Prefetch: 3,
				Outside: func() int { return c.delivered },
				Waiting: func(*testing.T) (stage.Source[int], func()) {
					p := newByHand()
					return stage.Subscribe(p, 9), func() {
						p.to.Deliver(oneToNine...)
						if fails != nil {
							p.to.Fail(fails)
						} else {
							p.to.Complete()
						}
					}
				},
				Trickle: func(*testing.T) stage.Source[int] {
					return stage.Subscribe(stage.PublisherFunc(func(_ context.Context, to stage.Subscriber[int]) (stage.Subscription, error) {
						return requesting(func(int64) {
							if to != nil {
								to.Deliver(1)
								to = nil
							}
						}), nil
					}), 0)
				},
				Panics: func(*testing.T) stage.Source[int] {
					return stage.Subscribe(stage.PublisherFunc(func(_ context.Context, to stage.Subscriber[int]) (stage.Subscription, error) {
						return requesting(func(int64) {
							to.Deliver(1)
							panic(errBoom)
						}), nil
					}), 0)
				},
			}, func(*testing.T) stage.Source[int] {
				c = &counter{total: 9, err: fails}
				return stage.Subscribe(stage.PublisherFunc(func(ctx context.Context, to stage.Subscriber[int]) (stage.Subscription, error) {
					return c.Subscribe(ctx, fromOne{to})
				}), 3)
			})
		})
	}
}

// fromOne adds one to what is delivered.
type fromOne struct{ stage.Subscriber[int] }

func (f fromOne) Deliver(vs ...int) int { return f.Subscriber.Deliver(vs[0] + 1) }

// requesting is a subscription of which only Request matters.
type requesting func(n int64)

func (fn requesting) Request(n int64) { fn(n) }

func (requesting) Cancel() {}

// A window is asked for, and then as much again whenever half of it has been handed out.
func TestSubscribeAsksInBatches(t *testing.T) {
	c := &counter{total: 1000}
	src := stage.Subscribe(c, 0)
	for range 97 {
		mustPull[int](t, src)
	}
	if want := []int64{64, 32, 32, 32}; !slices.Equal(c.requests, want) {
		t.Fatalf("requests %v after 97 values, want %v", c.requests, want)
	}
	closePart(t, src)
	if c.cancels != 1 {
		t.Fatalf("cancelled %d times, want once", c.cancels)
	}
}

func TestSubscribeTakesNoMoreThanItAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newByHand()
		src := stage.Subscribe(p, 2)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := pullErr[int](ctx, t, src); !errors.Is(err, context.Canceled) || p.to != nil {
			t.Fatalf("Pull() = %v, subscribed %v, want no subscription with a context that is done", err, p.to != nil)
		}
		go func() {
			<-p.requests
			if got := p.to.Deliver(1, 2, 3, 4); got != 2 {
				t.Errorf("Deliver took %d of 4 values for a demand of 2, want 2", got)
			}
			if got := p.to.Deliver(5); got != 0 {
				t.Errorf("Deliver took %d behind the end, want none", got)
			}
		}()
		got, err := pullAll[int](t, src, 1)
		if !slices.Equal(got, []int{1, 2}) || err == stage.ErrEnd || !strings.Contains(err.Error(), "U1") {
			t.Fatalf("handed out %v, then %v, want [1 2] and an error about rule U1", got, err)
		}
		if len(p.cancels) != 1 {
			t.Fatalf("cancelled %d times, want once", len(p.cancels))
		}
	})
}

func TestSubscribeCancelEndsBehindWhatWasDelivered(t *testing.T) {
	p := newByHand()
	src := stage.Subscribe(p, 8)
	go func() {
		<-p.requests
		p.to.Deliver(1, 2, 3)
	}()
	if got := mustPull[int](t, src); got != 1 {
		t.Fatalf("Pull() = %d, want 1", got)
	}
	src.Cancel()
	src.Cancel()
	if got := p.to.Deliver(4); got != 0 {
		t.Fatalf("Deliver took %d values behind Cancel, want none", got)
	}
	wantAll[int](t, src, []int{2, 3}, stage.ErrEnd)
	closePart(t, src)
	if len(p.cancels) != 1 || len(p.requests) != 0 {
		t.Fatalf("%d cancels and %d more requests, want one and none", len(p.cancels), len(p.requests))
	}
}

func TestSubscribeCancelWakesPull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newByHand()
		src := stage.Subscribe(p, 8)
		time.AfterFunc(time.Minute, src.Cancel)
		began := time.Now()
		if err := pullErr[int](t.Context(), t, src); err != stage.ErrEnd || time.Since(began) != time.Minute {
			t.Fatalf("Pull() = %v after %v, want ErrEnd after 1m0s", err, time.Since(began))
		}
	})
}

// A Cancel that comes while Subscribe runs is not lost.
func TestSubscribeCancelDuringSubscribe(t *testing.T) {
	p := newByHand()
	var src *stage.Subscribed[int]
	src = stage.Subscribe(stage.PublisherFunc(func(ctx context.Context, to stage.Subscriber[int]) (stage.Subscription, error) {
		src.Cancel()
		return p.Subscribe(ctx, to)
	}), 8)
	wantAll[int](t, src, nil, stage.ErrEnd)
	if len(p.cancels) != 1 || len(p.requests) != 0 {
		t.Fatalf("%d cancels and %d requests, want one and none", len(p.cancels), len(p.requests))
	}
}

func TestSubscribeErrors(t *testing.T) {
	subscribe := func(sub stage.Subscription, err error) stage.Publisher[int] {
		return stage.PublisherFunc(func(context.Context, stage.Subscriber[int]) (stage.Subscription, error) { return sub, err })
	}
	failing := func(err error) stage.Publisher[int] { return &counter{err: err} }
	tests := []struct {
		name string
		src  stage.Source[int]
		want string
	}{
		{"no publisher", stage.Subscribe[int](nil, 1), "publisher must not be nil"},
		{"negative window", stage.Subscribe[int](newByHand(), -1), "window must be 0 to 2147483647, got -1"},
		{"Subscribe fails", stage.Subscribe(subscribe(nil, errBoom), 1), errBoom.Error()},
		{"Subscribe has no stream", stage.Subscribe(subscribe(nil, stage.ErrEnd), 1), "the publisher failed"},
		{"Subscribe returns nothing", stage.Subscribe(subscribe(nil, nil), 1), "no subscription and no error"},
		{"Fail", stage.Subscribe(failing(errBoom), 1), errBoom.Error()},
		{"Fail with an end", stage.Subscribe(failing(stage.ErrEnd), 1), "the publisher failed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := pullErr(t.Context(), t, tt.src)
			if err == stage.ErrEnd || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("Pull() = %v, want an error with %q", err, tt.want)
			}
			if again := pullErr(t.Context(), t, tt.src); !errors.Is(again, err) {
				t.Fatalf("the second Pull() = %v, want %v again", again, err)
			}
			closePart(t, tt.src)
		})
	}
}

func TestSubscribeTriesAgainWhereItsContextEnded(t *testing.T) {
	p, calls := newByHand(), 0
	ctx, cancel := context.WithCancel(t.Context())
	src := stage.Subscribe(stage.PublisherFunc(func(ctx context.Context, to stage.Subscriber[int]) (stage.Subscription, error) {
		if calls++; calls == 1 {
			cancel() // while it subscribes
			<-ctx.Done()
			return nil, ctx.Err()
		}
		to.Complete()
		return p, nil
	}), 1)
	if err := pullErr[int](ctx, t, src); !errors.Is(err, context.Canceled) {
		t.Fatalf("Pull() = %v, want %v", err, context.Canceled)
	}
	wantAll[int](t, src, nil, stage.ErrEnd)
}

// A publisher that delivers within Request does not make the stack grow, whatever the window.
func TestSubscribeOfASynchronousPublisherNeedsNoStack(t *testing.T) {
	const total = 1_000_000
	for _, window := range []int{1, 64} {
		c := &counter{total: total}
		deepest := 0
		src := stage.Subscribe(stage.PublisherFunc(func(ctx context.Context, to stage.Subscriber[int]) (stage.Subscription, error) {
			return c.Subscribe(ctx, deep{to, &deepest})
		}), window)
		n, dst := 0, make([]int, 256)
		for {
			k, err := src.Pull(t.Context(), dst)
			for i, v := range dst[:k] {
				if v != n+i {
					t.Fatalf("value %d is %d", n+i, v)
				}
			}
			if n += k; err != nil {
				break
			}
		}
		if n != total || deepest > 30 {
			t.Fatalf("window %d: %d values, %d frames deep, want %d and at most 30", window, n, deepest, total)
		}
	}
}

// deep looks now and then how deep the stack is.
type deep struct {
	stage.Subscriber[int]
	deepest *int
}

func (d deep) Deliver(vs ...int) int {
	if vs[0]%1000 == 0 {
		*d.deepest = max(*d.deepest, runtime.Callers(0, make([]uintptr, 1000)))
	}
	return d.Subscriber.Deliver(vs...)
}

// The laws of demand, under any order of deliveries and pulls: granted = delivered + outstanding, held + outstanding <= window,
// and values come in order, each once.
func TestSubscribeKeepsTheLawsOfDemand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := rapid.IntRange(1, 9).Draw(t, "window")
		p := newByHand()
		src := stage.Subscribe(p, window)
		var granted int64
		delivered, handed := 0, 0
		over := false
		pull := func(n int) {
			ctx := context.Background()
			if p.to == nil || handed == delivered && !over {
				ctx = &soonDone{Context: context.Background()}
			}
			dst := make([]int, n)
			k, err := src.Pull(ctx, dst)
			if k == 0 && err == nil || k > 0 && err != nil {
				t.Fatalf("Pull() = %d, %v, want one of both", k, err)
			}
			for _, v := range dst[:k] {
				if v != handed {
					t.Fatalf("value %d is %d", handed, v)
				}
				handed++
			}
			for len(p.requests) > 0 {
				granted += <-p.requests
			}
		}
		pull(1)
		t.Repeat(map[string]func(*rapid.T){
			"pull": func(t *rapid.T) { pull(rapid.IntRange(1, 2*window).Draw(t, "demand")) },
			"deliver": func(t *rapid.T) {
				n := rapid.IntRange(0, int(granted)-delivered).Draw(t, "values")
				vs := make([]int, n)
				for i := range vs {
					vs[i] = delivered + i
				}
				got, want := p.to.Deliver(vs...), n
				if over {
					want = 0
				}
				if got != want {
					t.Fatalf("Deliver took %d of %d values, want %d", got, n, want)
				}
				delivered += got
			},
			"end": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "end") == 0 {
					p.to.Complete()
					over = true
				}
			},
			"": func(t *rapid.T) {
				if int(granted)-handed > window || delivered > int(granted) {
					t.Fatalf("granted %d, delivered %d, handed out %d, window %d", granted, delivered, handed, window)
				}
			},
		})
		pull(window)
		if half := (window + 1) / 2; !over && int(granted)-handed < window-2*half {
			t.Fatalf("granted %d, handed out %d, want more requested with a window of %d", granted, handed, window)
		}
	})
}

// soonDone is a context that is done when it is waited for, and not before.
type soonDone struct {
	context.Context
	asked bool
}

func (*soonDone) Done() <-chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}

func (c *soonDone) Err() error {
	if c.asked {
		return context.Canceled
	}
	c.asked = true
	return nil
}

// Publishers that deliver from several goroutines are told the same, and nothing is lost or taken twice.
func TestSubscribeStress(t *testing.T) {
	const publishers, each = 8, 2000
	credits := make(chan struct{}, 1<<16)
	gone := make(chan struct{})
	var wg sync.WaitGroup
	src := stage.Subscribe(stage.PublisherFunc(func(_ context.Context, to stage.Subscriber[int]) (stage.Subscription, error) {
		for i := range publishers {
			wg.Go(func() {
				for k := range each {
					select {
					case <-credits:
					case <-gone:
						return
					}
					if to.Deliver(i*each+k) != 1 {
						t.Errorf("a value within the demand was not taken")
					}
				}
			})
		}
		wg.Go(func() {
			<-gone
			to.Complete()
		})
		return requesting(func(n int64) {
			for range n {
				credits <- struct{}{}
			}
		}), nil
	}), 100)
	seen := map[int]bool{}
	for len(seen) < publishers*each {
		seen[mustPull[int](t, src)] = true
	}
	close(gone)
	wantAll[int](t, src, nil, stage.ErrEnd)
	wg.Wait()
	if n := int64(len(credits)); n > 100 || n < 0 || n == math.MaxInt64 {
		t.Fatalf("%d requested values were never delivered, want at most the window", n)
	}
}

func ExampleSubscribe() {
	// A publisher that has its values at hand, and delivers them within Request.
	letters := stage.PublisherFunc(func(_ context.Context, to stage.Subscriber[string]) (stage.Subscription, error) {
		left := []string{"a", "b", "c"}
		return requesting(func(n int64) {
			fmt.Println("asked for", n)
			k := to.Deliver(left[:min(n, int64(len(left)))]...)
			if left = left[k:]; len(left) == 0 {
				to.Complete()
			}
		}), nil
	})
	printAll[string](stage.Subscribe(letters, 2))
	// Output:
	// asked for 2
	// a
	// b
	// asked for 2
	// c
	// stage: end of stream
}
