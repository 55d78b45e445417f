package flow_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

type (
	inInts  = stage.In[int]
	outInts = stage.Out[int]
	runInts = func(ctx context.Context, in *inInts, out *outInts) error
)

// eachItem makes a stage that works off its input, and calls flush at the end of it.
func eachItem(work func(ctx context.Context, it stage.Item[int], out *outInts) error, flush func(ctx context.Context) error) stage.Stage[int, int] {
	return stage.StageFunc(func(ctx context.Context, in *inInts, out *outInts) error {
		for it, err := range in.All(ctx) {
			if err != nil {
				return err
			}
			if err := work(ctx, it, out); err != nil {
				return err
			}
		}
		return flush(ctx)
	})
}

func emitInt(ctx context.Context, it stage.Item[int], out *outInts) error { return out.Emit(ctx, it) }

func nothing(context.Context) error { return nil }

// forwarding makes stages that hand everything on.
func forwarding(int) stage.Stage[int, int] { return eachItem(emitInt, nothing) }

// running makes stages that do what run does.
func running(run runInts) func(int) stage.Stage[int, int] {
	return func(int) stage.Stage[int, int] { return stage.StageFunc(run) }
}

// diary is what has happened, and when.
type diary struct {
	mu    sync.Mutex
	began time.Time
	lines []string
}

func newDiary() *diary { return &diary{began: time.Now()} }

func (d *diary) add(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf("%v ", time.Since(d.began))+fmt.Sprintf(format, args...))
}

// want fails the test unless what is written is that, in any order at one moment.
func (d *diary) want(t *testing.T, lines ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	byTime := func(a, b string) int {
		at := func(s string) time.Duration {
			d, _ := time.ParseDuration(strings.Fields(s)[0])
			return d
		}
		if at(a) != at(b) {
			return int(at(a) - at(b))
		}
		return strings.Compare(a, b)
	}
	got := slices.SortedFunc(slices.Values(d.lines), byTime)
	slices.SortFunc(lines, byTime)
	equalSlices(t, "what has happened", got, lines)
}

// diligent makes stages that write down when they begin, take an item, and end: work is how long an item takes, flush the end.
func (d *diary) diligent(work, flush time.Duration) func(int) stage.Stage[int, int] {
	return func(k int) stage.Stage[int, int] {
		d.add("%d begins", k)
		return eachItem(func(ctx context.Context, it stage.Item[int], _ *outInts) error {
			d.add("%d takes %d", k, it.Value)
			return nap(ctx, work)
		}, func(ctx context.Context) error {
			if err := nap(ctx, flush); err != nil {
				return err
			}
			d.add("%d ends", k)
			return nil
		})
	}
}

// coming is a source of values, each after a pause, behind which it waits for more.
func coming(pause time.Duration, vs ...int) flow.Flow[int] {
	src := then(vs...)
	return flow.From(stage.SourceFunc(func(ctx context.Context, dst []int) (int, error) {
		if err := nap(ctx, pause); err != nil {
			return 0, err
		}
		return src.Pull(ctx, dst[:1])
	}))
}

