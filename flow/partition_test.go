package flow_test

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// keyedValue is a value with a key and its place in the input.
type keyedValue struct{ key, at int }

func keyOf(v keyedValue) int { return v.key }

func drawKeyed(rt *rapid.T) []keyedValue {
	keys := rapid.SliceOfN(rapid.IntRange(0, 20), 0, 300).Draw(rt, "keys")
	vs := make([]keyedValue, len(keys))
	for i, k := range keys {
		vs[i] = keyedValue{k, i}
	}
	return vs
}

func TestPartitionAsASequence(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		vs := drawKeyed(rt)
		n := rapid.IntRange(1, 7).Draw(rt, "n")
		got := make([]*seen[keyedValue], n)
		ps := make([]flow.Pipeline, n)
		for i, branch := range flow.FromSlice(vs).Partition(n, keyOf) {
			got[i] = newSeen[keyedValue]()
			if room := rapid.IntRange(0, 5).Draw(rt, "room"); room > 0 {
				branch = branch.Buffer(room, flow.Block)
			}
			ps[i] = branch.ForEach(got[i].each)
		}
		if err := flow.Join(ps...).Run(t.Context()); err != nil {
			rt.Fatalf("Run() = %v", err)
		}
		total, home := 0, map[int]int{}
		for i, s := range got {
			branch := s.values()
			total += len(branch)
			if !slices.IsSortedFunc(branch, func(a, b keyedValue) int { return a.at - b.at }) {
				rt.Fatalf("branch %d = %v, want the order of the input", i, branch)
			}
			for _, v := range branch {
				if h, ok := home[v.key]; ok && h != i {
					rt.Fatalf("key %d is in the branches %d and %d", v.key, h, i)
				}
				home[v.key] = i
			}
		}
		if total != len(vs) {
			rt.Fatalf("%d values came, want %d", total, len(vs))
		}
	})
}

// The hash spreads keys evenly, also those that are numbers in a row.
func TestPartitionSpreadsKeys(t *testing.T) {
	branches := flow.FromSlice(ints(3000)).Partition(3, twice)
	sinks := make([]*stage.Collector[int], 3)
	ps := make([]flow.Pipeline, 3)
	for i, b := range branches {
		sinks[i] = stage.NewCollector[int](3000)
		ps[i] = b.To(sinks[i])
	}
	must(t, flow.Join(ps...).Run(t.Context()))
	for i, s := range sinks {
		if n := len(s.Items()); n < 800 || n > 1200 {
			t.Errorf("branch %d has %d of 3000 keys, want about 1000", i, n)
		}
	}
}

// Two partitions in a row spread independently of each other.
func TestPartitionBehindPartition(t *testing.T) {
	var ps []flow.Pipeline
	var sinks []*stage.Collector[int]
	for _, outer := range flow.FromSlice(ints(4000)).Partition(2, twice) {
		for _, inner := range outer.Partition(2, twice) {
			sinks = append(sinks, stage.NewCollector[int](4000))
			ps = append(ps, inner.To(sinks[len(sinks)-1]))
		}
	}
	must(t, flow.Join(ps...).Run(t.Context()))
	for i, s := range sinks {
		if n := len(s.Items()); n < 700 || n > 1300 {
			t.Errorf("branch %d has %d of 4000 keys, want about 1000", i, n)
		}
	}
}

// A key inside an interface that can't be compared is an error of the stage.
func TestPartitionOfAKeyThatCanNotBeCompared(t *testing.T) {
	inBubble(t, "a slice", func(t *testing.T) {
		b := newBroker(20)
		err := each(flow.FromItems(b).Partition(2, func(i int) any {
			if i == 7 {
				return []int{i}
			}
			return strconv.Itoa(i)
		}, flow.Name("bad")), discard).Run(t.Context())
		wantStage(t, err, "bad")
		b.once(t)
	})
}
