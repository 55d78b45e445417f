package flow_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// extra is the first of the values that tests add from a second input.
const extra = 1000

func first(a, _ int) int { return a }

func modulo(n int) func(int) int { return func(i int) int { return i % n } }

// crossing is an operator with several inputs or outputs between a source and sinks.
type crossing struct {
	leavesDone bool // what a branch holds that leaves early is done
	build      func(f flow.Flow[int], sink func(flow.Flow[int]) flow.Pipeline) flow.Pipeline
}

// each makes a pipeline of branches that all end in a sink.
func each(branches []flow.Flow[int], sink func(flow.Flow[int]) flow.Pipeline) flow.Pipeline {
	ps := make([]flow.Pipeline, len(branches))
	for i, b := range branches {
		ps[i] = sink(b)
	}
	return flow.Join(ps...)
}

func crossings() map[string]crossing {
	type sinks = func(flow.Flow[int]) flow.Pipeline
	more := func(n int) flow.Flow[int] {
		return flow.FromSlice(ints(n)).Map(func(i int) int { return extra + i })
	}
	return map[string]crossing{
		"split": {true, func(f flow.Flow[int], sink sinks) flow.Pipeline {
			yes, no := f.Split(even)
			return flow.Join(sink(yes), sink(no))
		}},
		"partition": {true, func(f flow.Flow[int], sink sinks) flow.Pipeline { return each(f.Partition(3, twice), sink) }},
		"partition with small edges": {true, func(f flow.Flow[int], sink sinks) flow.Pipeline {
			return each(f.Partition(3, twice), func(f flow.Flow[int]) flow.Pipeline { return sink(f.Buffer(1, flow.Block)) })
		}},
		"balance": {false, func(f flow.Flow[int], sink sinks) flow.Pipeline { return each(f.Balance(3), sink) }},
		"balance with edges": {false, func(f flow.Flow[int], sink sinks) flow.Pipeline {
			return each(f.Balance(3), func(f flow.Flow[int]) flow.Pipeline { return sink(f.Buffer(3, flow.Block)) })
		}},
		"parallel by key": {false, func(f flow.Flow[int], sink sinks) flow.Pipeline {
			return sink(f.ParallelByKey(3, modulo(10), same))
		}},
		"zip of two branches": {true, func(f flow.Flow[int], sink sinks) flow.Pipeline {
			bs := f.Broadcast(2)
			return sink(bs[0].ZipWith(bs[1], first))
		}},
		"zip with more": {false, func(f flow.Flow[int], sink sinks) flow.Pipeline { return sink(f.ZipWith(more(2000), first)) }},
		"interleave":    {false, func(f flow.Flow[int], sink sinks) flow.Pipeline { return sink(f.Interleave(2, more(7), more(1))) }},
		"sorted": {false, func(f flow.Flow[int], sink sinks) flow.Pipeline {
			return sink(f.MergeSorted(cmp.Compare[int], more(7)))
		}},
		"priority": {false, func(f flow.Flow[int], sink sinks) flow.Pipeline { return sink(flow.MergePriority(more(7), f)) }},
	}
}

// Every message settles once, as done, when a run comes to its end.
func TestCrossingsClaimsOfWholeRuns(t *testing.T) {
	for name, c := range crossings() {
		inBubble(t, name, func(t *testing.T) {
			b := newBroker(500)
			must(t, c.build(flow.FromItems(b), discard).Run(t.Context()))
			b.once(t)
			equal(t, "acknowledged", len(b.kind(stage.Done)), 500)
		})
	}
}

// A stop gives everything back at once, wherever it is, with the cause.
func TestCrossingsStopGivesEverythingBack(t *testing.T) {
	for name, c := range crossings() {
		inBubble(t, name, func(t *testing.T) {
			b := newBroker(700)
			b.stays = true
			r := start(t, c.build(flow.FromItems(b), func(f flow.Flow[int]) flow.Pipeline { return f.ForEach(hang) }))
			time.Sleep(time.Minute)
			settled, began := len(b.kind(stage.Done)), time.Now()
			stopped(t, r)
			equal(t, "time", time.Since(began), 0)
			b.once(t)
			equal(t, "acknowledged", len(b.kind(stage.Done)), settled)
			for _, i := range b.kind(stage.Failed) {
				wantError(t, b.outcome(t, i).Err, flow.ErrStopped)
			}
		})
	}
}

// A drain lets everything inside come through.
func TestCrossingsDrain(t *testing.T) {
	for name, c := range crossings() {
		inBubble(t, name, func(t *testing.T) {
			b := newBroker(10)
			b.stays = true
			got := newSeen[int]()
			r := start(t, c.build(flow.FromItems(b), func(f flow.Flow[int]) flow.Pipeline { return f.ForEach(got.each) }))
			time.Sleep(time.Minute)
			began := time.Now()
			must(t, r.Drain(t.Context()))
			equal(t, "time", time.Since(began), 0)
			b.once(t)
			equal(t, "acknowledged", len(b.kind(stage.Done)), 10)
			values := slices.DeleteFunc(got.values(), func(i int) bool { return i >= extra })
			slices.Sort(values)
			equalSlices(t, "values", values, ints(10))
		})
	}
}

