package flow_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// flaky is what functions fail with: for messages 5, 12 and 19 as often as they are asked.
func flaky(_ context.Context, i int) (int, error) {
	if i%7 == 5 && i < 20 {
		return 0, errA
	}
	return i, nil
}

var flakyOnes = []int{5, 12, 19}

// Redeliver fails the item and goes on, in every operator that decides.
func TestRedeliverGoesOn(t *testing.T) {
	again := flow.OnError(flow.Redeliver)
	each := func(ctx context.Context, i int) error { _, err := flaky(ctx, i); return err }
	push := stage.SinkFunc(func(ctx context.Context, vs []int) error { // knows only that it has failed
		for _, v := range vs {
			if err := each(ctx, v); err != nil {
				return err
			}
		}
		return nil
	})
	partly := func(ctx context.Context, vs []int) error {
		var bad stage.BatchError
		for i, v := range vs {
			bad.Add(i, each(ctx, v))
		}
		return bad.OrNil()
	}
	items := stage.ItemSinkFunc(func(ctx context.Context, its []stage.Item[int]) error {
		var bad stage.BatchError
		for i, it := range its {
			bad.Add(i, each(ctx, it.Value))
		}
		return bad.OrNil()
	})
	name := flow.Name("decides")
	for what, build := range map[string]func(f flow.Flow[int]) flow.Pipeline{
		"TryMap":              func(f flow.Flow[int]) flow.Pipeline { return discard(f.TryMap(flaky, again, name)) },
		"an ordered Parallel": func(f flow.Flow[int]) flow.Pipeline { return discard(f.Parallel(3, flaky, again, name)) },
		"an unordered Parallel": func(f flow.Flow[int]) flow.Pipeline {
			return discard(f.Parallel(3, flaky, again, name, flow.Unordered))
		},
		"ParallelByKey": func(f flow.Flow[int]) flow.Pipeline { return discard(f.ParallelByKey(3, twice, flaky, again, name)) },
		"Expand": func(f flow.Flow[int]) flow.Pipeline {
			return discard(f.Expand(func(ctx context.Context, i int, emit func(int) error) error {
				if err := emit(i); err != nil {
					return err
				}
				return each(ctx, i)
			}, again, name))
		},
		"ForEach":              func(f flow.Flow[int]) flow.Pipeline { return f.ForEach(each, again, name) },
		"ForEach with workers": func(f flow.Flow[int]) flow.Pipeline { return f.ForEach(each, again, name, flow.Workers(3)) },
		"ForEachBatch":         func(f flow.Flow[int]) flow.Pipeline { return f.ForEachBatch(10, 0, partly, again, name) },
		"a push in part": func(f flow.Flow[int]) flow.Pipeline {
			return f.To(stage.SinkFunc(partly), flow.Gather(10, 0), again, name)
		},
		"a push as a whole":   func(f flow.Flow[int]) flow.Pipeline { return f.To(push, flow.Gather(10, 0), again, name) },
		"items in part":       func(f flow.Flow[int]) flow.Pipeline { return f.ToItems(items, flow.Gather(10, 0), again, name) },
		"elements of a batch": func(f flow.Flow[int]) flow.Pipeline { return f.Batch(10, 0).ForEach(partly, again, name) },
		"a panic": func(f flow.Flow[int]) flow.Pipeline {
			return f.ForEach(func(ctx context.Context, i int) error {
				if err := each(ctx, i); err != nil {
					panic(err)
				}
				return nil
			}, again, name)
		},
		"a Goexit": func(f flow.Flow[int]) flow.Pipeline {
			return f.ForEach(func(ctx context.Context, i int) error {
				if each(ctx, i) != nil {
					troubles()[3].do()
				}
				return nil
			}, again, name)
		},
	} {
		inBubble(t, what, func(t *testing.T) {
			b := newBroker(50)
			r := start(t, build(flow.FromItems(b)))
			must(t, r.Wait())
			b.once(t)
			equalSlices(t, "failed", b.kind(stage.Failed), flakyOnes)
			equal(t, "done", len(b.kind(stage.Done)), 47)
			for _, i := range flakyOnes {
				o := b.outcome(t, i)
				wantStage(t, o.Err, "decides")
				if o.GivenBack || o.Delay != 0 || !errors.Is(o.Err, errA) && !errors.Is(o.Err, stage.ErrGoexit) {
					t.Errorf("message %d ended as %+v, want failed with its error and no delay", i, o)
				}
			}
			equal(t, "failed in the report", r.Report().Failed, 3)
			equal(t, "failed in the stage", stageStats(t, r, "decides").Failed, 3)
			equal(t, "skipped", r.Report().Skipped, 0)
		})
	}
}

