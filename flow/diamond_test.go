package flow_test

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
)

// unending is a source that goes on for ever.
func unending() flow.Flow[int] { return countUp("src") }

func countUp(name string) flow.Flow[int] {
	i := 0
	return flow.FromFunc(func(context.Context) (int, error) {
		i++
		return i, nil
	}, flow.Name(name))
}

// alone makes the pacer move single items: it takes longer over one than a chunk may take.
func alone(int) { time.Sleep(100 * time.Microsecond) }

func total(a, b int) int { return a + b }

// flatten hands on the elements of a batch.
func flatten(batch []int) []int { return batch }

// standsStill runs a pipeline, checked or not, and reports whether it has stood still: then the run has to say so, and nothing may
// be left of it that does.
func standsStill(t *testing.T, p flow.Pipeline) (still bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r, err := flow.Trusting(p).Start(t.Context())
		must(t, err)
		done := make(chan error, 1)
		go func() { done <- r.Wait() }()
		time.Sleep(time.Hour)
		select {
		case err := <-done:
			if _, still = errors.AsType[*flow.DeadlockError](err); !still {
				must(t, err)
			}
		default:
			stopped(t, r)
			t.Error("it stands still, and the run does not know")
			if err := <-done; err == nil {
				t.Error("a run that was stopped has ended well")
			}
		}
	})
	return still
}

type (
	intFlow = flow.Flow[int]
	shape   = func(f intFlow) intFlow
)

// two makes a diamond of a fan-out with two branches.
func two(a, b shape, join func(a, b intFlow) intFlow) shape {
	return func(f intFlow) intFlow {
		bs := f.Broadcast(2)
		return join(a(bs[0]), b(bs[1]))
	}
}

func zipped(a, b intFlow) intFlow      { return a.ZipWith(b, total) }
func interleaved(a, b intFlow) intFlow { return a.Interleave(2, b) }
func sorted(a, b intFlow) intFlow      { return a.MergeSorted(cmp.Compare[int], b) }
func chained(a, b intFlow) intFlow     { return a.Concat(b) }
func plain(f intFlow) intFlow          { return f }

// small gives a branch an edge that is soon full.
func small(f intFlow) intFlow { return f.Buffer(4, flow.Block) }

func seldom(i int) bool { return i%500 == 0 }

// refusedShapes are graphs that stand still whatever the capacities are, with what the finding says.
var refusedShapes = map[string]struct {
	build shape
	want  string
}{
	"a filter in front of a zip": {
		two(small, func(f intFlow) intFlow { return f.Filter(seldom) }, zipped),
		`zipwith#5 (%): its inputs 1 and 2 are branches of broadcast#2 (%), but do not give equally many items, because filter#4 (%) lets items go: once one of them is full, the other gets no more`,
	},
	"a filter in front of an interleave": {
		two(small, func(f intFlow) intFlow { return f.Filter(seldom) }, interleaved), `filter#4 (%) lets items go`,
	},
	"filters in both branches": {
		two(func(f intFlow) intFlow { return f.Filter(even) }, func(f intFlow) intFlow { return f.Filter(seldom) }, zipped),
		`filter#3 (%) lets items go and filter#4 (%) lets items go`,
	},
	"a branch that expands": {
		two(plain, func(f intFlow) intFlow { return f.FlatMap(func(i int) []int { return []int{i, i} }) }, zipped),
		`flatmap#3 (%) makes any number of items of one`,
	},
	"an edge whose items expire": {
		two(func(f intFlow) intFlow {
			return f.Edge(flow.Edge[int]{Name: "expiring", Capacity: 500, MaxWait: 50 * time.Microsecond})
		}, plain, zipped), `edge "expiring" (%) drops items: once one of them is full`,
	},
	"a step that lets failing items go": {
		two(plain, func(f intFlow) intFlow { return f.TryMap(failAt(3, errA), flow.OnError(flow.Skip)).Skip(200) }, zipped),
		`trymap#3 (%) lets failing items go`,
	},
	"values that are let go at the beginning": {
		two(plain, func(f intFlow) intFlow { return f.SkipWhile(func(i int) bool { return i < 1000 }) }, zipped), `skipwhile#3 (%) lets items go`,
	},
	"batches beside single items": {
		two(plain, func(f intFlow) intFlow { return f.Batch(8, 0).Map(size) }, zipped),
		`its inputs 1 and 2 are branches of broadcast#2 (%), but for 8 of the first come 1 of the second: once one of them is full, the other gets no more; batch both of them, or flatten the batches`,
	},
	"batches of two sizes": {
		two(func(f intFlow) intFlow { return f.Batch(6, 0).Map(size) }, func(f intFlow) intFlow { return f.Batch(4, 0).Map(size) }, zipped),
		`but for 2 of the first come 3 of the second`,
	},
	"a side pipeline's filter": {
		func(f intFlow) intFlow {
			var copied intFlow
			f = f.Tee(func(c intFlow) flow.Pipeline {
				bs := c.Broadcast(2)
				copied = bs[0].Filter(seldom)
				return discard(bs[1])
			})
			return zipped(f, copied)
		},
		`are branches of tee#2 (%)`,
	},
	"branches of a split into a zip": {
		func(f intFlow) intFlow { return zipped(f.Split(seldom)) }, `split#2.1 (%) gets only some of them`,
	},
	"branches of a partition into an interleave": {
		func(f intFlow) intFlow {
			bs := f.Partition(2, func(int) int { return 7 })
			return interleaved(bs[0], bs[1])
		}, `partition#2.1 (%) gets only some of them`,
	},
	"branches of a split into a sorted merge": {
		func(f intFlow) intFlow { return sorted(f.Split(seldom)) },
		`mergesorted#3 (%): its inputs 1 and 2 are branches of split#2 (%), which stands still when one of them is full while this waits for an item of the other: use Merge, MergePriority or ParallelByKey`,
	},
	"copies with other keys into a sorted merge": {
		two(plain, func(f intFlow) intFlow { return f.Map(func(i int) int { return i + 1000 }) }, sorted), `are branches of broadcast#2 (%)`,
	},
	"branches of a broadcast one after the other": {
		two(plain, plain, chained),
		`concat#3 (%): its inputs 1 and 2 are branches of broadcast#2 (%), which ends only when both have taken their items, and the later one has its turn when the earlier one has ended: use Merge`,
	},
	"branches of a partition one after the other": {
		func(f intFlow) intFlow {
			bs := f.Partition(2, twice)
			return chained(bs[0], bs[1])
		}, `are branches of partition#2 (%)`,
	},
	"a diamond in a diamond": {
		two(plain, two(plain, func(f intFlow) intFlow { return f.Filter(seldom) }, zipped), zipped), `are branches of broadcast#3 (%)`,
	},
}