// When all that read leave early the source is stopped, although it waits. What waited inside comes again; in a branch of which
// no other has the items, for nobody wants them, it is done.
func TestCrossingsLeaveEarly(t *testing.T) {
	for name, c := range crossings() {
		inBubble(t, name, func(t *testing.T) {
			b := newBroker(600)
			b.stays = true
			got := newSeen[int]()
			r := start(t, c.build(flow.FromItems(b), func(f flow.Flow[int]) flow.Pipeline { return f.Take(5).ForEach(got.each) }))
			began := time.Now()
			must(t, r.Wait())
			equal(t, "time", time.Since(began), 0)
			b.once(t)
			if n := len(got.values()); n != 5 && n != 10 && n != 15 {
				t.Fatalf("%d values came, want 5 for each sink", n)
			}
			for _, i := range got.values() {
				if i < extra {
					equal(t, "outcome of a value that came", b.outcome(t, i).Kind, stage.Done)
				}
			}
			if !c.leavesDone {
				came := slices.DeleteFunc(got.values(), func(i int) bool { return i >= extra })
				equal(t, "acknowledged", len(b.kind(stage.Done)), len(came))
			}
		})
	}
}

// An error in one place stops everything, and each message is settled once.
func TestCrossingsError(t *testing.T) {
	for name, c := range crossings() {
		inBubble(t, name, func(t *testing.T) {
			b := newBroker(600)
			b.stays = true
			err := c.build(flow.FromItems(b), func(f flow.Flow[int]) flow.Pipeline {
				return f.ForEach(func(_ context.Context, i int) error {
					if i == 4 {
						return errA
					}
					return nil
				}, flow.OnError(flow.If(func(error) bool { return false }, flow.Skip)))
			}).Run(t.Context())
			wantError(t, err, errA)
			b.once(t)
			equal(t, "outcome of the item that failed", b.outcome(t, 4).Kind, stage.Failed)
		})
	}
}

// User code that does not return is an error of its stage, and each message is settled once.
func TestCrossingsUserCodeThatDoesNotReturn(t *testing.T) {
	name := flow.Name("bad")
	shapes := map[string]func(f flow.Flow[int], bad func(int)) flow.Pipeline{
		"split": func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			yes, no := f.Split(func(i int) bool { bad(i); return even(i) }, name)
			return flow.Join(discard(yes), discard(no))
		},
		"partition": func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			return each(f.Partition(3, func(i int) int { bad(i); return i }, name), discard)
		},
		"key": func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			return discard(f.ParallelByKey(3, func(i int) int { bad(i); return i }, same, name))
		},
		"function": func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			return discard(f.ParallelByKey(3, twice, func(_ context.Context, i int) (int, error) { bad(i); return i, nil }, name))
		},
		"zip": func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			return discard(f.ZipWith(flow.FromItems(newBroker(20)), func(i, _ int) int { bad(i); return i }, name))
		},
		"zip of two branches": func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			bs := f.Broadcast(2)
			return discard(bs[0].ZipWith(bs[1], func(i, _ int) int { bad(i); return i }, name))
		},
		"sorted": func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			return discard(f.MergeSorted(func(a, b int) int { bad(a); return cmp.Compare(a, b) }, flow.FromItems(newBroker(20))))
		},
	}
	for kind, shape := range shapes {
		for _, tr := range troubles() {
			inBubble(t, kind+" "+tr.name, func(t *testing.T) {
				b := newBroker(20)
				err := shape(flow.FromItems(b), func(i int) {
					if i == 7 {
						tr.do()
					}
				}).Run(t.Context())
				stageName := "bad"
				if kind == "sorted" {
					stageName = "mergesorted#3"
				}
				wantStage(t, err, stageName)
				if tr.is != nil {
					wantError(t, err, tr.is)
				}
				b.once(t)
				if b.next > 7 {
					equal(t, "outcome of the value", b.outcome(t, 7).Kind, stage.Failed)
				}
			})
		}
	}
}

// Arguments that make no sense are build errors with the name and the line of the operator.
func TestCrossingsBuildErrors(t *testing.T) {
	f := func() flow.Flow[int] { return flow.FromSlice(ints(1)) }
	key := modulo(3)
	yes, _ := f().Split(even)
	nilYes, nilNo := f().Split(nil)
	for want, p := range map[string]flow.Pipeline{
		"split#2 (branches_test.go:%: 1 of its 2 outputs are not consumed":   discard(yes),
		"split#2 (branches_test.go:%: function must not be nil":              flow.Join(discard(nilYes), discard(nilNo)),
		"partition#2 (branches_test.go:%: n must be 1 to 65536, got 0":       each(f().Partition(0, key), discard),
		"partition#2 (branches_test.go:%: key must not be nil":               each(f().Partition[int](2, nil), discard),
		"balance#2 (branches_test.go:%: n must be 1 to 65536, got -1":        each(f().Balance(-1), discard),
		"balance#2 (branches_test.go:%: 2 of its 3 outputs are not consumed": discard(f().Balance(3)[1]),
		"zipwith#3 (branches_test.go:%: function must not be nil":            discard(f().ZipWith[int, int](f(), nil)),
		"interleave#3 (branches_test.go:%: n must be >= 1, got 0":            discard(f().Interleave(0, f())),
		"mergesorted#3 (branches_test.go:%: function must not be nil":        discard(f().MergeSorted(nil, f())),
		"mergepriority#1 (branches_test.go:%: there must be at least one":    discard(flow.MergePriority[int]()),
		"parallelbykey#2 (branches_test.go:%: n must be 1 to 65536, got 0":   discard(f().ParallelByKey(0, key, same)),
		"parallelbykey#2 (branches_test.go:%: key must not be nil":           discard(f().ParallelByKey[int, int](1, nil, same)),
		"parallelbykey#2 (branches_test.go:%: function must not be nil":      discard(f().ParallelByKey[int](1, key, nil)),
	} {
		err := p.Check()
		if err == nil || !matches(err.Error(), want) {
			t.Errorf("Check() = %v, want %q", err, want)
		}
	}
}

// matches reports whether text contains the parts of pattern, which a % separates, in this order.
func matches(text, pattern string) bool {
	for part := range strings.SplitSeq(pattern, "%") {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return true
}