// An ordered Parallel frees the ticket of an item that comes again, and Retry and If stand in front of Redeliver as they do in front of
// Skip.
func TestRedeliverAmongOtherDecisions(t *testing.T) {
	inBubble(t, "the order of what survives", func(t *testing.T) {
		b := newBroker(200)
		got := newSeen[int]()
		must(t, flow.FromItems(b).Parallel(4, func(ctx context.Context, i int) (int, error) {
			if err := nap(ctx, time.Duration(i*7919%13)*time.Millisecond); err != nil {
				return 0, err
			}
			if i%3 == 0 {
				return 0, errA
			}
			return i, nil
		}, flow.OnError(flow.Redeliver)).ForEach(got.each).Run(t.Context()))
		equalSlices(t, "items", got.values(), slices.DeleteFunc(ints(200), func(i int) bool { return i%3 == 0 }))
		b.once(t)
	})
	inBubble(t, "behind Retry", func(t *testing.T) {
		b := newBroker(6)
		began := time.Now()
		must(t, discard(flow.FromItems(b).TryMap(flaky, flow.OnError(flow.Retry(3, every(time.Second)), flow.Redeliver))).Run(t.Context()))
		equal(t, "time", time.Since(began), 3*time.Second)
		equalSlices(t, "failed", b.kind(stage.Failed), []int{5})
	})
	inBubble(t, "a push that is retried whole first", func(t *testing.T) {
		b := newBroker(8)
		sink := &pushLog{answer: func(vs []int) error {
			if slices.Contains(vs, 5) {
				return errA
			}
			return nil
		}}
		must(t, flow.FromItems(b).To(sink, flow.Gather(8, 0), flow.OnError(flow.Retry(1, every(time.Second)), flow.Redeliver)).Run(t.Context()))
		equalSlices(t, "pushes", sink.sizes, []int{8, 8, 4, 4, 2, 1, 1, 1, 2})
		equalSlices(t, "failed", b.kind(stage.Failed), []int{5})
	})
	inBubble(t, "for some errors", func(t *testing.T) {
		b := newBroker(20)
		isB := func(err error) bool { return errors.Is(err, errB) }
		fn := func(_ context.Context, i int) (int, error) {
			switch i {
			case 3:
				return 0, errB
			case 4:
				return 0, errA
			}
			return i, nil
		}
		must(t, discard(flow.FromItems(b).TryMap(fn, flow.OnError(flow.If(isB, flow.Redeliver), flow.Skip))).Run(t.Context()))
		equalSlices(t, "failed", b.kind(stage.Failed), []int{3})
	})
	inBubble(t, "one element of a batch stops, another one comes again", func(t *testing.T) {
		b := newBroker(4)
		isB := func(err error) bool { return errors.Is(err, errB) }
		err := flow.FromItems(b).Batch(4, 0).ForEach(func(context.Context, []int) error {
			return &stage.BatchError{Items: []stage.ItemError{{Index: 0, Err: errB}, {Index: 2, Err: errA}}}
		}, flow.OnError(flow.If(isB, flow.Redeliver))).Run(t.Context())
		wantError(t, err, errA)
		b.once(t)
		equalSlices(t, "failed", b.kind(stage.Failed), []int{0, 2})
		wantError(t, b.outcome(t, 0).Err, errB)
	})
}

