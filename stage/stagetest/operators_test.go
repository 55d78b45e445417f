package stagetest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
	"github.com/weir-go/weir/stage/stagetest"
)

// kitOperator is an operator under the conformance kit, with what it says of itself.
type kitOperator struct {
	name string
	opts stagetest.StageOptions[int, int]
	put  func(f flow.Flow[int], work stagetest.Work) flow.Flow[int]
}

// makes are the options of an operator that makes want of 0, 1, 2, ..., and holds so many values.
func makes(want func(in []int) []int, holds int) stagetest.StageOptions[int, int] {
	return stagetest.StageOptions[int, int]{Item: func(i int) int { return i }, Want: want, Holds: holds, Bubble: true}
}

// each makes the results of every value by itself.
func perValue(of func(v int) []int) func(in []int) []int {
	return func(in []int) (out []int) {
		for _, v := range in {
			out = append(out, of(v)...)
		}
		return out
	}
}

// asGiven returns what goes in.
func asGiven(in []int) []int { return in }

// onlyIf keeps some values.
func onlyIf(keep func(int) bool) func(in []int) []int {
	return perValue(func(v int) []int {
		if keep(v) {
			return []int{v}
		}
		return nil
	})
}

func even(v int) bool { return v%2 == 0 }

func not(pred func(int) bool) func(int) bool { return func(v int) bool { return !pred(v) } }

func under(limit int) func(int) bool { return func(v int) bool { return v < limit } }

// The options of what is not plain.

type kitOption func(*stagetest.StageOptions[int, int])