// Whose place a new key gets, and when. Keys are tens.
func TestGroupByPlaces(t *testing.T) {
	tests := []struct {
		name        string
		groups      flow.Groups[int]
		pause       time.Duration // before each value
		values      []int
		work, flush time.Duration
		want        []string // up to the end of the drain that follows the values after an hour
	}{
		{
			"the place of the group that has waited longest",
			flow.Groups[int]{Max: 2},
			time.Second,
			[]int{10, 20, 30, 21, 11},
			0, 0,
			[]string{
				"1s 1 begins", "1s 1 takes 10", "2s 2 begins", "2s 2 takes 20", "3s 1 ends", "3s 3 begins", "3s 3 takes 30",
				"4s 2 takes 21", "5s 3 ends", "5s 1 begins", "5s 1 takes 11", "1h0m0s 1 ends", "1h0m0s 2 ends",
			},
		},
		{
			"a group that was used is not the one that has waited longest",
			flow.Groups[int]{Max: 2},
			time.Second,
			[]int{10, 20, 11, 30},
			0, 0,
			[]string{
				"1s 1 begins", "1s 1 takes 10", "2s 2 begins", "2s 2 takes 20", "3s 1 takes 11", "4s 2 ends", "4s 3 begins",
				"4s 3 takes 30", "1h0m0s 1 ends", "1h0m0s 3 ends",
			},
		},
		{
			"no group rests, until the first one has done its work",
			flow.Groups[int]{Max: 2},
			time.Second,
			[]int{10, 20, 30},
			10 * time.Second, 0,
			[]string{
				"1s 1 begins", "1s 1 takes 10", "2s 2 begins", "2s 2 takes 20", "11s 1 ends", "11s 3 begins", "11s 3 takes 30",
				"1h0m0s 2 ends", "1h0m0s 3 ends",
			},
		},
		{
			"a place is free when the stage has returned",
			flow.Groups[int]{Max: 1},
			time.Second,
			[]int{10, 20},
			0, 5 * time.Second,
			[]string{"1s 1 begins", "1s 1 takes 10", "7s 1 ends", "7s 2 begins", "7s 2 takes 20", "1h0m5s 2 ends"},
		},
		{
			"the next group of a key begins when the last one has returned",
			flow.Groups[int]{Max: 2, Idle: time.Second},
			3 * time.Second,
			[]int{10, 11},
			0, 5 * time.Second,
			[]string{"3s 1 begins", "3s 1 takes 10", "9s 1 ends", "9s 1 begins", "9s 1 takes 11", "15s 1 ends"},
		},
		{
			"an idle group ends, one that gets something does not",
			flow.Groups[int]{Max: 9, Idle: 2500 * time.Millisecond},
			time.Second,
			[]int{10, 20, 11, 12, 13},
			500 * time.Millisecond, 0,
			[]string{
				"1s 1 begins", "1s 1 takes 10", "2s 2 begins", "2s 2 takes 20", "3s 1 takes 11", "4s 1 takes 12", "5s 1 takes 13",
				"5s 2 ends", "8s 1 ends",
			},
		},
		{
			"what waits in a lane is worked off before its group rests",
			flow.Groups[int]{Max: 1, Lane: flow.Edge[int]{Capacity: 3}},
			time.Second,
			[]int{10, 11, 12, 20},
			10 * time.Second, 0,
			[]string{
				"1s 1 begins", "1s 1 takes 10", "11s 1 takes 11", "21s 1 takes 12", "31s 1 ends", "31s 2 begins", "31s 2 takes 20",
				"1h0m0s 2 ends",
			},
		},
		{
			"an item that has expired is nothing to do",
			flow.Groups[int]{Max: 1, Lane: flow.Edge[int]{MaxWait: 3 * time.Second}},
			time.Second,
			[]int{10, 11, 20},
			10 * time.Second, 0,
			[]string{"1s 1 begins", "1s 1 takes 10", "11s 1 ends", "11s 2 begins", "11s 2 takes 20", "1h0m0s 2 ends"},
		},
	}
	for _, c := range tests {
		inBubble(t, c.name, func(t *testing.T) {
			d := newDiary()
			r := start(t, discard(coming(c.pause, c.values...).GroupBy(c.groups, tens, d.diligent(c.work, c.flush))))
			time.Sleep(time.Hour)
			must(t, r.Drain(t.Context()))
			d.want(t, c.want...)
		})
	}
}

// A group for which an item is on its way does not rest, although it has not woken up yet.
func TestGroupByPlaceOfAGroupThatHasJustGotAnItem(t *testing.T) {
	inBubble(t, "the other one is ended", func(t *testing.T) {
		d := newDiary()
		pauses := map[int]time.Duration{10: time.Second, 20: time.Second, 11: time.Second} // 30 comes with 11
		src := then(10, 20, 11, 30)
		r := start(t, discard(flow.From(stage.SourceFunc(func(ctx context.Context, dst []int) (int, error) {
			n, err := src.Pull(ctx, dst[:1])
			if err != nil {
				return n, err
			}
			return n, nap(ctx, pauses[dst[0]])
		})).GroupBy(flow.Groups[int]{Max: 2}, tens, d.diligent(500*time.Millisecond, 0))))
		time.Sleep(time.Hour)
		must(t, r.Drain(t.Context()))
		d.want(t, "1s 1 begins", "1s 1 takes 10", "2s 2 begins", "2s 2 takes 20", "3s 1 takes 11", "3s 2 ends", "3s 3 begins",
			"3s 3 takes 30", "1h0m0s 1 ends", "1h0m0s 3 ends")
	})
}

