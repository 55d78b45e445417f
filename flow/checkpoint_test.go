package flow_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// shelf is a checkpoint store in memory.
type shelf struct {
	delay   time.Duration
	loadErr error
	saving  func(position string) error

	mu       sync.Mutex
	position string
	saves    []string // with the time since the first one was made
	began    time.Time
	loads    int
}

func newShelf() *shelf { return &shelf{began: time.Now()} }

func (s *shelf) Load(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads++
	return s.position, s.loadErr
}

func (s *shelf) Save(ctx context.Context, position string) error {
	if s.delay > 0 {
		select {
		case <-time.After(s.delay):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if s.saving != nil {
		if err := s.saving(position); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.position = position
	s.saves = append(s.saves, fmt.Sprint(position, "@", time.Since(s.began)))
	return nil
}

func (s *shelf) at() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.position
}

// ledger opens a source of the numbers behind a position, below total. It closes, and counts what it has given.
type ledger struct {
	total  int
	stays  bool // waits behind the last one
	next   atomic.Int64
	opened []string
	closed int
}

func (s *ledger) open(_ context.Context, after string) (stage.Source[stage.At[int]], error) {
	s.opened = append(s.opened, after)
	s.next.Store(0)
	if after != "" {
		n, err := strconv.Atoi(after)
		if err != nil {
			return nil, err
		}
		s.next.Store(int64(n) + 1)
	}
	return s, nil
}

func (s *ledger) Pull(ctx context.Context, dst []stage.At[int]) (n int, err error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	for ; n < len(dst) && int(s.next.Load()) < s.total; n++ {
		v := int(s.next.Add(1)) - 1
		dst[n] = stage.At[int]{Value: v, Position: strconv.Itoa(v)}
	}
	if n > 0 {
		return n, nil
	}
	if s.stays {
		<-ctx.Done()
		return 0, context.Cause(ctx)
	}
	return 0, stage.ErrEnd
}

func (s *ledger) Close() error { s.closed++; return nil }

// box is a sink that keeps what it gets, and takes delay for a push.
type box struct {
	delay time.Duration
	bad   int // fails; 0: none does
	mu    sync.Mutex
	got   []int
}

var errBad = errors.New("bad item")

func (b *box) put(_ context.Context, v int) error {
	time.Sleep(b.delay)
	b.mu.Lock()
	defer b.mu.Unlock()
	if v == b.bad && b.bad > 0 {
		return errBad
	}
	b.got = append(b.got, v)
	return nil
}

func (b *box) contents() []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.got)
}

func TestCheckpointIsSavedOnceASecondAndAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, src, sink := newShelf(), &ledger{total: 33}, &box{delay: 110 * time.Millisecond}
		must(t, flow.OpenAt(src.open, flow.Checkpoint(store)).ForEach(sink.put).Run(t.Context()))
		equal(t, "the time it took", time.Since(store.began), 3630*time.Millisecond)
		equal(t, "saves", strings.Join(store.saves, " "), "0@110ms 9@1.11s 18@2.11s 27@3.11s 32@3.63s")
		equal(t, "closed", src.closed, 1)
	})
}

func TestTheNextRunStartsBehindTheCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, src, sink := newShelf(), &ledger{total: 10}, &box{}
		p := flow.OpenAt(src.open, flow.Checkpoint(store)).ForEach(sink.put)
		must(t, p.Run(t.Context()))
		src.total = 15
		must(t, p.Run(t.Context()))
		must(t, p.Run(t.Context()))
		equalSlices(t, "values", sink.contents(), ints(15))
		equalSlices(t, "positions opened", src.opened, []string{"", "9", "14"})
		if got := store.saves[len(store.saves)-1]; !strings.HasPrefix(got, "14@") { // how many there are is a matter of who runs first
			t.Fatalf("the last save is %s, want that of 14", got)
		}
	})
}

func TestAFailureHoldsThePosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, src, sink := newShelf(), &ledger{total: 100}, &box{delay: time.Millisecond, bad: 42}
		p := flow.OpenAt(src.open, flow.Checkpoint(store)).Buffer(10, flow.Block).ForEach(sink.put, flow.Name("sink"))
		err := p.Run(t.Context())
		wantError(t, err, errBad)
		wantStage(t, err, "sink")
		equal(t, "position", store.at(), "41")
		sink.bad = 0
		must(t, p.Run(t.Context()))
		equalSlices(t, "values", sink.contents(), ints(100))
	})
}

