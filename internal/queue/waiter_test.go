package queue_test

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// token is a value that knows who put it, and as its how many-th.
type token struct{ producer, seq int }

// line is four producers and four consumers on one queue.
type line struct {
	q        *queue.Queue[token]
	each     int // values of one producer
	mu       sync.Mutex
	dropped  []token
	consumed [4][]token
	accepted [4]int // by Put: taken over, dropped ones included
}

// produce puts values in chunks of changing size; from time to time it gives up, and goes on with what is left.
func (l *line) produce(t *testing.T, p int) {
	t.Helper()
	defer l.q.CloseProducer()
	w, rng := queue.NewWaiter(), rand.New(rand.NewPCG(uint64(p), 1))
	over := make(chan struct{})
	close(over)
	var chunk []token
	for next := 0; next < l.each; {
		chunk = chunk[:0]
		for i := next; i < min(l.each, next+1+rng.IntN(7)); i++ {
			chunk = append(chunk, token{p, i})
		}
		var done chan struct{}
		if rng.IntN(3) == 0 {
			done = over // whether it still gets in is open
		}
		n, err := l.q.Put(w, chunk, nil, done)
		next += n
		switch {
		case err == nil || err == queue.ErrGaveUp:
		case isFull(err):
			runtime.Gosched() // let the consumers at it
		default:
			t.Errorf("Put() = %v, want nil, ErrGaveUp or a *FullError", err)
			return
		}
	}
	l.accepted[p] = l.each
}

// consume takes chunks of changing size until the end, giving up from time to time.
func (l *line) consume(t *testing.T, c int) {
	t.Helper()
	w, rng := queue.NewWaiter(), rand.New(rand.NewPCG(uint64(c), 2))
	over := make(chan time.Time)
	close(over)
	dst := make([]token, 9)
	for {
		var timeout chan time.Time
		if rng.IntN(3) == 0 {
			timeout = over
		}
		n, err := l.q.Take(w, dst[:1+rng.IntN(9)], nil, timeout)
		l.consumed[c] = append(l.consumed[c], dst[:n]...)
		if err == stage.ErrEnd {
			return
		}
		if err != nil && !errors.Is(err, queue.ErrTimeout) {
			t.Errorf("Take() = %v, want nil, ErrTimeout or ErrEnd", err)
			return
		}
	}
}

// check looks for what was lost, was there twice, or overtook another value of its producer.
func (l *line) check(t *testing.T) {
	t.Helper()
	seen := make(map[token]bool)
	for c, got := range l.consumed {
		last := [4]int{-1, -1, -1, -1}
		for _, v := range got {
			if seen[v] {
				t.Fatalf("%v came twice", v)
			}
			if seen[v] = true; v.seq <= last[v.producer] {
				t.Fatalf("consumer %d got %v after number %d", c, v, last[v.producer])
			}
			last[v.producer] = v.seq
		}
	}
	out := len(seen)
	for _, v := range l.dropped {
		if seen[v] {
			t.Fatalf("%v was dropped, and more", v)
		}
		seen[v] = true
	}
	st := l.q.Stats()
	if want := int64(4 * l.each); st.In != want || st.Out != int64(out) || st.Depth != 0 || st.Out+sum(st.Dropped) != want {
		t.Errorf("In, Out, Dropped, Depth = %d, %d, %v, %d, want %d in all, and %d out", st.In, st.Out, st.Dropped, st.Depth, want, out)
	}
	if l.q.Config().Dropped != nil && len(seen) != 4*l.each {
		t.Errorf("%d values were taken or dropped, want %d", len(seen), 4*l.each)
	}
	if l.q.Config().OnFull == queue.Block && l.q.Config().MaxWait == 0 && out != 4*l.each {
		t.Errorf("%d values were taken, want all %d", out, 4*l.each)
	}
}

