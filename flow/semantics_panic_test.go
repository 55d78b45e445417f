package flow_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// place is a place where user code runs. It calls bad for value 7 of 0 to 19.
type place struct {
	name  string
	build func(f flow.Flow[int], bad func(int)) flow.Pipeline
}

func discard(f flow.Flow[int]) flow.Pipeline { return f.To(stage.Discard[int]()) }

// places are all of them but sources; the stage of each is named "bad".
func places() []place {
	name := flow.Name("bad")
	call := func(bad func(int)) func(context.Context, int) (int, error) {
		return func(_ context.Context, i int) (int, error) { bad(i); return i, nil }
	}
	sink := func(bad func(int)) stage.Sink[int] {
		return stage.SinkFunc(func(_ context.Context, vs []int) error {
			for _, v := range vs {
				bad(v)
			}
			return nil
		})
	}
	return []place{
		{"map", func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			return discard(f.Map(func(i int) int { bad(i); return i }, name))
		}},
		{"map in the middle", func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			return discard(f.Map(twice).Map(func(i int) int { bad(i / 2); return i }, name).Filter(even).Map(twice))
		}},
		{"filter", func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			return discard(f.Filter(func(i int) bool { bad(i); return even(i) }, name))
		}},
		{"filtermap", func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			return discard(f.FilterMap(func(i int) (int, bool) { bad(i); return i, even(i) }, name))
		}},
		{"flatmap", func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			return discard(f.FlatMap(func(i int) []int { bad(i); return ints(i % 4) }, name))
		}},
		{"tap", func(f flow.Flow[int], bad func(int)) flow.Pipeline { return discard(f.Tap(bad, name)) }},
		{"stamp", func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			return discard(f.Stamp(func(i int, m stage.Meta) stage.Meta { bad(i); return m }, name))
		}},
		{"trymap", func(f flow.Flow[int], bad func(int)) flow.Pipeline { return discard(f.TryMap(call(bad), name)) }},
		{"trymap before a flatmap", func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			return discard(f.TryMap(call(bad), name).FlatMap(func(i int) []int { return ints(i % 3) }))
		}},
		{"ordered parallel", func(f flow.Flow[int], bad func(int)) flow.Pipeline { return discard(f.Parallel(3, call(bad), name)) }},
		{"unordered parallel", func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			return discard(f.Parallel(3, call(bad), name, flow.Unordered))
		}},
		{"map before an edge", func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			return discard(f.Map(func(i int) int { bad(i); return i }, name).Buffer(3, flow.Block))
		}},
		{"map before a broadcast", func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			bs := f.Map(func(i int) int { bad(i); return i }, name).Broadcast(2)
			return flow.Join(discard(bs[0]), discard(bs[1]))
		}},
		{"map in a branch", func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			bs := f.Broadcast(2)
			return flow.Join(discard(bs[0]), discard(bs[1].Map(func(i int) int { bad(i); return i }, name)))
		}},
		{"map before a batch", func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			return f.Map(func(i int) int { bad(i); return i }, name).Batch(6, 0).To(stage.Discard[[]int]())
		}},
		{"map behind a batch", func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			return f.Batch(2, 0).Map(func(b []int) int { bad(b[1]); return b[1] }, name).To(stage.Discard[int]())
		}},
		{"batch weight", func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			return f.BatchWeight(30, func(i int) int64 { bad(i); return int64(i) }, 0, name).To(stage.Discard[[]int]())
		}},
		{"foreach", func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			return f.ForEach(func(_ context.Context, i int) error { bad(i); return nil }, name)
		}},
		{"foreach with workers", func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			return f.ForEach(func(_ context.Context, i int) error { bad(i); return nil }, name, flow.Workers(3))
		}},
		{"sink", func(f flow.Flow[int], bad func(int)) flow.Pipeline { return f.To(sink(bad), name) }},
		{"sink with workers", func(f flow.Flow[int], bad func(int)) flow.Pipeline { return f.To(sink(bad), name, flow.Workers(3)) }},
		{"sink with gather", func(f flow.Flow[int], bad func(int)) flow.Pipeline { return f.To(sink(bad), name, flow.Gather(6, 0)) }},
		{"edge weight", func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			return discard(f.Edge(flow.Edge[int]{Name: "bad", Capacity: 3, MaxWeight: 9, Weight: func(i int) int64 { bad(i); return 1 }}))
		}},
	}
}

// S4: a panic and a Goexit, wherever user code runs, are an error of that stage, with the stack of the panic. The run ends, no
// goroutine is left, and every message is settled once: what was not processed as failed.
func TestS4UserCodeThatDoesNotReturn(t *testing.T) {
	for _, p := range places() {
		for _, tr := range troubles() {
			inBubble(t, p.name+" "+tr.name, func(t *testing.T) {
				b := newBroker(20)
				bad := func(i int) {
					if i == 7 {
						tr.do()
					}
				}
				r := start(t, p.build(flow.FromItems(b), bad))
				checkTrouble(t, r.Wait(), tr)
				b.once(t)
				if o := b.outcome(t, 7); o.Kind != stage.Failed {
					t.Errorf("message 7 ended as %v, want failed", o)
				}
				plain := p.build(flow.FromSlice(ints(20)), bad)
				checkTrouble(t, plain.Run(t.Context()), tr)
			})
		}
	}
}