func TestAnEarlyEndGoesOnBehindTheLastValueTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, src, sink := newShelf(), &ledger{total: 100}, &box{}
		p := flow.OpenAt(src.open, flow.Checkpoint(store)).Buffer(16, flow.Block).Take(7).ForEach(sink.put)
		for range 15 {
			must(t, p.Run(t.Context()))
		}
		equalSlices(t, "values", sink.contents(), ints(100))
	})
}

func TestADrainLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, src, sink := newShelf(), &ledger{total: 100, stays: true}, &box{delay: 10 * time.Millisecond}
		p := flow.OpenAt(src.open, flow.Checkpoint(store)).Buffer(20, flow.Block).ForEach(sink.put)
		for _, d := range []time.Duration{75 * time.Millisecond, 305 * time.Millisecond, time.Hour} {
			r, err := p.Start(t.Context())
			must(t, err)
			time.Sleep(d)
			must(t, r.Drain(t.Context()))
			equal(t, "position", store.at(), strconv.Itoa(len(sink.contents())-1))
		}
		equalSlices(t, "values", sink.contents(), ints(100))
	})
}

func TestTheSourceWaitsForTheOldestItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, src := newShelf(), &ledger{total: 10_000}
		slow := func(_ context.Context, v int) (int, error) {
			if v == 0 {
				time.Sleep(time.Hour)
			}
			return v, nil
		}
		done := make(chan error)
		p := flow.OpenAt(src.open, flow.Checkpoint(store, flow.SettledAhead(500))).
			Parallel(2, slow, flow.Unordered).To(stage.Discard[int]())
		go func() { done <- p.Run(t.Context()) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		if inside, read := 4*256, int(src.next.Load()); read < 500 || read > 500+inside {
			t.Errorf("the source was read up to %d, want 500 and what is inside, %d at most", read, inside)
		}
		equal(t, "position", store.at(), "")
		must(t, <-done)
		equal(t, "position at the end", store.at(), "9999")
	})
}

func TestItemsMayWaitForMoreThanTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, src := newShelf(), &ledger{total: 2500}
		sizes := []int{}
		must(t, flow.OpenAt(src.open, flow.Checkpoint(store, flow.SettledAhead(1))).Batch(1000, 0).
			ForEach(func(_ context.Context, b []int) error { sizes = append(sizes, len(b)); return nil }).Run(t.Context()))
		equalSlices(t, "batches", sizes, []int{1000, 1000, 500})
		equal(t, "position", store.at(), "2499")
	})
}

func TestDroppedAndSkippedItemsAreSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, src, sink := newShelf(), &ledger{total: 200}, &box{delay: time.Second}
		fail := func(_ context.Context, v int) (int, error) {
			if v%2 == 1 {
				return 0, errBad
			}
			return v, nil
		}
		must(t, flow.OpenAt(src.open, flow.Checkpoint(store), flow.SettleDropped(flow.Term)).
			TryMap(fail, flow.OnError(flow.Skip)).Buffer(4, flow.DropNewest).ForEach(sink.put).Run(t.Context()))
		equal(t, "position", store.at(), "199")
		if n := len(sink.contents()); n == 0 || n > 50 {
			t.Errorf("%d values arrived of 200, want some, and most dropped", n)
		}
	})
}

func TestAnItemThatFailsByItselfStopsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, src := newShelf(), &ledger{total: 100_000}
		picky := stage.StageFunc[int, int](func(ctx context.Context, in *stage.In[int], out *stage.Out[int]) error {
			for {
				it, err := in.Next(ctx)
				if err != nil {
					return err
				}
				kept := in.Keep(it)
				time.Sleep(time.Millisecond)
				if it.Value == 7 {
					kept.Fail(errBad)
				}
				kept.Done()
			}
		})
		err := flow.OpenAt(src.open, flow.Checkpoint(store), flow.Name("source")).Via(picky).To(stage.Discard[int]()).Run(t.Context())
		wantError(t, err, errBad)
		wantStage(t, err, "source")
		equal(t, "position", store.at(), "6")
	})
}

