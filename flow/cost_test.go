package flow_test

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

type cost struct {
	name              string
	goroutines, edges int // of a pipeline from one source, or two, to a sink
	build             func(a, b flow.Flow[int]) flow.Pipeline
}

// fusedSteps are the operators that are said to be fused: no goroutine, no queue.
var fusedSteps = map[string]func(f flow.Flow[int]) flow.Flow[int]{
	"Map":          func(f flow.Flow[int]) flow.Flow[int] { return f.Map(twice) },
	"Tap":          func(f flow.Flow[int]) flow.Flow[int] { return f.Tap(func(int) {}) },
	"TryMap":       func(f flow.Flow[int]) flow.Flow[int] { return f.TryMap(same) },
	"Filter":       func(f flow.Flow[int]) flow.Flow[int] { return f.Filter(even) },
	"FilterMap":    func(f flow.Flow[int]) flow.Flow[int] { return f.FilterMap(func(i int) (int, bool) { return i, true }) },
	"FlatMap":      func(f flow.Flow[int]) flow.Flow[int] { return f.FlatMap(ints) },
	"Scan":         func(f flow.Flow[int]) flow.Flow[int] { return f.Scan(0, func(sum, i int) int { return sum + i }) },
	"Take":         func(f flow.Flow[int]) flow.Flow[int] { return f.Take(9) },
	"TakeWhile":    func(f flow.Flow[int]) flow.Flow[int] { return f.TakeWhile(even) },
	"Skip":         func(f flow.Flow[int]) flow.Flow[int] { return f.Skip(9) },
	"SkipWhile":    func(f flow.Flow[int]) flow.Flow[int] { return f.SkipWhile(even) },
	"Distinct":     func(f flow.Flow[int]) flow.Flow[int] { return f.Distinct(9, twice) },
	"Dedup":        func(f flow.Flow[int]) flow.Flow[int] { return f.Dedup(time.Hour, 9, twice) },
	"Throttle":     func(f flow.Flow[int]) flow.Flow[int] { return f.Throttle(9, time.Second) },
	"ThrottleCost": func(f flow.Flow[int]) flow.Flow[int] { return f.ThrottleCost(weighing, 9, time.Second) },
	"Stamp":        func(f flow.Flow[int]) flow.Flow[int] { return f.Stamp(unchanged) },
	"BestEffort":   func(f flow.Flow[int]) flow.Flow[int] { return f.BestEffort() },
}

func weighing(int) int64 { return 1 }

func unchanged(_ int, m stage.Meta) stage.Meta { return m }

// An edge is in front of these, and the goroutine behind it is that of what is downstream.
var withEdge = map[string]func(f flow.Flow[int]) flow.Pipeline{
	"Buffer":      func(f flow.Flow[int]) flow.Pipeline { return discard(f.Buffer(9, flow.Block)) },
	"Batch":       func(f flow.Flow[int]) flow.Pipeline { return f.Batch(9, 0).To(stage.Discard[[]int]()) },
	"BatchWeight": func(f flow.Flow[int]) flow.Pipeline { return f.BatchWeight(9, weighing, 0).To(stage.Discard[[]int]()) },
	"Debounce":    func(f flow.Flow[int]) flow.Pipeline { return discard(f.Debounce(time.Second)) },
	"Sample":      func(f flow.Flow[int]) flow.Pipeline { return discard(f.Sample(time.Second)) },
	"Conflate": func(f flow.Flow[int]) flow.Pipeline {
		return discard(f.Conflate(func(_, next int) int { return next }))
	},
	"IdleTimeout":  func(f flow.Flow[int]) flow.Pipeline { return discard(f.IdleTimeout(time.Hour)) },
	"KeepAlive":    func(f flow.Flow[int]) flow.Pipeline { return discard(f.KeepAlive(time.Hour, func() int { return 0 })) },
	"Expand":       func(f flow.Flow[int]) flow.Pipeline { return discard(f.Expand(times)) },
	"Gather":       func(f flow.Flow[int]) flow.Pipeline { return f.To(stage.Discard[int](), flow.Gather(9, 0)) },
	"ForEachBatch": func(f flow.Flow[int]) flow.Pipeline { return f.ForEachBatch(9, 0, (&tally{}).Push) },
}

