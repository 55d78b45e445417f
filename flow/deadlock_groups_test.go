package flow_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

var groupGraphs = flag.Int("groups", 100, "how many random graphs with a GroupBy are run")

// gathering makes stages that hand on what they get as soon as they have n items, and the rest when their input ends.
func gathering(n int) func(int) stage.Stage[int, int] {
	return running(func(ctx context.Context, in *inInts, out *outInts) error {
		var held []int
		handOn := func() error {
			for _, v := range held {
				if err := out.Emit(ctx, stage.Item[int]{Value: v}); err != nil {
					return err
				}
			}
			held = held[:0]
			return nil
		}
		for it, err := range in.All(ctx) {
			if err != nil {
				return err
			}
			if held = append(held, it.Value); len(held) == n {
				if err := handOn(); err != nil {
					return err
				}
			}
		}
		return handOn()
	})
}

// crowded is a GroupBy by number modulo keys, behind a small edge and in front of one.
func crowded(f intFlow, g flow.Groups[int], keys int, group func(int) stage.Stage[int, int]) intFlow {
	return tiny(tiny(f).GroupBy(g, modulo(keys), group, flow.Name("groups")))
}

// behindABatch is a diamond whose first branch gives nothing before it has 50 items, so that the groups of the second one can't emit.
func behindABatch(g flow.Groups[int], keys int, group func(int) stage.Stage[int, int]) flow.Pipeline {
	a, b := fork()
	batched := a.Batch(50, 0, flow.Name("batch")).FlatMap(flatten)
	return discard(pairs(batched, crowded(b, g, keys, group)))
}

// groupKnots are graphs that stand still because of what groups do.
var groupKnots = map[string]knot{
	"groups that hold back": {func() flow.Pipeline {
		a, b := fork()
		return discard(pairs(crowded(a, flow.Groups[int]{}, 3, gathering(100)), tiny(b)))
	}, []string{"fork", "zip", "groups"}, true},
	"a thousand of them": {func() flow.Pipeline {
		a, b := fork()
		return discard(pairs(crowded(a, flow.Groups[int]{}, 1000, gathering(100)), b.Buffer(2000, flow.Block)))
	}, []string{"fork", "zip", "groups"}, true},
	"full lanes, of groups that wait for room": {func() flow.Pipeline {
		return behindABatch(flow.Groups[int]{Lane: flow.Edge[int]{Capacity: 1}}, 3, forwarding)
	}, []string{"fork", "groups", "groups", "zip", "batch"}, true},
	"lanes that are full by weight": {func() flow.Pipeline {
		lane := flow.Edge[int]{MaxWeight: 2, Weight: func(int) int64 { return 1 }}
		return behindABatch(flow.Groups[int]{Lane: lane}, 3, forwarding)
	}, []string{"fork", "groups", "groups", "zip", "batch"}, true},
	"no place for a group, all of which wait for room": {func() flow.Pipeline {
		return behindABatch(flow.Groups[int]{Max: 2}, 5, forwarding)
	}, []string{"fork", "groups", "groups", "zip", "batch"}, true},
	"no place for a group, the last of which waits for room to end": {func() flow.Pipeline {
		return behindABatch(flow.Groups[int]{Max: 1}, 2, func(int) stage.Stage[int, int] { return emitsAtEnd(3) })
	}, []string{"fork", "groups", "groups", "zip", "batch"}, true},
	"groups in front of a join that waits for another source": {func() flow.Pipeline {
		a, b := fork()
		first := crowded(a, flow.Groups[int]{}, 3, gathering(100))
		return flow.Join(discard(pairs(first, tiny(b))), discard(ticker().GroupBy(flow.Groups[int]{}, modulo(7), forwarding)))
	}, []string{"fork", "zip", "groups"}, true},
}