func with(o stagetest.StageOptions[int, int], opts ...kitOption) stagetest.StageOptions[int, int] {
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

func noError(o *stagetest.StageOptions[int, int]) { o.Plain = true }

func unordered(o *stagetest.StageOptions[int, int]) { o.Unordered = true }

func workers(n int) kitOption { return func(o *stagetest.StageOptions[int, int]) { o.Workers = n } }

func lettingGo(pred func(int) bool) kitOption {
	return func(o *stagetest.StageOptions[int, int]) { o.LetGo = pred }
}

func leavingOut(rule, why string) kitOption {
	return func(o *stagetest.StageOptions[int, int]) { o.Skip = map[string]string{rule: why} }
}

func fits(fn func(in, out []int) error) kitOption {
	return func(o *stagetest.StageOptions[int, int]) { o.Fits = fn }
}

// keyed says that values of one key keep their order, and others don't.
func orderedBy(key func(int) int) kitOption {
	return func(o *stagetest.StageOptions[int, int]) {
		o.Unordered, o.Key = true, func(v int) string { return strconv.Itoa(key(v)) }
	}
}

func mod3(v int) int { return v % 3 }

func mod7(v int) int { return v % 7 }

func mod50(v int) int { return v % 50 }

// Values of another flow are below 0, and have no claim.

func others() flow.Flow[int] { return flow.FromSlice([]int{-3, -2, -1}) }

func own(o *stagetest.StageOptions[int, int]) { o.Own = under(0) }

func sign(v int) int { return cmp.Compare(v, 0) | 1 }

func discard(f flow.Flow[int]) flow.Pipeline { return f.To(stage.Discard[int]()) }

// User code of operators, which does the work.

func plainWork(work stagetest.Work) { _ = work(context.Background()) }

func mapped(work stagetest.Work) func(int) int {
	return func(v int) int {
		plainWork(work)
		return v
	}
}

func called(work stagetest.Work) func(context.Context, int) (int, error) {
	return func(ctx context.Context, v int) (int, error) { return v, work(ctx) }
}

func deciding(work stagetest.Work, keep func(int) bool) func(int) bool {
	return func(v int) bool {
		plainWork(work)
		return keep(v)
	}
}

// handsOn is a custom stage that does the work and hands on what it gets.
func handsOn(work stagetest.Work) stage.Stage[int, int] {
	return stage.StageFunc(func(ctx context.Context, in *stage.In[int], out *stage.Out[int]) error {
		for it, err := range in.All(ctx) {
			if err == nil {
				err = work(ctx)
			}
			if err == nil {
				err = out.Emit(ctx, it)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// steps are the operators without a goroutine.
var kitSteps = []kitOperator{
	{"Map", with(makes(asGiven, 1), noError), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] { return f.Map(mapped(work)) }},
	{"TryMap", makes(asGiven, 1), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] { return f.TryMap(called(work)) }},
	{"Filter", with(makes(onlyIf(even), 1), noError, lettingGo(not(even))), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
		return f.Filter(deciding(work, even))
	}},
	{"FilterMap", with(makes(onlyIf(even), 1), noError, lettingGo(not(even))), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
		return f.FilterMap(func(v int) (int, bool) {
			plainWork(work)
			return v, even(v)
		})
	}},
	{"FlatMap", with(makes(perValue(several), 1), noError, lettingGo(func(v int) bool { return v%3 == 0 })), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
		return f.FlatMap(func(v int) []int {
			plainWork(work)
			return several(v)
		})
	}},
	{"Scan", with(makes(runningSum, 1), noError), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
		return f.Scan(0, func(sum, v int) int {
			plainWork(work)
			return sum + v
		})
	}},
	{"Tap", with(makes(asGiven, 1), noError), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
		return f.Tap(func(int) { plainWork(work) })
	}},
	{"Stamp", with(makes(asGiven, 1), noError), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
		return f.Stamp(func(_ int, m stage.Meta) stage.Meta {
			plainWork(work)
			return m
		})
	}},
	{"Take", with(makes(onlyIf(under(9)), 1), lettingGo(not(under(9)))), func(f flow.Flow[int], _ stagetest.Work) flow.Flow[int] { return f.Take(9) }},
	{"TakeWhile", with(makes(onlyIf(under(9)), 1), noError, lettingGo(not(under(9)))), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
		return f.TakeWhile(deciding(work, under(9)))
	}},
	{"Skip", with(makes(onlyIf(not(under(5))), 1), lettingGo(under(5))), func(f flow.Flow[int], _ stagetest.Work) flow.Flow[int] { return f.Skip(5) }},
	{"SkipWhile", with(makes(onlyIf(not(under(5))), 1), noError, lettingGo(under(5))), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
		return f.SkipWhile(deciding(work, under(5)))
	}},
	{"Distinct", with(makes(onlyIf(even), 1), noError, lettingGo(not(even))), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
		return f.Distinct(9, func(v int) int {
			plainWork(work)
			return v / 2
		})
	}},
	{"Dedup", with(makes(onlyIf(even), 1), noError, lettingGo(not(even)), fits(evensAndMore)), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
		return f.Dedup(time.Minute, 9, func(v int) int {
			plainWork(work)
			return v / 2
		})
	}},
	{"Throttle", makes(asGiven, 1), func(f flow.Flow[int], _ stagetest.Work) flow.Flow[int] { return f.Throttle(10, 100*time.Millisecond) }},
	{"ThrottleCost", with(makes(asGiven, 1), noError), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
		return f.ThrottleCost(func(int) int64 {
			plainWork(work)
			return 1
		}, 10, 100*time.Millisecond)
	}},
	{"Concat", with(makes(func(in []int) []int { return slices.Concat(in, []int{-3, -2, -1}) }, 0), own,
		leavingOut("21", "a drain ends the flow whose turn has not come as well")), func(f flow.Flow[int], _ stagetest.Work) flow.Flow[int] {
		return f.Concat(others())
	}},
	{"Apply", makes(asGiven, 1), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
		return f.Apply(func(f flow.Flow[int]) flow.Flow[int] { return f.TryMap(called(work)) })
	}},
	{"With", makes(asGiven, 1), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
		return f.With(discard(others())).TryMap(called(work))
	}},
}

// several makes none, one or two results of a value, all different.
func several(v int) []int { return []int{v, 1000 + v}[:v%3] }

func runningSum(in []int) (out []int) {
	sum := 0
	for _, v := range in {
		sum += v
		out = append(out, sum)
	}
	return out
}

// evensAndMore wants all even values, and none twice.
func evensAndMore(in, out []int) error {
	for _, v := range in {
		if n := count(out, v); n > 1 || even(v) && n == 0 {
			return errors.New(strconv.Itoa(v) + " occurs " + strconv.Itoa(n) + " times")
		}
	}
	return nil
}

func count(vs []int, of int) (n int) {
	for _, v := range vs {
		if v == of {
			n++
		}
	}
	return n
}