func size(batch []int) int { return len(batch) }

// many is a graph of a shape with more items than its edges hold.
func many(build shape) flow.Pipeline {
	return build(unending()).Tap(alone).Take(2000).ForEach(func(context.Context, int) error { return nil })
}

var lineOf = regexp.MustCompile(`\(\w+\.go:\d+\)`)

func TestDiamondsThatStandStillWhateverTheCapacities(t *testing.T) {
	for name, c := range refusedShapes {
		t.Run(name, func(t *testing.T) {
			err := many(c.build).Check()
			if err == nil || !strings.Contains(lineOf.ReplaceAllString(err.Error(), "(%)"), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if !standsStill(t, many(c.build)) {
				t.Error("it does not stand still")
			}
		})
	}
}

// lossyShapes are graphs that go on, with what is paired slipping.
var lossyShapes = map[string]struct {
	build shape
	want  string
}{
	"an edge that drops": {
		two(func(f intFlow) intFlow { return f.Buffer(1, flow.DropNewest, flow.Name("lossy")) }, small, zipped),
		`but do not give equally many items, because edge "lossy" (%) drops items: from then on its items do not belong together`,
	},
	"edges that drop in both": {
		two(func(f intFlow) intFlow { return f.Buffer(1, flow.DropNewest, flow.Name("a")) },
			func(f intFlow) intFlow { return f.Buffer(1, flow.DropOldest, flow.Name("b")) }, zipped),
		`edge "a" (%) drops items and edge "b" (%) drops items: from then on`,
	},
	"the last value": {
		two(small, func(f intFlow) intFlow { return f.Conflate(func(_, next int) int { return next }) }, zipped), `conflate#5 (%) makes one item of several: from then on`,
	},
	"values behind a silence": {
		two(func(f intFlow) intFlow { return f.Debounce(time.Millisecond) }, small, zipped), `debounce#4 (%) lets items go: from then on`,
	},
	"a value in a while": {
		two(func(f intFlow) intFlow { return f.Sample(time.Millisecond) }, small, zipped), `sample#4 (%) lets items go: from then on`,
	},
	"values of its own": {
		two(func(f intFlow) intFlow { return f.KeepAlive(time.Microsecond, func() int { return 0 }) }, small, zipped), `keepalive#4 (%) adds items: from then on`,
	},
	"batches of a time": {
		two(func(f intFlow) intFlow { return f.Batch(50, time.Millisecond).Map(size) }, small, zipped), `batch#4 (%) makes batches of any size: from then on`,
	},
	"batches of a weight or a time": {
		two(func(f intFlow) intFlow {
			return f.BatchWeight(50, func(int) int64 { return 1 }, time.Millisecond).Map(size)
		}, small, zipped),
		`batchweight#4 (%) makes batches of any size: from then on`,
	},
}

// soundShapes are graphs with fan-outs that go on for ever.
var soundShapes = map[string]shape{
	"one for one": two(
		func(f intFlow) intFlow { return f.Buffer(1, flow.Block).Map(twice).TryMap(same).Buffer(1, flow.Block) },
		func(f intFlow) intFlow { return f.Buffer(1, flow.Block).Scan(0, total) }, zipped),
	"both batched": func(f intFlow) intFlow {
		bs := f.Broadcast(2)
		return bs[0].Buffer(1, flow.Block).Batch(5, 0).ZipWith(bs[1].Batch(5, 0), func(a, b []int) int { return len(a) + len(b) })
	},
	"a batch of a time flattened": two(func(f intFlow) intFlow { return f.Batch(5000, time.Millisecond).FlatMap(flatten) },
		func(f intFlow) intFlow { return f.Buffer(1, flow.Block) }, zipped),
	"a batch that a function has worked on": two(
		func(f intFlow) intFlow {
			return f.Batch(8, 0).Map(func(b []int) []string { return make([]string, len(b)) }).FlatMap(func(b []string) []int { return make([]int, len(b)) })
		}, plain, zipped),
	"parallel": two(func(f intFlow) intFlow { return f.Buffer(1, flow.Block).Parallel(8, same) },
		func(f intFlow) intFlow { return f.Buffer(1, flow.Block).ParallelByKey(3, twice, same) }, zipped),
	"best effort": two(func(f intFlow) intFlow { return f.BestEffort() }, small, zipped),
	"parts of one branch put together again": two(func(f intFlow) intFlow {
		bs := f.Partition(3, twice)
		return flow.Merge(small(bs[0]), bs[1], bs[2])
	}, small, zipped),
	"the value before": two(func(f intFlow) intFlow { return flow.FromSlice(ints(1)).Concat(f) }, plain, zipped),
	"with another source": func(f intFlow) intFlow {
		bs := f.Broadcast(2)
		return zipped(zipped(small(bs[0]), countUp("b").Filter(even)), small(bs[1]))
	},
	"two fan-outs crossed": func(f intFlow) intFlow {
		as, bs := f.Broadcast(2), countUp("b").Broadcast(2)
		return zipped(zipped(small(as[0]), small(bs[0])), zipped(small(bs[1]), small(as[1])))
	},
	"merged":                    two(small, func(f intFlow) intFlow { return f.Filter(seldom) }, func(a, b intFlow) intFlow { return flow.Merge(a, b) }),
	"merged by priority":        func(f intFlow) intFlow { return preferredSmall(f.Split(seldom)) },
	"a skewed split, merged":    func(f intFlow) intFlow { return mergedSmall(f.Split(seldom)) },
	"balanced into a zip":       balanced(zipped),
	"balanced and sorted":       balanced(sorted),
	"balanced, interleaved":     balanced(interleaved),
	"balanced, concatenated":    balanced(chained),
	"a later branch drops":      two(plain, func(f intFlow) intFlow { return f.Buffer(1, flow.DropNewest) }, chained),
	"a branch that ends before": two(func(f intFlow) intFlow { return f.Take(3) }, plain, chained),
	"a filter behind the join":  func(f intFlow) intFlow { return two(plain, plain, zipped)(f).Filter(even) },
}

func preferredSmall(a, b intFlow) intFlow { return flow.MergePriority(small(a), small(b)) }
func mergedSmall(a, b intFlow) intFlow    { return flow.Merge(small(a), small(b)) }

func balanced(join func(a, b intFlow) intFlow) shape {
	return func(f intFlow) intFlow {
		bs := f.Balance(2)
		return join(small(bs[0]), small(bs[1]))
	}
}

func TestDiamondsThatGoOnAndPairWhatDoesNotBelongTogether(t *testing.T) {
	for name, c := range lossyShapes {
		t.Run(name, func(t *testing.T) {
			build := func(f intFlow) intFlow {
				return c.build(f.Throttle(1, 10*time.Microsecond)) // or it might never wait, and time stand still
			}
			err := many(build).Check()
			if want := c.want; err == nil || !strings.Contains(lineOf.ReplaceAllString(err.Error(), "(%)"), want) {
				t.Errorf("got %v, want %s", err, want)
			}
			if standsStill(t, many(build)) {
				t.Error("it stands still")
			}
		})
	}
}

func TestDiamondsThatGoOn(t *testing.T) {
	for name, build := range soundShapes {
		t.Run(name, func(t *testing.T) {
			must(t, many(build).Check())
			if standsStill(t, many(build)) {
				t.Error("it stands still")
			}
		})
	}
}

// A source that is known to have no more items than the edges hold can't fill them.
func TestDiamondsWithFewItems(t *testing.T) {
	build := two(plain, func(f intFlow) intFlow { return f.Filter(seldom) }, zipped)
	for n, legal := range map[int]bool{flow.DefaultCapacity: true, flow.DefaultCapacity + 1: false} {
		for what, p := range map[string]flow.Pipeline{
			"slice": discard(build(flow.FromSlice(ints(n)))),
			"take":  discard(build(unending().Take(n))),
		} {
			if err := p.Check(); (err == nil) != legal {
				t.Errorf("%s of %d: %v", what, n, err)
			}
		}
	}
}