// emitsAtEnd emits n items when its input has ended.
func emitsAtEnd(n int) stage.Stage[int, int] {
	return viaFunc(func(ctx context.Context, in *inInts, out *outInts) error {
		for _, err := range in.All(ctx) {
			if err != nil {
				return err
			}
		}
		for i := range n {
			if err := out.Emit(ctx, stage.Item[int]{Value: i}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Groups are seen as all others are, however many there are.
func TestStuckGroupsAreFoundWithTheSecondLook(t *testing.T) { foundWithTheSecondLook(t, groupKnots) }

// The next group of a key waits for the last one, which can't end.
func TestStuckGroupOfTheSameKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := 0
		src := flow.FromFunc(func(ctx context.Context) (int, error) {
			i++
			return i, nap(ctx, 10*time.Second)
		})
		bs := src.Broadcast(2, flow.Name("fork"))
		batched := bs[0].Batch(50, 0, flow.Name("batch")).FlatMap(flatten)
		ends := crowded(bs[1], flow.Groups[int]{Idle: time.Second}, 1, func(int) stage.Stage[int, int] { return emitsAtEnd(3) })
		e := deadlock(t, flow.Trusting(discard(pairs(batched, ends))).Run(t.Context()))
		equalSlices(t, "stages", turned(names(e), "fork"), []string{"fork", "groups", "groups", "zip", "batch"})
	})
}

// The report says how many groups wait, and where; of lanes, that of which one is full.
func TestReportOfGroups(t *testing.T) {
	tests := map[string]struct {
		groups flow.Groups[int]
		keys   int
		want   []string
	}{
		"lanes": {flow.Groups[int]{Lane: flow.Edge[int]{Capacity: 2}}, 3, []string{
			`"groups" waits to write edge "groups.lanes", 2 of 2, block, for 2s, 3 groups`,
			`"groups" waits to write edge "buffer#`, `, 1 of 1, block, for 2s, 3 groups`,
		}},
		"the place of the only group": {flow.Groups[int]{Max: 1}, 5, []string{
			`"groups" waits for its groups, for 2s, 1 group `,
			`, 1 of 1, block, for 2s, 1 group `,
		}},
		"places": {flow.Groups[int]{Max: 2}, 5, []string{
			`"groups" waits for its groups, for 2s, 2 groups`,
			`, 1 of 1, block, for 2s, 2 groups`,
		}},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := deadlock(t, flow.Trusting(behindABatch(c.groups, c.keys, forwarding)).Run(t.Context()))
				text := strings.Join(strings.Fields(e.Error()), " ")
				for _, want := range c.want {
					if !strings.Contains(text, want) {
						t.Errorf("got\n%v\nwant %s in it", e, want)
					}
				}
				if e.Smallest == "groups.lanes" {
					t.Error("the lanes are called the smallest edge, though they can't grow")
				}
			})
		})
	}
}

// Edges around groups grow as others do, until the graph goes on.
func TestGrowAroundGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bs := flow.FromSlice(ints(64)).Broadcast(2, flow.Name("fork"))
		first := crowded(bs[0], flow.Groups[int]{}, 2, gathering(8))
		items := 0
		p := discard(pairs(first, tiny(bs[1])).Tap(func(int) { items++ }))
		must(t, flow.Trusting(p).OnDeadlock(flow.DeadlockConfig{Grow: 1000}).Run(t.Context()))
		equal(t, "items", items, 64)
	})
}

// Code of a group that does not return is named, though the goroutine that spreads the items only waits for more.
func TestStallInAGroupIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []flow.Stall
		gate := make(chan int, 1)
		gate <- 1
		time.AfterFunc(3*time.Minute, func() { close(gate) })
		p := discard(flow.FromChan(gate).Buffer(1, flow.Block).GroupBy(flow.Groups[int]{}, modulo(2), running(
			func(ctx context.Context, in *inInts, _ *outInts) error {
				if _, err := in.Next(ctx); err != nil {
					return err
				}
				return nap(ctx, 2*time.Minute)
			}), flow.Name("groups")))
		must(t, p.OnDeadlock(flow.DeadlockConfig{Stalled: func(s flow.Stall) { told = append(told, s) }}).Run(t.Context()))
		equal(t, "stalls", len(told), 1)
		equalSlices(t, "stages", told[0].Stages, []string{"groups"})
	})
}