// Each stage takes one item and returns, while the router goes on. Nothing is lost between two of them.
func TestGroupByReopensAtAnyMoment(t *testing.T) {
	b := newBroker(20_000)
	must(t, discard(flow.FromItems(b).GroupBy(flow.Groups[int]{}, modulo(2), running(
		func(ctx context.Context, in *inInts, out *outInts) error {
			it, err := in.Next(ctx)
			if err != nil {
				return err
			}
			return out.Emit(ctx, it)
		}))).Run(t.Context()))
	b.once(t)
	equal(t, "done", len(b.kind(stage.Done)), 20_000)
}

func tens(i int) int { return i / 10 }

// While its group can't be had, an item holds back what is behind it, and one whose lane is full does so, too.
func TestGroupByHeadOfLine(t *testing.T) {
	inBubble(t, "a full lane", func(t *testing.T) {
		d := newDiary()
		r := start(t, discard(coming(time.Second, 10, 11, 12, 13, 20).
			GroupBy(flow.Groups[int]{Lane: flow.Edge[int]{Capacity: 2}}, tens, d.diligent(10*time.Second, 0))))
		time.Sleep(time.Hour)
		d.want(t, "1s 1 begins", "1s 1 takes 10", "11s 1 takes 11", "12s 2 begins", "12s 2 takes 20", "21s 1 takes 12", "31s 1 takes 13")
		stopped(t, r)
	})
}

// T13: the consumer of a group takes one item and returns, or returns at once without reading. Right: the group releases its
// credit, which lets through what waited in its lane, and later items open a new group or are dropped by the declared policy; the
// stream completes.
func TestT13AbandonedGroupReleasesItsCredit(t *testing.T) {
	takesOne := func(ctx context.Context, in *inInts, out *outInts) error {
		it, err := in.Next(ctx)
		if err != nil {
			return err
		}
		return out.Emit(ctx, it)
	}
	takesNone := func(context.Context, *inInts, *outInts) error { return nil }
	slowly := func(ctx context.Context, in *inInts, out *outInts) error {
		if err := nap(ctx, time.Second); err != nil { // its lane is full by then
			return err
		}
		return takesOne(ctx, in, out)
	}
	tests := []struct {
		name    string
		run     runInts
		ended   flow.EndedGroup
		emitted int // of 60 items, with 3 keys
	}{
		{"one each, reopened", takesOne, flow.Reopen, 60},
		{"one each of a full lane, reopened", slowly, flow.Reopen, 60},
		{"one each, then dropped", takesOne, flow.DropRest, 3},
		{"one each of a full lane, then dropped", slowly, flow.DropRest, 3},
		{"none, dropped", takesNone, flow.DropRest, 0},
	}
	for _, c := range tests {
		inBubble(t, c.name, func(t *testing.T) {
			b := newBroker(60)
			got := newSeen[int]()
			groups := flow.Groups[int]{Max: 3, Ended: c.ended, Lane: flow.Edge[int]{Capacity: 4, SettleDropped: flow.Term}}
			r := start(t, flow.FromItems(b).GroupBy(groups, modulo(3), running(c.run), flow.Name("groups")).ForEach(got.each))
			must(t, r.Wait())
			b.once(t)
			equal(t, "emitted", len(got.values()), c.emitted)
			equal(t, "acknowledged", len(b.kind(stage.Done)), c.emitted)
			equal(t, "terminated", len(b.kind(stage.Terminated)), 60-c.emitted)
			lanes := edgeStats(t, r, "groups.lanes")
			equal(t, "dropped by the lanes", lanes.Dropped[flow.DropShed], int64(60-c.emitted))
			equal(t, "out of the lanes", lanes.Out, int64(c.emitted))
			equal(t, "dropped in the report", r.Report().Dropped, int64(60-c.emitted))
			for k := range 3 {
				key := slices.DeleteFunc(got.values(), func(i int) bool { return i%3 != k })
				if !slices.IsSorted(key) {
					t.Fatalf("of key %d came %v, want the order of the input", k, key)
				}
			}
		})
	}
}