// checkTrouble checks an error of the stage "bad".
func checkTrouble(t *testing.T, err error, tr trouble) {
	t.Helper()
	stack := wantStage(t, err, "bad")
	if tr.is != nil {
		wantError(t, err, tr.is)
	}
	if strings.Count(err.Error(), "bad: ") != 1 {
		t.Fatalf("the error is %q, want it to say it once", err)
	}
	if errors.Is(err, stage.ErrGoexit) {
		return
	}
	where := "semantics_panic_test.go"
	if strings.Contains(t.Name(), "sequence") {
		where = "iter.Pull" // which panics again in the goroutine of the caller
	}
	if _, ok := errors.AsType[*stage.PanicError](err); !ok || !strings.Contains(string(stack), where) {
		t.Fatalf("error %v with stack\n%s\nwant a panic with the stack of where it was", err, stack)
	}
}

// S4: a panic and a Goexit in a source are errors of the source.
func TestS4SourceThatDoesNotReturn(t *testing.T) {
	for _, tr := range troubles() {
		sources := map[string]func() flow.Flow[int]{
			"func": func() flow.Flow[int] {
				n := 0
				return flow.FromFunc(func(context.Context) (int, error) {
					if n++; n == 7 {
						tr.do()
					}
					return n, nil
				}, flow.Name("bad"))
			},
			"sequence": func() flow.Flow[int] {
				return flow.FromSeq(func(yield func(int) bool) {
					for i := range 20 {
						if i == 7 {
							tr.do()
						}
						if !yield(i) {
							return
						}
					}
				}, flow.Name("bad"))
			},
			"items": func() flow.Flow[int] {
				b := newBroker(20)
				return flow.FromItems(stage.ItemSourceFunc(func(ctx context.Context, dst []stage.Item[int]) (int, error) {
					if b.next > 7 {
						tr.do()
					}
					return b.PullItems(ctx, dst)
				}), flow.Name("bad"))
			},
		}
		for name, f := range sources {
			inBubble(t, name+" "+tr.name, func(t *testing.T) {
				checkTrouble(t, discard(f()).Run(t.Context()), tr)
				checkTrouble(t, discard(f().Parallel(2, same)).Run(t.Context()), tr)
			})
		}
	}
}

// S4: a panic and a Goexit in a Dropped hook are errors of the edge, and stop the run; each message is still settled once.
func TestS4DroppedHookThatDoesNotReturn(t *testing.T) {
	for _, tr := range troubles() {
		hook := func(i int, _ flow.DropReason) {
			if i > 3 {
				tr.do()
			}
		}
		full := flow.Edge[int]{Name: "bad", Capacity: 2, OnFull: flow.DropNewest, Dropped: hook, SettleDropped: flow.Ack}
		oldest := full
		oldest.OnFull = flow.DropOldest
		expiring := flow.Edge[int]{Name: "bad", Capacity: 200, MaxWait: time.Second, Dropped: hook, SettleDropped: flow.Ack}
		shapes := map[string]func(flow.Flow[int]) flow.Flow[int]{
			"newest":           func(f flow.Flow[int]) flow.Flow[int] { return f.Edge(full) },
			"oldest":           func(f flow.Flow[int]) flow.Flow[int] { return f.Edge(oldest) },
			"expired":          func(f flow.Flow[int]) flow.Flow[int] { return f.Edge(expiring) },
			"behind parallel":  func(f flow.Flow[int]) flow.Flow[int] { return f.Parallel(3, same).Edge(full) },
			"behind unordered": func(f flow.Flow[int]) flow.Flow[int] { return f.Parallel(3, same, flow.Unordered).Edge(full) },
			"behind broadcast": func(f flow.Flow[int]) flow.Flow[int] {
				bs := f.Broadcast(3)
				return flow.Merge(bs[0], bs[1].Edge(full), bs[2])
			},
		}
		for name, shape := range shapes {
			inBubble(t, name+" "+tr.name, func(t *testing.T) {
				b := newBroker(200)
				r := start(t, shape(flow.FromItems(b)).ForEach(func(ctx context.Context, _ int) error {
					return nap(ctx, time.Minute)
				}))
				err := r.Wait()
				wantStage(t, err, "bad")
				if tr.is != nil {
					wantError(t, err, tr.is)
				}
				b.once(t)
			})
		}
	}
}