// healthyGroups wait for a long time, and go on.
var healthyGroups = map[string]func() flow.Pipeline{
	"groups that take their time": func() flow.Pipeline {
		bs := flow.FromSlice(ints(60)).Broadcast(2)
		slow := func(ctx context.Context, it stage.Item[int], out *outInts) error {
			if err := nap(ctx, time.Duration(it.Value%7)*time.Hour); err != nil {
				return err
			}
			return out.Emit(ctx, it)
		}
		first := crowded(bs[0], flow.Groups[int]{Max: 3}, 5, func(int) stage.Stage[int, int] { return eachItem(slow, nothing) })
		return discard(pairs(first, tiny(bs[1])))
	},
	"groups that end when they have had nothing to do": func() flow.Pipeline {
		bs := flow.FromSlice(ints(64)).Broadcast(2)
		first := crowded(bs[0], flow.Groups[int]{Idle: time.Minute}, 3, gathering(100))
		return discard(pairs(first, tiny(bs[1])))
	},
	"groups that emit with a limit in time": func() flow.Pipeline {
		patient := func(ctx context.Context, it stage.Item[int], out *outInts) error {
			short, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			if err := out.Emit(short, it); err != nil && ctx.Err() != nil {
				return err
			}
			return nil
		}
		bs := flow.FromSlice(ints(200)).Broadcast(2)
		batched := bs[0].Batch(50, 0).FlatMap(flatten)
		lanes := flow.Groups[int]{Max: 2, Lane: flow.Edge[int]{Capacity: 1}}
		second := crowded(bs[1], lanes, 3, func(int) stage.Stage[int, int] { return eachItem(patient, nothing) })
		return discard(pairs(batched, second))
	},
	"a group whose stage has returned, and which drops the rest": func() flow.Pipeline {
		once := running(func(ctx context.Context, in *inInts, _ *outInts) error {
			_, err := in.Next(ctx)
			return err
		})
		return discard(flow.FromSlice(ints(200)).GroupBy(flow.Groups[int]{Max: 2, Ended: flow.DropRest}, modulo(3), once))
	},
	"a group that was woken for an item that was late, and whose place is needed": func() flow.Pipeline {
		began := time.Now()
		deadline := func(i int) time.Time {
			if i == 11 {
				return began
			}
			return began.Add(1000 * time.Hour)
		}
		lane := flow.Edge[int]{Deadline: deadline}
		return discard(pausing(time.Minute, 10, 12, 11, 20, 30).GroupBy(flow.Groups[int]{Max: 1, Lane: lane}, tens, forwarding))
	},
	"a lane that is full for an hour, while another group waits for room": func() flow.Pipeline {
		return besideAWait(flow.Groups[int]{Lane: flow.Edge[int]{Capacity: 1}}, 0)
	},
	"a place that is free in an hour, while another group waits for room": func() flow.Pipeline {
		return besideAWait(flow.Groups[int]{Max: 2}, 1)
	},
	"a Make that takes an hour": func() flow.Pipeline {
		bs := flow.FromSlice(ints(12)).Broadcast(2)
		first := crowded(bs[0], flow.Groups[int]{Max: 2}, 3, func(k int) stage.Stage[int, int] {
			time.Sleep(time.Hour)
			return forwarding(k)
		})
		return discard(pairs(first, tiny(bs[1])))
	},
}