// What a message has become elsewhere is finished, and the worst share decides: the message comes again.
func TestRedeliverOfOnePartFailsTheMessage(t *testing.T) {
	for name, build := range map[string]func(f flow.Flow[int], got *seen[int]) flow.Pipeline{
		"one of two branches": func(f flow.Flow[int], got *seen[int]) flow.Pipeline {
			bs := f.Broadcast(2)
			return flow.Join(discard(bs[0].TryMap(flaky, flow.OnError(flow.Redeliver))), bs[1].ForEach(got.each))
		},
		"what was emitted before": func(f flow.Flow[int], got *seen[int]) flow.Pipeline {
			return f.Expand(func(ctx context.Context, i int, emit func(int) error) error {
				if err := emit(i); err != nil {
					return err
				}
				_, err := flaky(ctx, i)
				return err
			}, flow.OnError(flow.Redeliver)).ForEach(got.each)
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			b := newBroker(20)
			got := newSeen[int]()
			must(t, build(flow.FromItems(b), got).Run(t.Context()))
			equal(t, "values elsewhere", len(got.values()), 20)
			b.once(t)
			equalSlices(t, "failed", b.kind(stage.Failed), flakyOnes)
		})
	}
}

// redelivering is a broker that delivers a message again when it has failed, until it is done.
type redelivering struct {
	mu      sync.Mutex
	waiting []int
	open    int
	news    chan struct{}
}

func newRedelivering(total int) *redelivering {
	return &redelivering{open: total, waiting: ints(total), news: make(chan struct{}, 1)}
}