var costs = []cost{
	{"Parallel", 1 + 3 + 1, 2, func(a, _ flow.Flow[int]) flow.Pipeline { return discard(a.Parallel(3, same)) }},
	{"ParallelByKey", (3 + 1) + 1, 3 + 1, func(a, _ flow.Flow[int]) flow.Pipeline { return discard(a.ParallelByKey(3, even, same)) }},
	{"Via", 1 + 1 + 1, 2, func(a, _ flow.Flow[int]) flow.Pipeline {
		return discard(a.Via(stage.StageFunc[int, int](func(ctx context.Context, in *stage.In[int], _ *stage.Out[int]) error {
			_, err := in.Next(ctx)
			return err
		})))
	}},
	{"Workers", 1 + 3, 1, func(a, _ flow.Flow[int]) flow.Pipeline { return a.To(stage.Discard[int](), flow.Workers(3)) }},
	{"Tee", 1 + 2, 2, func(a, _ flow.Flow[int]) flow.Pipeline { return discard(a.Tee(discard)) }},
	{"Broadcast", 1 + 2, 2, func(a, _ flow.Flow[int]) flow.Pipeline { return both(a.Broadcast(2)) }},
	{"Split", 1 + 2, 2, func(a, _ flow.Flow[int]) flow.Pipeline {
		yes, no := a.Split(even)
		return both([]flow.Flow[int]{yes, no})
	}},
	{"Partition", 1 + 2, 2, func(a, _ flow.Flow[int]) flow.Pipeline { return both(a.Partition(2, even)) }},
	{"Balance", 1 + 2, 1, func(a, _ flow.Flow[int]) flow.Pipeline { return both(a.Balance(2)) }},
	{"Merge", 2 + 1, 1, func(a, b flow.Flow[int]) flow.Pipeline { return discard(flow.Merge(a, b)) }},
	{"MergePriority", 2 + 1, 2, func(a, b flow.Flow[int]) flow.Pipeline { return discard(flow.MergePriority(a, b)) }},
	{"MergeSorted", 2 + 1, 2, func(a, b flow.Flow[int]) flow.Pipeline { return discard(a.MergeSorted(cmp.Compare[int], b)) }},
	{"Interleave", 2 + 1, 2, func(a, b flow.Flow[int]) flow.Pipeline { return discard(a.Interleave(3, b)) }},
	{"Zip", 2 + 1, 2, func(a, b flow.Flow[int]) flow.Pipeline { return a.Zip(b).To(stage.Discard[flow.Pair[int, int]]()) }},
	{"ZipWith", 2 + 1, 2, func(a, b flow.Flow[int]) flow.Pipeline { return discard(a.ZipWith(b, func(a, _ int) int { return a })) }},
	{"Concat", 1, 0, func(a, b flow.Flow[int]) flow.Pipeline { return discard(a.Concat(b)) }},
	{"ToHub", 1, 0, func(a, _ flow.Flow[int]) flow.Pipeline { return a.ToHub(flow.NewBroadcastHub[int](1, 1)) }},
	{"ToChan", 1, 0, func(a, _ flow.Flow[int]) flow.Pipeline { return a.ToChan(make(chan int)) }},
	{"ToSubscriber", 1, 0, func(a, _ flow.Flow[int]) flow.Pipeline {
		p, _ := a.ToSubscriber(&credited{})
		return p
	}},
}

func both(branches []flow.Flow[int]) flow.Pipeline {
	return flow.Join(discard(branches[0]), discard(branches[1]))
}

// The goroutines and edges that the doc comments promise are those of the graph, and the goroutines are those that run.
func TestOperatorsCostTheGoroutinesAndEdgesTheySay(t *testing.T) {
	all := costs
	for name, step := range fusedSteps {
		all = append(all, cost{name, 1, 0, func(a, _ flow.Flow[int]) flow.Pipeline { return discard(step(a)) }})
	}
	for name, operator := range withEdge {
		all = append(all, cost{name, 2, 1, func(a, _ flow.Flow[int]) flow.Pipeline { return operator(a) }})
	}
	for _, c := range all {
		inBubble(t, c.name, func(t *testing.T) {
			waiting := func() flow.Flow[int] { return flow.From(stage.SourceFunc(blocked)) }
			g := c.build(waiting(), waiting()).Graph()
			equal(t, "goroutines of the graph", g.Goroutines, c.goroutines)
			equal(t, "edges", len(g.Edges), c.edges)
			before := bubbled()
			r := start(t, c.build(waiting(), waiting()))
			synctest.Wait()
			equal(t, "goroutines that run", bubbled()-before, c.goroutines)
			stopped(t, r)
		})
	}
}

// bubbled returns how many goroutines the caller's bubble has. Those of the process include some of earlier tests that are about to
// end. A dump begins with the caller.
func bubbled() int {
	buf := make([]byte, 1<<20)
	dump := string(buf[:runtime.Stack(buf, true)])
	_, id, _ := strings.Cut(dump, "synctest bubble ")
	id, _, _ = strings.Cut(id, "]")
	return strings.Count(dump, "synctest bubble "+id+"]")
}