// besideAWait is a diamond that is healthy, though one of its groups can't emit before the others have taken all that comes after its three
// items: that of key 0 takes them, or its first ones until key 1 comes, but not in the first hour.
func besideAWait(g flow.Groups[int], first int) flow.Pipeline {
	key := func(i int) int {
		switch {
		case i < 3:
			return 2
		case i == 3:
			return 0
		}
		return first
	}
	group := func(k int) stage.Stage[int, int] {
		if k == 2 {
			return forwarding(k)
		}
		slow := k == 0
		return eachItem(func(ctx context.Context, _ stage.Item[int], _ *outInts) error {
			if slow {
				slow = false
				return nap(ctx, time.Hour)
			}
			return nil
		}, nothing)
	}
	bs := flow.FromSlice(ints(100)).Broadcast(2)
	batched := bs[0].Batch(50, 0).FlatMap(flatten)
	return discard(pairs(batched, tiny(tiny(bs[1]).GroupBy(g, key, group))))
}

// pausing is a source of values, each after a pause, and their end.
func pausing(pause time.Duration, vs ...int) intFlow {
	src := flow.FromSlice(vs)
	return src.TryMap(func(ctx context.Context, i int) (int, error) { return i, nap(ctx, pause) })
}

// None of them is taken for one that stands still.
func TestHealthyGroupsAreLeftAlone(t *testing.T) {
	for name, build := range healthyGroups {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { must(t, watched(flow.Trusting(build())).Run(t.Context())) })
		})
	}
}

// groupSketch is a random diamond with a GroupBy in one branch.
type groupSketch struct {
	seed                 uint64
	items, keys, most    int
	lane, before, behind int // capacities
	aside, after         int
	gathers, batch       int
	idle, pause          time.Duration
	first                bool // it is the first branch
}

func newGroupSketch(seed uint64) *groupSketch {
	rng := rand.New(rand.NewPCG(seed, 3))
	s := &groupSketch{
		seed: seed, items: 20 + rng.IntN(60), keys: 1 + rng.IntN(6), most: 1 + rng.IntN(6), lane: 1 + rng.IntN(3),
		before: 1 + rng.IntN(3), behind: 1 + rng.IntN(3), aside: 1 + rng.IntN(8), after: 1 + rng.IntN(3), gathers: 1, batch: 1,
		first: rng.IntN(2) == 0,
	}
	if rng.IntN(3) == 0 {
		s.pause = time.Duration(1+rng.IntN(3)) * time.Millisecond
	}
	return s
}

// stuck makes it one that may stand still, and does not wait for a time.
func (s *groupSketch) stuck() *groupSketch {
	rng := rand.New(rand.NewPCG(s.seed, 4))
	s.gathers, s.batch, s.pause = 1+rng.IntN(4), 1+rng.IntN(12), 0
	return s
}

func (s *groupSketch) String() string { return fmt.Sprintf("%+v", *s) }

// sometimes waits for a random time, which may be none.
func (s *groupSketch) sometimes(i int) {
	switch h := uint64(i)*0x9e3779b97f4a7c15 + s.seed; {
	case s.pause == 0:
	case h>>60 < 3:
		time.Sleep(s.pause * time.Duration(h>>58&7))
	case h>>60 < 6:
		runtime.Gosched()
	}
}

func (s *groupSketch) build() flow.Pipeline {
	bs := flow.FromSlice(ints(s.items)).Tap(s.sometimes).Broadcast(2)
	g := flow.Groups[int]{Max: s.most, Idle: s.idle, Lane: flow.Edge[int]{Capacity: s.lane}}
	one := bs[0].Buffer(s.before, flow.Block).GroupBy(g, modulo(s.keys), gathering(s.gathers)).Buffer(s.behind, flow.Block)
	other := bs[1].Buffer(s.aside, flow.Block).Tap(s.sometimes).Batch(s.batch, 0).FlatMap(flatten).Buffer(s.after, flow.Block)
	if s.first {
		return flow.Trusting(discard(pairs(one, other).Tap(s.sometimes)))
	}
	return flow.Trusting(discard(pairs(other, one).Tap(s.sometimes)))
}