// kitEdged are the operators with an edge or a goroutine.
var kitEdged = []kitOperator{
	{"Buffer", makes(asGiven, 4+1), func(f flow.Flow[int], _ stagetest.Work) flow.Flow[int] { return f.Buffer(4, flow.Block) }},
	{"Edge", makes(asGiven, 4+1), func(f flow.Flow[int], _ stagetest.Work) flow.Flow[int] { return f.Edge(flow.Edge[int]{Capacity: 4}) }},
	{"Via", makes(asGiven, 1), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] { return f.Via(handsOn(work)) }},
	{"Parallel", with(makes(asGiven, 3*4), workers(3)), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] { return f.Parallel(3, called(work)) }},
	{"Parallel unordered", with(makes(asGiven, 3), workers(3), unordered), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
		return f.Parallel(3, called(work), flow.Unordered)
	}},
	{"ParallelByKey", with(makes(asGiven, 3*64+4), workers(3), orderedBy(mod50)), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
		return f.ParallelByKey(3, mod50, called(work))
	}},
	{"GroupBy", with(makes(asGiven, 3*(16+1)+1), workers(3), orderedBy(mod3)), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
		return f.GroupBy(flow.Groups[int]{}, mod3, func(int) stage.Stage[int, int] { return handsOn(work) })
	}},
	{"Expand", with(makes(perValue(several), 1), lettingGo(func(v int) bool { return v%3 == 0 })), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
		return f.Expand(func(ctx context.Context, v int, emit func(int) error) error {
			if err := work(ctx); err != nil {
				return err
			}
			for _, r := range several(v) {
				if err := emit(r); err != nil {
					return err
				}
			}
			return nil
		})
	}},
	{"IdleTimeout", with(makes(asGiven, 1), leavingOut("22", "a pause is what it fails for")), func(f flow.Flow[int], _ stagetest.Work) flow.Flow[int] {
		return f.IdleTimeout(time.Second * 120)
	}},
	{"KeepAlive", with(makes(asGiven, 1), own, fits(alikeButOwn)), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
		return f.KeepAlive(20*time.Minute, func() int { return -1 }).TryMap(called(work))
	}},
	{"Debounce", with(makes(nil, 0), fits(endsAlike)), func(f flow.Flow[int], _ stagetest.Work) flow.Flow[int] { return f.Debounce(time.Millisecond) }},
	{"Sample", with(makes(nil, 0), fits(endsAlike)), func(f flow.Flow[int], _ stagetest.Work) flow.Flow[int] { return f.Sample(time.Second) }},
	{"Conflate", with(makes(nil, 0), noError, fits(sameSum)), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
		return f.Map(mapped(work)).Conflate(func(a, b int) int { return a + b })
	}},
}

// alikeButOwn wants what went in, and perhaps values below 0 between it.
func alikeButOwn(in, out []int) error {
	if got := onlyIf(not(under(0)))(out); !slices.Equal(got, in) {
		return errors.New("it is not what went in: " + fmt.Sprint(out))
	}
	return nil
}

// endsAlike wants some of what went in, in order, and the last of it.
func endsAlike(in, out []int) error {
	switch {
	case !slices.IsSorted(out) || len(slices.Compact(slices.Clone(out))) < len(out):
		return errors.New("it is not in order: " + fmt.Sprint(out))
	case len(in) == 0 && len(out) == 0:
		return nil
	case len(in) == 0 || len(out) == 0 || out[len(out)-1] != in[len(in)-1]:
		return errors.New("its last is not the last: " + fmt.Sprint(out))
	}
	return nil
}

func sameSum(in, out []int) error {
	sum := func(vs []int) (n int) {
		for _, v := range vs {
			n += v
		}
		return n
	}
	if sum(in) != sum(out) {
		return errors.New("the sums differ: " + fmt.Sprint(out))
	}
	return nil
}