// What is called "a call of fn" is one call for each value.
func TestUserCodeIsCalledOncePerValue(t *testing.T) {
	const n = 1000
	for name, build := range map[string]func(f flow.Flow[int], count func()) flow.Pipeline{
		"Map": func(f flow.Flow[int], count func()) flow.Pipeline {
			return discard(f.Map(func(i int) int { count(); return i }))
		},
		"Filter": func(f flow.Flow[int], count func()) flow.Pipeline {
			return discard(f.Filter(func(i int) bool { count(); return even(i) }))
		},
		"Scan": func(f flow.Flow[int], count func()) flow.Pipeline {
			return discard(f.Scan(0, func(_, i int) int { count(); return i }))
		},
		"TakeWhile": func(f flow.Flow[int], count func()) flow.Pipeline {
			return discard(f.TakeWhile(func(int) bool { count(); return true }))
		},
		"SkipWhile": func(f flow.Flow[int], count func()) flow.Pipeline {
			return discard(f.SkipWhile(func(int) bool { count(); return true }))
		},
		"Distinct": func(f flow.Flow[int], count func()) flow.Pipeline {
			return discard(f.Distinct(9, func(i int) int { count(); return i % 20 }))
		},
		"Stamp": func(f flow.Flow[int], count func()) flow.Pipeline {
			return discard(f.Stamp(func(_ int, m stage.Meta) stage.Meta { count(); return m }))
		},
		"ThrottleCost": func(f flow.Flow[int], count func()) flow.Pipeline {
			return discard(f.ThrottleCost(func(int) int64 { count(); return 1 }, 2*n, time.Second))
		},
		"Split": func(f flow.Flow[int], count func()) flow.Pipeline {
			yes, no := f.Split(func(i int) bool { count(); return even(i) })
			return both([]flow.Flow[int]{yes, no})
		},
		"Partition": func(f flow.Flow[int], count func()) flow.Pipeline {
			return both(f.Partition(2, func(i int) int { count(); return i }))
		},
		"ParallelByKey": func(f flow.Flow[int], count func()) flow.Pipeline {
			return discard(f.ParallelByKey(3, func(i int) int { count(); return i }, same))
		},
		"Edge with a weight": func(f flow.Flow[int], count func()) flow.Pipeline {
			return discard(f.Edge(flow.Edge[int]{Capacity: n, MaxWeight: n, Weight: func(int) int64 { count(); return 1 }}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			must(t, build(flow.From(counting(n)), func() { calls++ }).Run(t.Context()))
			equal(t, "calls", calls, n)
		})
	}
}

// SkipWhile asks no more once a value has passed.
func TestSkipWhileStopsAsking(t *testing.T) {
	calls := 0
	must(t, discard(flow.FromSlice(ints(100)).SkipWhile(func(i int) bool { calls++; return i < 9 })).Run(t.Context()))
	equal(t, "calls", calls, 10)
}

// MergeSorted compares about log2 of the number of inputs times for a value, at most twice that.
func TestMergeSortedComparesLittle(t *testing.T) {
	const each = 500
	for inputs, log2 := range map[int]int{2: 1, 4: 2, 8: 3, 16: 4, 64: 6} {
		calls := 0
		fs := make([]flow.Flow[int], inputs)
		for i := range fs {
			fs[i] = flow.From(counting(each))
		}
		count := func(a, b int) int {
			calls++
			return cmp.Compare(a, b)
		}
		must(t, discard(fs[0].MergeSorted(count, fs[1:]...)).Run(t.Context()))
		if per := float64(calls) / float64(inputs*each); per > float64(2*log2) {
			t.Errorf("%d inputs: %.2f comparisons for a value, want at most %d", inputs, per, 2*log2)
		}
	}
}

// What TakeWhile and ToChan read is one value a pull: what is behind the last one wanted is not read.
func TestTakeWhileAndToChanPullValueByValue(t *testing.T) {
	for name, build := range map[string]func(f flow.Flow[int]) flow.Pipeline{
		"TakeWhile": func(f flow.Flow[int]) flow.Pipeline { return discard(f.TakeWhile(func(int) bool { return true })) },
		"ToChan":    func(f flow.Flow[int]) flow.Pipeline { return f.ToChan(make(chan int, 100)) },
	} {
		t.Run(name, func(t *testing.T) {
			src, pulls := counting(100), 0
			f := flow.From(stage.SourceFunc(func(ctx context.Context, dst []int) (int, error) {
				if pulls++; len(dst) != 1 {
					return 0, errors.New("asked for more than one")
				}
				return src.Pull(ctx, dst)
			}))
			must(t, build(f).Run(t.Context()))
			equal(t, "pulls", pulls, 101)
		})
	}
}