// Diamonds of groups that hand on one item for each are healthy, whatever takes how long and however often they are looked at.
func TestRandomGroupsAreLeftAlone(t *testing.T) {
	first := rand.Uint64()
	for i := range *groupGraphs {
		s := newGroupSketch(first + uint64(i))
		if i%2 == 0 {
			s.idle = time.Millisecond
		}
		every := flow.DeadlockConfig{Interval: time.Duration(1+i%3) * 100 * time.Microsecond}
		synctest.Test(t, func(t *testing.T) {
			if err := s.build().OnDeadlock(every).Run(t.Context()); err != nil {
				t.Fatalf("%v: %v", s, err)
			}
		})
	}
}

// The same in real time, where goroutines are at any place when they are looked at, and where there is one processor, which is busy.
func TestRandomGroupsOfStarvedProcessorsAreLeftAlone(t *testing.T) {
	first := rand.Uint64()
	all := func(n, items int) {
		for i := range n {
			s := newGroupSketch(first + uint64(i))
			s.items, s.pause = items, 0
			if err := s.build().OnDeadlock(flow.DeadlockConfig{Interval: time.Microsecond}).Run(t.Context()); err != nil {
				t.Fatalf("%v: %v", s, err)
			}
		}
	}
	all(30, 300)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var over atomic.Bool
	defer over.Store(true)
	go func() {
		for !over.Load() { // it does nothing, and takes its time
		}
	}()
	all(3, 20)
}

// Random diamonds whose groups and batches hold back end at once, or say that they stand still. Nobody in them waits for a time, so time passes
// just when nothing can move any more: what is told with the second look, and not before, is so.
func TestRandomGroupsThatStandStillSaySo(t *testing.T) {
	first := rand.Uint64()
	still := 0
	for i := range *groupGraphs {
		s := newGroupSketch(first + uint64(i)).stuck()
		synctest.Test(t, func(t *testing.T) {
			r := start(t, s.build())
			began := time.Now()
			select {
			case <-r.Done():
			case <-time.After(time.Hour):
				stopped(t, r)
				t.Fatalf("%v stands still, and nobody says so", s)
			}
			err, want := r.Wait(), time.Duration(0)
			if err != nil {
				_ = deadlock(t, err)
				still++
				want = 2 * time.Second
			}
			if d := time.Since(began); d != want {
				t.Fatalf("%v has ended after %v, want %v, with error %v", s, d, want, err)
			}
		})
	}
	t.Logf("%d of %d stood still", still, *groupGraphs)
	if n := *groupGraphs; still < n/10 || still > n*9/10 {
		t.Error("the graphs are too much alike to say anything")
	}
}

// The report of groups in docs/deadlock.md is the one that the graph beside it gives, to the letter.
func TestDocumentedReportOfGroups(t *testing.T) {
	text, err := os.ReadFile("../docs/deadlock.md")
	must(t, err)
	_, rest, _ := strings.Cut(string(text), runTimeReport)
	_, rest, _ = strings.Cut(rest, runTimeReport)
	want, _, found := strings.Cut(runTimeReport+rest, "\n```")
	if !found {
		t.Fatal("there is no second report in the document")
	}
	synctest.Test(t, func(t *testing.T) {
		oneByOne := func(context.Context) (int, error) {
			time.Sleep(time.Nanosecond)
			return 1, nil
		}
		each := 0
		customer := func(int) int {
			each++
			return each % 10
		}
		copies := flow.FromFunc(oneByOne, flow.Name("orders")).Buffer(1, flow.Block).Broadcast(2, flow.Name("copies"))
		bills := copies[0].Batch(500, 0, flow.Name("bills")).FlatMap(flatten)
		checked := copies[1].GroupBy(flow.Groups[int]{Max: 10}, customer, forwarding, flow.Name("customers"))
		p := flow.Trusting(discard(bills.ZipWith(checked, total, flow.Name("pairs"))))
		if got := deadlock(t, p.Run(t.Context())).Error(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}