// kitFans are the operators with several inputs or outputs, and fan-outs whose branches are merged again.
var kitFans = []kitOperator{
	{"Merge", with(makes(withOthers, 0), own, orderedBy(sign)), func(f flow.Flow[int], _ stagetest.Work) flow.Flow[int] { return flow.Merge(f, others()) }},
	{"MergePriority", with(makes(withOthers, 0), own, orderedBy(sign)), func(f flow.Flow[int], _ stagetest.Work) flow.Flow[int] {
		return flow.MergePriority(others(), f)
	}},
	{"MergeSorted", with(makes(withOthers, 0), own), func(f flow.Flow[int], _ stagetest.Work) flow.Flow[int] {
		return f.MergeSorted(cmp.Compare[int], others())
	}},
	{"Interleave", with(makes(twoByTwo, 0), own), func(f flow.Flow[int], _ stagetest.Work) flow.Flow[int] { return f.Interleave(2, others()) }},
	{"ZipWith", with(makes(asGiven, 64), noError), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
		return f.ZipWith(counts(), func(a, _ int) int {
			plainWork(work)
			return a
		})
	}},
	{"Zip", makes(asGiven, 64), func(f flow.Flow[int], _ stagetest.Work) flow.Flow[int] {
		return f.Zip(counts()).Map(func(p flow.Pair[int, int]) int { return p.First })
	}},
	{"Split", with(makes(asGiven, 2*64+3), noError, orderedBy(func(v int) int { return v % 2 })), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
		yes, no := f.Split(deciding(work, even))
		return flow.Merge(yes, no)
	}},
	{"Partition", with(makes(asGiven, 3*64+4), noError, orderedBy(mod7)), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
		return flow.Merge(f.Partition(3, func(v int) int {
			plainWork(work)
			return mod7(v)
		})...)
	}},
	{"Balance", with(makes(asGiven, 3), unordered), func(f flow.Flow[int], _ stagetest.Work) flow.Flow[int] { return flow.Merge(f.Balance(3)...) }},
	{"Broadcast", with(makes(perValue(func(v int) []int { return []int{v, 1000 + v} }), 64+2), orderedBy(func(v int) int { return v / 1000 })), func(f flow.Flow[int], _ stagetest.Work) flow.Flow[int] {
		both := f.Broadcast(2)
		return flow.Merge(both[0], both[1].Map(func(v int) int { return 1000 + v }))
	}},
	{"Tee", with(makes(asGiven, 64+1), leavingOut("23", "the side pipeline goes on")), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] { return f.Tee(discard).TryMap(called(work)) }},
}

// kitLoops are the operators in which values go round: each twice.
var kitLoops = []kitOperator{
	{"Loop", with(makes(asGiven, 0), unordered), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
		const lap = 1 << 20
		return f.Loop(flow.Gated(4), func(in flow.Flow[int]) (out, again flow.Flow[int]) {
			out, again = in.TryMap(called(work)).Split(func(v int) bool { return v >= lap })
			return out.Map(func(v int) int { return v - lap }), again.Map(func(v int) int { return v + lap })
		})
	}},
	{"PrimedLoop", makes(asGiven, 0), func(f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
		return f.PrimedLoop([]int{1, 2}, func(in flow.Flow[flow.Pair[int, int]]) (out, again flow.Flow[int]) {
			both := in.Broadcast(2)
			return both[0].Map(func(p flow.Pair[int, int]) int { return p.First }).TryMap(called(work)),
				both[1].Map(func(p flow.Pair[int, int]) int { return p.Second })
		})
	}},
}

func withOthers(in []int) []int { return append([]int{-3, -2, -1}, in...) }

// twoByTwo takes two values and then two of the others.
func twoByTwo(in []int) (out []int) {
	rest := []int{-3, -2, -1}
	for len(in)+len(rest) > 0 {
		n := min(2, len(in))
		m := min(2, len(rest))
		out = append(append(out, in[:n]...), rest[:m]...)
		in, rest = in[n:], rest[m:]
	}
	return out
}

// counts is a flow of 0, 1, 2, ...
func counts() flow.Flow[int] {
	return flow.FromSeq(func(yield func(int) bool) {
		for i := 0; yield(i); i++ {
		}
	})
}

func TestKit(t *testing.T) {
	for _, op := range slices.Concat(kitSteps, kitEdged, kitFans, kitLoops) {
		t.Run(op.name, func(t *testing.T) {
			stagetest.TestOperator(t, op.opts, func(_ *testing.T, f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
				return op.put(f, work)
			})
		})
	}
}

// Batches are slices, so they have options of their own.
func TestKitOfBatches(t *testing.T) {
	opts := stagetest.StageOptions[int, []int]{
		Item: func(i int) int { return i }, Want: threes, Holds: 3, Bubble: true,
		Fits: func(in []int, out [][]int) error {
			if !slices.Equal(slices.Concat(out...), in) {
				return errors.New("the batches are not what went in")
			}
			return nil
		},
	}
	for name, batch := range map[string]func(f flow.Flow[int]) flow.Flow[[]int]{
		"Batch": func(f flow.Flow[int]) flow.Flow[[]int] { return f.Batch(3, time.Second) },
		"BatchWeight": func(f flow.Flow[int]) flow.Flow[[]int] {
			return f.BatchWeight(6, func(int) int64 { return 2 }, time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			stagetest.TestOperator(t, opts, func(_ *testing.T, f flow.Flow[int], _ stagetest.Work) flow.Flow[[]int] { return batch(f) })
		})
	}
}

func threes(in []int) [][]int { return slices.Collect(slices.Chunk(in, 3)) }