// T13, the guard: a stage that returns without taking the item that it was made for would be made again for ever. Right: with
// Reopen that is an error with the key, at once; the item has failed, and everything else is given back.
func TestT13GroupThatTakesNothingFails(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for name, run := range map[string]runInts{
		"without reading": func(context.Context, *inInts, *outInts) error { return nil },
		"with a context that is done": func(_ context.Context, in *inInts, _ *outInts) error {
			_, _ = in.Next(done)
			return nil
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			b := newBroker(40)
			var made atomic.Int32
			r := start(t, discard(flow.FromItems(b).GroupBy(flow.Groups[int]{}, func(i int) int { return i/7 - 3 },
				func(k int) stage.Stage[int, int] {
					if k == 0 {
						made.Add(1)
						return stage.StageFunc(run)
					}
					return forwarding(k)
				}, flow.Name("groups"))))
			err := r.Wait()
			wantText(t, err, `^groups \(key "0"\): the stage of a group returned without taking the item`)
			equal(t, "stages of the key", made.Load(), 1)
			equal(t, "failed", stageStats(t, r, "groups").Failed, 1)
			b.once(t)
			equal(t, "how its first item ended", b.outcome(t, 21).Err, err)
		})
	}
}

// Between two groups of a key, and when the last one ends, nothing is lost: what waited is the next one's.
func TestGroupByReopensForWhatWaits(t *testing.T) {
	inBubble(t, "two each, at the end", func(t *testing.T) {
		made := 0
		got, err := flow.FromSlice(ints(7)).GroupBy(flow.Groups[int]{Lane: flow.Edge[int]{Capacity: 9}}, func(int) string { return "k" },
			func(string) stage.Stage[int, string] {
				made++
				name := made
				return stage.StageFunc(func(ctx context.Context, in *inInts, out *stage.Out[string]) error {
					if name == 1 {
						time.Sleep(time.Second) // the stream has ended
					}
					for range 2 {
						it, err := in.Next(ctx)
						if err != nil {
							return err
						}
						if err := out.Emit(ctx, it.With(fmt.Sprint(name, ":", it.Value))); err != nil {
							return err
						}
					}
					return nil
				})
			}).Collect(t.Context(), 10)
		must(t, err)
		equalSlices(t, "items", got, []string{"1:0", "1:1", "2:2", "2:3", "3:4", "3:5", "4:6"})
	})
}

// A group that was dropping the rest of its key is forgotten when its place is needed, or when it has been idle.
func TestGroupByForgetsWhatItDrops(t *testing.T) {
	one := func(ctx context.Context, in *inInts, out *outInts) error {
		it, err := in.Next(ctx)
		if err != nil {
			return err
		}
		return out.Emit(ctx, it)
	}
	for name, c := range map[string]struct {
		groups flow.Groups[int]
		want   []int
	}{
		"not yet":             {flow.Groups[int]{Max: 2, Ended: flow.DropRest}, []int{10, 20}},
		"its place is needed": {flow.Groups[int]{Max: 1, Ended: flow.DropRest}, []int{10, 20, 12, 21}},
		"it was idle":         {flow.Groups[int]{Max: 2, Ended: flow.DropRest, Idle: 2500 * time.Millisecond}, []int{10, 20, 21}},
	} {
		inBubble(t, name, func(t *testing.T) {
			got := newSeen[int]()
			r := start(t, coming(time.Second, 10, 11, 20, 12, 13, 14, 21).GroupBy(c.groups, tens, running(one)).ForEach(got.each))
			time.Sleep(time.Minute)
			must(t, r.Drain(t.Context()))
			equalSlices(t, "values", got.values(), c.want)
		})
	}
}

// group is called by one goroutine at a time, for the first stage of a key and for those that follow.
func TestGroupByMakesOneStageAtATime(t *testing.T) {
	inBubble(t, "slow to make", func(t *testing.T) {
		busy, made := false, 0
		err := discard(flow.FromSlice(ints(40)).GroupBy(flow.Groups[int]{}, modulo(5), func(int) stage.Stage[int, int] {
			if busy {
				t.Error("two calls at a time")
			}
			busy = true
			time.Sleep(time.Second)
			busy = false
			made++
			return stage.StageFunc(func(ctx context.Context, in *inInts, _ *outInts) error {
				for range 4 {
					if _, err := in.Next(ctx); err != nil {
						return err
					}
				}
				return nil
			})
		})).Run(t.Context())
		must(t, err)
		equal(t, "stages", made, 10)
	})
}