func (r *redelivering) PullItems(ctx context.Context, dst []stage.Item[int]) (int, error) {
	for {
		r.mu.Lock()
		n := min(len(dst), len(r.waiting))
		for i, v := range r.waiting[:n] {
			dst[i] = stage.Claimed(v, stage.Meta{}, r, uint64(v))
		}
		r.waiting = r.waiting[n:]
		open := r.open
		r.mu.Unlock()
		switch {
		case n > 0:
			return n, nil
		case open == 0:
			return 0, stage.ErrEnd
		}
		select {
		case <-r.news:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// Settle implements stage.Settler.
func (r *redelivering) Settle(token uint64, o stage.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o.Kind == stage.Done {
		r.open--
	} else {
		r.waiting = append(r.waiting, int(token))
	}
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// In the end every message is processed, each as often as it takes, in the same run.
func TestRedeliveredMessagesAreProcessedInTheEnd(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		var mu sync.Mutex
		tries := map[int]int{}
		r := start(t, discard(flow.FromItems(newRedelivering(100)).Parallel(4, func(_ context.Context, i int) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			if tries[i]++; tries[i] <= i%4 {
				return 0, errA
			}
			return i, nil
		}, flow.OnError(flow.Redeliver), flow.Name("try"))))
		must(t, r.Wait())
		for i, n := range tries {
			equal(t, "tries", n, i%4+1)
		}
		equal(t, "failed", r.Report().Failed, 150)
		equal(t, "done", r.Report().Done, 100)
		equal(t, "sum", sum(r.Report()), stageStats(t, r, "from#1").Out)
	})
}

// Where a message that fails would be lost, and where to deliver it again would repeat an effect, Redeliver is a build error.
func TestRedeliverWhereNothingComesAgain(t *testing.T) {
	again := flow.OnError(flow.Redeliver)
	src := func() flow.Flow[int] { return flow.FromItems(newBroker(1)) }
	effect := func(f flow.Flow[int]) flow.Flow[int] { return f.TryMap(same, flow.Name("charge"), flow.NonIdempotent) }
	plain := func() flow.Flow[int] { return flow.FromSlice(ints(1)) }
	tried := func(f flow.Flow[int]) flow.Pipeline { return discard(f.TryMap(same, again)) }
	hub := flow.NewBroadcastHub[int](1, 9)
	member, _ := attach(t, hub, flow.Edge[int]{Capacity: 9})
	const lost, repeated = "Redeliver needs a source whose messages can come again", "would repeat the effect"
	for name, c := range map[string]struct {
		p    flow.Pipeline
		want string // "": it is accepted
	}{
		"messages":              {tried(src()), ""},
		"messages, joined":      {tried(flow.Merge(src(), src())), ""},
		"messages in a branch":  {flow.Join(tried(src().Broadcast(1)[0])), ""},
		"messages in a batch":   {src().Batch(3, 0).ForEach(func(context.Context, []int) error { return nil }, again), ""},
		"plain values":          {tried(plain()), lost},
		"inside If":             {discard(plain().TryMap(same, flow.OnError(flow.If(isA, flow.Redeliver)))), lost},
		"an inlet":              {tried(flow.NewInlet(flow.Edge[int]{Capacity: 1}).Flow()), lost},
		"a hub":                 {tried(member), lost},
		"behind BestEffort":     {tried(src().BestEffort()), lost},
		"joined with values":    {tried(flow.Merge(src(), plain())), lost},
		"a position":            {tried(flow.OpenAt((&ledger{}).open, flow.Checkpoint(newShelf()))), lost},
		"in a Parallel":         {discard(plain().Parallel(2, same, again)), lost},
		"in a ParallelByKey":    {discard(plain().ParallelByKey(2, twice, same, again)), lost},
		"in an Expand":          {discard(plain().Expand(func(context.Context, int, func(int) error) error { return nil }, again)), lost},
		"in a ForEach":          {plain().ForEach(func(context.Context, int) error { return nil }, again), lost},
		"in a ForEachBatch":     {plain().ForEachBatch(2, 0, func(context.Context, []int) error { return nil }, again), lost},
		"in a To":               {plain().To(stage.Discard[int](), again), lost},
		"in a To with workers":  {plain().To(stage.Discard[int](), again, flow.Workers(3)), lost},
		"in a ToItems":          {plain().ToItems(stage.ItemSinkFunc(func(context.Context, []stage.Item[int]) error { return nil }), again), lost},
		"in a ToChan":           {plain().ToChan(make(chan int), again), lost},
		"of an effect":          {discard(src().TryMap(same, again, flow.NonIdempotent)), repeated},
		"behind an effect":      {tried(effect(src()).Buffer(3, flow.Block).Filter(even)), repeated},
		"in front of an effect": {discard(effect(src().TryMap(same, again))), ""},
	} {
		t.Run(name, func(t *testing.T) {
			checkRefusal(t, c.p.Check(), c.want)
		})
	}
}

// checkRefusal checks that err says want, once, and that there is none if want is empty.
func checkRefusal(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		must(t, err)
	} else if err == nil || strings.Count(err.Error(), want) != 1 {
		t.Fatalf("got error %v, want it to say once: %s", err, want)
	}
}

// itemSource is a broker that is also a plain source.
type itemSource struct{ *broker }

func (s itemSource) Pull(context.Context, []int) (int, error) { return 0, stage.ErrEnd }

// Whether what Open opens can deliver again is known when it is open.
func TestRedeliverBehindOpen(t *testing.T) {
	for name, c := range map[string]struct {
		src  stage.Source[int]
		want string
	}{
		"messages": {itemSource{newBroker(9)}, ""},
		"values":   {stage.Slice(ints(9)), "Redeliver needs a source whose messages can come again"},
	} {
		t.Run(name, func(t *testing.T) {
			f := flow.Open(func(context.Context) (stage.Source[int], error) { return c.src, nil })
			p := discard(f.TryMap(flaky, flow.OnError(flow.Redeliver)))
			must(t, p.Check())
			checkRefusal(t, p.Run(t.Context()), c.want)
		})
	}
}