func TestAFaultOfTheStoreStopsTheRun(t *testing.T) {
	broken := errors.New("disk full")
	tests := map[string]struct {
		saving func(string) error
		want   error
	}{
		"an error": {func(string) error { return broken }, broken},
		"a panic":  {func(string) error { panic(broken) }, broken},
		"a Goexit": {func(string) error { runtime.Goexit(); return nil }, stage.ErrGoexit},
	}
	for name, tt := range tests {
		inBubble(t, name+" while the source waits", func(t *testing.T) {
			store, src := newShelf(), &ledger{total: 10, stays: true}
			store.saving, store.delay = tt.saving, 300*time.Millisecond
			err := flow.OpenAt(src.open, flow.Checkpoint(store), flow.Name("source")).To(stage.Discard[int]()).Run(t.Context())
			wantError(t, err, tt.want)
			wantStage(t, err, "source")
			equal(t, "the time it took", time.Since(store.began), 300*time.Millisecond)
		})
		inBubble(t, name+" at the end", func(t *testing.T) {
			store, src, sink := newShelf(), &ledger{total: 5}, &box{delay: 100 * time.Millisecond}
			store.saving = func(position string) error {
				if position == "4" {
					return tt.saving(position)
				}
				return nil
			}
			err := flow.OpenAt(src.open, flow.Checkpoint(store), flow.Name("source")).ForEach(sink.put).Run(t.Context())
			wantError(t, err, tt.want)
			wantStage(t, err, "source")
			equal(t, "position", store.at(), "0")
		})
	}
}

func TestTheLastSaveIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, src := newShelf(), &ledger{total: 5}
		store.delay = time.Hour
		err := flow.OpenAt(src.open, flow.Checkpoint(store), flow.Name("source")).To(stage.Discard[int]()).Run(t.Context())
		wantStage(t, err, "source")
		if want := "not done 10s after the end of the run"; !strings.Contains(err.Error(), want) {
			t.Errorf("got error %q, want %q in it", err, want)
		}
		equal(t, "the time it took", time.Since(store.began), 10*time.Second)
	})
}

func TestASlowStoreDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, src, sink := newShelf(), &ledger{total: 100}, &box{delay: 10 * time.Millisecond}
		store.delay = 5 * time.Second
		var last time.Duration
		must(t, flow.OpenAt(src.open, flow.Checkpoint(store)).ForEach(func(ctx context.Context, v int) error {
			last = time.Since(store.began)
			return sink.put(ctx, v)
		}).Run(t.Context()))
		equal(t, "the last item came after", last, 990*time.Millisecond)
		equal(t, "position", store.at(), "99")
	})
}

func TestAKillAtAnyMomentLosesNothing(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			const total = 2000
			luck := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // no secret
			work := func(_ context.Context, v int) (int, error) {
				time.Sleep(time.Duration((v*7919+int(seed))%37) * time.Millisecond)
				return v, nil
			}
			seen, position := make([]int, total), ""
			for run := 0; ; run++ {
				store, src, sink := newShelf(), &ledger{total: total}, &box{delay: time.Millisecond}
				store.position = position
				ctx, kill := context.WithCancel(t.Context())
				r, err := flow.OpenAt(src.open, flow.Checkpoint(store, flow.SaveEvery(50*time.Millisecond))).
					Parallel(5, work, flow.Unordered).ForEach(sink.put).Start(ctx)
				must(t, err)
				select {
				case <-r.Done():
				case <-time.After(time.Duration(luck.IntN(2000)) * time.Millisecond):
				}
				position = store.at() // what a process leaves behind that is gone now
				for _, v := range sink.contents() {
					seen[v]++
				}
				kill()
				_ = r.Wait() // nothing of its end counts, unless it had ended
				checkSaved(t, seen, position)
				if position == strconv.Itoa(total-1) {
					return
				}
				if run > 100 {
					t.Fatalf("after %d runs the position is %q", run, position)
				}
			}
		})
	}
}

// checkSaved checks that everything up to a position has arrived.
func checkSaved(t *testing.T, seen []int, position string) {
	t.Helper()
	if position == "" {
		return
	}
	n, err := strconv.Atoi(position)
	must(t, err)
	if lost := slices.Index(seen[:n+1], 0); lost >= 0 {
		t.Fatalf("position %d is saved, but %d has not arrived", n, lost)
	}
}