func TestFourProducersAndFourConsumers(t *testing.T) {
	each := 4000
	if raceEnabled {
		each = 1000
	}
	for _, c := range []struct {
		name string
		cfg  queue.Config[token]
	}{
		{"block", queue.Config[token]{}},
		{"block, fair", queue.Config[token]{Fair: true}},
		{"block by weight", queue.Config[token]{MaxWeight: 20}},
		{"block with a time limit", queue.Config[token]{MaxWait: 20 * time.Microsecond}},
		{"drop newest", queue.Config[token]{OnFull: queue.DropNewest}},
		{"drop oldest", queue.Config[token]{OnFull: queue.DropOldest}},
		{"drop oldest by weight", queue.Config[token]{OnFull: queue.DropOldest, MaxWeight: 20}},
		{"reject", queue.Config[token]{OnFull: queue.Reject}},
	} {
		for _, capacity := range []int{1, 3, 64} {
			for _, hook := range []bool{false, true} {
				l := &line{each: each}
				cfg := c.cfg
				cfg.Capacity = capacity
				cfg.Weight = func(v token) int64 { return int64(v.seq % 23) }
				if hook {
					cfg.Dropped = func(v token, _ *queue.Tag, _ queue.Reason) {
						l.mu.Lock()
						l.dropped = append(l.dropped, v)
						l.mu.Unlock()
					}
				}
				l.q = queue.New(cfg)
				t.Run(c.name, func(t *testing.T) {
					var wg sync.WaitGroup
					for i := range 4 {
						l.q.AddProducer()
						l.q.AddConsumer()
						defer l.q.Leave(nil)
						wg.Go(func() { l.consume(t, i) })
					}
					for i := range 4 {
						wg.Go(func() { l.produce(t, i) })
					}
					wg.Wait()
					l.check(t)
				})
			}
		}
	}
}

// A consumer that gives up in the very moment in which it is woken takes the item or passes the signal on.
func TestAConsumerThatGivesUpPassesTheSignalOn(t *testing.T) {
	late := 0
	for range 1000 {
		synctest.Test(t, func(t *testing.T) {
			q, in, first := open(queue.Config[int]{Capacity: 9})
			took := make(chan int, 2)
			take := func(w *queue.Waiter, timeout <-chan time.Time) {
				n, _ := q.Take(w, make([]int, 1), nil, timeout)
				took <- n
			}
			go take(first, time.After(time.Second))
			synctest.Wait()
			go take(queue.NewWaiter(), nil)
			time.AfterFunc(time.Second, func() { mustPut(t, q, in, 1) })
			time.Sleep(2 * time.Second)
			got := 0
			for range len(took) {
				got += <-took
			}
			if got != 1 || q.Stats().Depth != 0 {
				t.Fatalf("%d consumers got the item, %d wait, want 1, 0", got, q.Stats().Depth)
			}
			if q.Stats().Starved == 2*time.Second {
				late++ // the second one is still parked: the first has got it
			}
			q.Abort(errAbort)
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("in %d of 1000 rounds the one that was about to give up got the item", late)
}

// The same for a producer.
func TestAProducerThatGivesUpPassesTheSignalOn(t *testing.T) {
	gaveUp := 0
	for range 1000 {
		synctest.Test(t, func(t *testing.T) {
			q, first, out := open(queue.Config[int]{Capacity: 1})
			mustPut(t, q, first, 0)
			done := make(chan struct{})
			put := make(chan error, 2)
			go func() {
				_, err := q.Put(first, []int{1}, nil, done)
				put <- err
			}()
			synctest.Wait()
			go func() {
				_, err := q.Put(queue.NewWaiter(), []int{2}, nil, nil)
				put <- err
			}()
			time.AfterFunc(time.Second, func() { close(done) })
			time.AfterFunc(time.Second, func() { mustTake(t, q, out, 1) })
			time.Sleep(2 * time.Second)
			if st := q.Stats(); st.Depth != 1 {
				t.Fatalf("%d items wait, want 1: a producer was waiting and there is room", st.Depth)
			}
			if <-put == queue.ErrGaveUp {
				gaveUp++
			}
			q.Abort(errAbort)
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("in %d of 1000 rounds the first one gave up", gaveUp)
}

// T27: ends that race with each other and with everything else are taken once, and nobody is left waiting.
func TestEndsThatRace(t *testing.T) {
	for range 1000 {
		synctest.Test(t, func(t *testing.T) {
			q, in, out := open(queue.Config[int]{Capacity: 1})
			var wg sync.WaitGroup
			for _, do := range []func(){
				func() { _, _ = q.Put(in, []int{1, 2, 3}, nil, nil) },
				func() { _, _ = q.Take(out, make([]int, 1), nil, time.After(time.Second)) },
				q.CloseProducer,
				func() { q.Leave(errLeft) },
				func() { q.Abort(errAbort) },
				func() { q.Abort(errAbort) },
				func() { _ = q.Offer(4, nil) },
			} {
				wg.Go(do)
			}
			wg.Wait() // a deadlock of the bubble if one of them waits for ever
			if st := q.Stats(); st.In != st.Out+int64(st.Depth) {
				t.Fatalf("In, Out, Depth = %d, %d, %d, want In = Out + Depth", st.In, st.Out, st.Depth)
			}
		})
	}
}