// S4: with a decision other than Stop the worker goes on behind a panic and behind a Goexit, and every item is counted once.
func TestS4WorkerGoesOn(t *testing.T) {
	call := func(bad func(int)) func(context.Context, int) (int, error) {
		return func(_ context.Context, i int) (int, error) { bad(i); return i, nil }
	}
	shapes := map[string]func(flow.Flow[int], func(int), flow.ErrOption, *seen[int]) flow.Pipeline{
		"trymap": func(f flow.Flow[int], bad func(int), on flow.ErrOption, got *seen[int]) flow.Pipeline {
			return f.TryMap(call(bad), on).ForEach(got.each)
		},
		"trymap behind a filter, before a flatmap": func(f flow.Flow[int], bad func(int), on flow.ErrOption, got *seen[int]) flow.Pipeline {
			return f.Filter(func(int) bool { return true }).TryMap(call(bad), on).
				FlatMap(func(i int) []int { return []int{i, -1} }).Filter(func(i int) bool { return i >= 0 }).ForEach(got.each)
		},
		"trymap before an edge": func(f flow.Flow[int], bad func(int), on flow.ErrOption, got *seen[int]) flow.Pipeline {
			return f.TryMap(call(bad), on).Buffer(3, flow.Block).ForEach(got.each)
		},
		"two trymaps": func(f flow.Flow[int], bad func(int), on flow.ErrOption, got *seen[int]) flow.Pipeline {
			return f.TryMap(same).TryMap(call(bad), on).TryMap(same).ForEach(got.each)
		},
		"ordered parallel": func(f flow.Flow[int], bad func(int), on flow.ErrOption, got *seen[int]) flow.Pipeline {
			return f.Parallel(3, call(bad), on).ForEach(got.each)
		},
		"unordered parallel": func(f flow.Flow[int], bad func(int), on flow.ErrOption, got *seen[int]) flow.Pipeline {
			return f.Parallel(3, call(bad), on, flow.Unordered).ForEach(got.each)
		},
		"foreach": func(f flow.Flow[int], bad func(int), on flow.ErrOption, got *seen[int]) flow.Pipeline {
			return f.ForEach(func(ctx context.Context, i int) error { bad(i); return got.each(ctx, i) }, on)
		},
		"foreach with workers": func(f flow.Flow[int], bad func(int), on flow.ErrOption, got *seen[int]) flow.Pipeline {
			return f.ForEach(func(ctx context.Context, i int) error { bad(i); return got.each(ctx, i) }, on, flow.Workers(3))
		},
		"sink": func(f flow.Flow[int], bad func(int), on flow.ErrOption, got *seen[int]) flow.Pipeline {
			return f.To(pushTo(got, bad), on)
		},
		"sink with gather": func(f flow.Flow[int], bad func(int), on flow.ErrOption, got *seen[int]) flow.Pipeline {
			return f.To(pushTo(got, bad), on, flow.Gather(16, 0))
		},
	}
	for name, shape := range shapes {
		for _, tr := range troubles() {
			inBubble(t, name+" "+tr.name, func(t *testing.T) { goesOn(t, shape, tr) })
		}
	}
}

// pushTo is a sink that takes all of a push or nothing.
func pushTo(got *seen[int], bad func(int)) stage.Sink[int] {
	return stage.SinkFunc(func(ctx context.Context, vs []int) error {
		for _, v := range vs {
			bad(v)
		}
		for _, v := range vs {
			_ = got.each(ctx, v)
		}
		return nil
	})
}

func goesOn(t *testing.T, shape func(flow.Flow[int], func(int), flow.ErrOption, *seen[int]) flow.Pipeline, tr trouble) {
	const n = 1000
	bad := func(i int) {
		if i%7 == 0 {
			tr.do()
		}
	}
	want := n - (n+6)/7
	letters := newSeen[stage.DeadLetter]()
	dlq := stage.SinkFunc(func(ctx context.Context, ds []stage.DeadLetter) error { return letters.each(ctx, ds[0]) })
	for kind, on := range map[string]flow.ErrOption{
		"skip":       flow.OnError(flow.Skip),
		"retry":      flow.OnError(flow.Retry(2, flow.Exponential(time.Millisecond, time.Millisecond)), flow.Skip),
		"deadletter": flow.OnError(flow.DeadLetter(dlq)),
	} {
		got := newSeen[int]()
		b := newBroker(n)
		r := start(t, shape(flow.FromItems(b), bad, on, got))
		if err := r.Wait(); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		equal(t, kind+": items that passed", len(got.values()), want)
		equal(t, kind+": skipped", r.Report().Skipped, int64(n-want))
		equal(t, kind+": acknowledged", len(b.kind(stage.Done)), n)
		b.once(t)
	}
	equal(t, "dead letters", len(letters.values()), n-want)
	for _, d := range letters.values() {
		if tr.is != nil && !errors.Is(d.Err, tr.is) || d.Value.(int)%7 != 0 || d.Attempt < 1 {
			t.Fatalf("dead letter %+v, want the value and the cause", d)
		}
	}
	synctest.Wait()
}