func TestMistakesOfOpenAt(t *testing.T) {
	src, store := &ledger{total: 1}, newShelf()
	var none *shelf
	tests := map[string]struct {
		flow flow.Flow[int]
		want string
	}{
		"no open":         {flow.OpenAt[int](nil, flow.Checkpoint(store)), "open must not be nil"},
		"no store":        {flow.OpenAt(src.open, flow.Checkpoint(nil)), "Checkpoint: store must not be nil"},
		"no store at all": {flow.OpenAt(src.open, flow.Checkpointing{}), "Checkpoint: store must not be nil"},
		"a nil pointer":   {flow.OpenAt(src.open, flow.Checkpoint(none)), "Checkpoint: store must not be nil"},
		"SaveEvery -1":    {flow.OpenAt(src.open, flow.Checkpoint(store, flow.SaveEvery(-1))), "SaveEvery must be >= 0, got -1ns"},
		"SettledAhead 0":  {flow.OpenAt(src.open, flow.Checkpoint(store, flow.SettledAhead(0))), "SettledAhead must be >= 1, got 0"},
		"Nak":             {flow.OpenAt(src.open, flow.Checkpoint(store), flow.SettleDropped(flow.Nak(0))), "Nak wants the item again"},
		"no settlement":   {flow.OpenAt(src.open, flow.Checkpoint(store)).Buffer(1, flow.DropOldest), "SettleDropped"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := tt.flow.To(stage.Discard[int]()).Check()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Check() = %v, want %q in it", err, tt.want)
			}
		})
	}
	equal(t, "opened while checking", len(src.opened), 0)
	equal(t, "loaded while checking", store.loads, 0)
	_, err := flow.OpenAt(src.open, flow.Checkpoint(store)).Collect(t.Context(), 10)
	if err == nil || !strings.Contains(err.Error(), "before their result is safe") {
		t.Errorf("Collect() = %v, want it refused", err)
	}
}

func TestWhatCannotStart(t *testing.T) {
	broken := errors.New("no such table")
	good := &ledger{total: 1}
	tests := map[string]struct {
		store *shelf
		open  func(context.Context, string) (stage.Source[stage.At[int]], error)
		want  string
	}{
		"Load fails": {&shelf{loadErr: broken}, good.open, "load the checkpoint: no such table"},
		"open fails": {&shelf{position: "x"}, good.open, `parsing "x"`},
		"no source": {
			newShelf(), func(context.Context, string) (stage.Source[stage.At[int]], error) { return nil, nil },
			"no source and no error",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := flow.OpenAt(tt.open, flow.Checkpoint(tt.store), flow.Name("source")).To(stage.Discard[int]()).Start(t.Context())
			if err == nil || !strings.Contains(err.Error(), "flow: source") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Start() = %v, want an error of source with %q", err, tt.want)
			}
			if tt.store.loadErr != nil {
				wantError(t, err, tt.store.loadErr)
			}
		})
	}
	equal(t, "closed", good.closed, 0)
}

// An item of OpenAt against one of a source that has claims, too, but no position.
func BenchmarkOpenAt(b *testing.B) {
	none := stage.Settler(nobody{})
	benchTurns(b, "claims", func() error {
		next := 0
		src := stage.ItemSourceFunc[int](func(_ context.Context, dst []stage.Item[int]) (int, error) {
			n := min(len(dst), benchItems-next)
			if n == 0 {
				return 0, stage.ErrEnd
			}
			for i := range n {
				dst[i] = stage.Claimed(next, stage.Meta{}, none, 0)
				next++
			}
			return n, nil
		})
		return flow.FromItems(src).To(stage.Discard[int]()).Run(context.Background())
	})
	benchTurns(b, "positions", func() error {
		next := 0
		open := func(context.Context, string) (stage.Source[stage.At[int]], error) {
			return stage.SourceFunc(func(_ context.Context, dst []stage.At[int]) (int, error) {
				n := min(len(dst), benchItems-next)
				if n == 0 {
					return 0, stage.ErrEnd
				}
				for i := range n {
					dst[i] = stage.At[int]{Value: next, Position: "somewhere"}
					next++
				}
				return n, nil
			}), nil
		}
		return flow.OpenAt(open, flow.Checkpoint(newShelf())).To(stage.Discard[int]()).Run(context.Background())
	})
}

type nobody struct{}

func (nobody) Settle(uint64, stage.Outcome) {}
