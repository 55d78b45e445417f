package flow_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// slowly starts a run that takes 10 ms for each item of an inlet.
func slowly[T any](t *testing.T, in *flow.Inlet[T]) *flow.Run {
	t.Helper()
	run, err := in.Flow().ForEach(func(context.Context, T) error {
		time.Sleep(10 * time.Millisecond)
		return nil
	}).Start(context.Background())
	must(t, err)
	return run
}

// A key that weighs one beside one that weighs a thousand is starved, and the edge says which; of a long one the beginning.
func TestAStarvedKeyIsNamed(t *testing.T) {
	inBubble(t, "starved", func(t *testing.T) {
		long := strings.Repeat("é", 300)
		weight := func(tenant string) int {
			if tenant == "heavy" {
				return 1000
			}
			return 1
		}
		in := flow.NewInlet(flow.Edge[job]{Name: "work", Capacity: 500, Discipline: flow.FairBy(job.TenantName, flow.Weights(weight))})
		run := slowly(t, in)
		put := func(j job) {
			_, err := in.Put(context.Background(), j)
			must(t, err)
		}
		for range 400 {
			put(job{Tenant: "heavy"})
		}
		put(job{Tenant: long})
		put(job{Tenant: long})
		time.Sleep(100 * time.Millisecond)
		if e := run.Stats().Edges[0]; e.StarvedKey != "" || e.StarvedFor != 0 {
			t.Errorf("StarvedKey = %q for %v behind 100 ms, want nobody", e.StarvedKey, e.StarvedFor)
		}
		time.Sleep(time.Second)
		e := run.Stats().Edges[0]
		if want := long[:256] + "..."; e.StarvedKey != want || e.StarvedFor < time.Second {
			t.Errorf("StarvedKey = %q (%d bytes) for %v, want the long key, cut at 256 bytes, for a second", e.StarvedKey, len(e.StarvedKey), e.StarvedFor)
		}
		if texts := e.Advice(0); !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "the weights starve it") }) {
			t.Errorf("Advice() = %q, want that the weights starve a key", texts)
		}
		in.Close()
		must(t, run.Wait())
	})
}

// What is critical pays only when there is nothing else left, and that is said; so is one class that carries most of the load.
func TestShedClassesAreReported(t *testing.T) {
	ctx := context.Background()
	in := flow.NewInlet(flow.Edge[job]{Name: "work", Capacity: 10, OnFull: flow.DropNewest, Discipline: flow.ByCriticality(classOf, flow.Reserved(1))})
	for range 3 {
		_, _ = in.Offer(ctx, job{Tenant: "prefetch"})
	}
	for range 20 {
		_, _ = in.Offer(ctx, job{Tenant: "user"})
	}
	in.Close()
	run, err := in.Flow().To(stage.Discard[job]()).Start(ctx)
	must(t, err)
	must(t, run.Wait())
	e := run.Stats().Edges[0]
	want := []flow.ClassStats{{"Sheddable", 3, 3}, {"retry", 0, 0}, {"SheddablePlus", 0, 0}, {"Critical", 0, 0}, {"CriticalPlus", 20, 10}}
	if !slices.Equal(e.Classes, want) || e.CriticalShed() != 10 {
		t.Errorf("Classes = %v, CriticalShed() = %d, want %v, 10", e.Classes, e.CriticalShed(), want)
	}
	texts := strings.Join(e.Advice(0), "\n")
	for _, part := range []string{
		"work: 10 items were shed that are Critical or above: there is nothing else left to shed, the answer is capacity",
		"work: the class CriticalPlus carries 87 % of the load: what everything is protects nothing",
	} {
		if !strings.Contains(texts, part) {
			t.Errorf("Advice() = %q, want %q in it", texts, part)
		}
	}
}

// A retry is shed before low work that comes for the first time, unless a user waits for it; and the class is that of the metadata.
func TestRetriesAreShedEarly(t *testing.T) {
	var lost []string
	in := flow.NewInlet(flow.Edge[string]{
		Capacity: 3, OnFull: flow.DropOldest, Discipline: flow.ByCriticality[string](nil),
		Dropped: func(name string, _ flow.DropReason) { lost = append(lost, name) },
	})
	for _, it := range []struct {
		name string
		meta stage.Meta
	}{
		{"a user's retry", stage.Meta{Criticality: stage.CriticalPlus, Attempt: 2}},
		{"retry", stage.Meta{Attempt: 2}},
		{"low", stage.Meta{Criticality: stage.SheddablePlus, Attempt: 1}},
		{"critical", stage.Meta{}},
		{"user", stage.Meta{Criticality: stage.CriticalPlus}},
		{"guess", stage.Meta{Criticality: stage.Sheddable}},
	} {
		_, _ = in.Offer(stage.WithMeta(context.Background(), it.meta), it.name)
	}
	in.Close()
	if got, want := served(in), []string{"a user's retry", "user", "critical"}; !slices.Equal(got, want) {
		t.Errorf("served %q, want %q", got, want)
	}
	if want := []string{"retry", "low", "guess"}; !slices.Equal(lost, want) {
		t.Errorf("lost %q, want %q", lost, want)
	}
}

// Advice about a bound that is none, and about the load. An edge that is well has none.
func TestAdviceOfAnEdge(t *testing.T) {
	inBubble(t, "disguise", func(t *testing.T) {
		in := flow.NewInlet(flow.Edge[int]{Name: "work", Capacity: 48_000, OnFull: flow.Reject})
		run := slowly(t, in)
		offer := func(n int, gap time.Duration) {
			for range n {
				_, _ = in.Offer(context.Background(), 1)
				time.Sleep(gap)
			}
		}
		offer(300, 20*time.Millisecond)
		e := run.Stats().Edges[0]
		if texts := e.Advice(time.Hour); len(texts) > 0 {
			t.Errorf("Advice() = %q at half the load, want none", texts)
		}
		if got, want := e.Advice(0), "work: an unbounded queue in disguise: the last of 48000 items waits 8m0s, and 30s is the longest that anybody does"; !slices.Equal(got, []string{want}) {
			t.Errorf("Advice() = %q, want %q", got, want)
		}
		offer(1000, 5*time.Millisecond)
		e = run.Stats().Edges[0]
		texts := strings.Join(e.Advice(time.Hour), "\n")
		for _, part := range []string{"work: a standing queue: ", "the answer is capacity or shedding, never a bigger bound", "work: offered load ", ", more than can be finished"} {
			if !strings.Contains(texts, part) {
				t.Errorf("Advice() = %q at twice the load, want %q in it", texts, part)
			}
		}
		if e.Recovery >= 0 || e.MeanDepth == 0 {
			t.Errorf("Recovery = %v, MeanDepth = %v, want less than 0 and more", e.Recovery, e.MeanDepth)
		}
		in.Close()
		run.Stop()
		_ = run.Wait()
	})
}

// A negative cost, a weight out of range, and a function that panics make Put fail, or stop the run, and lose nothing without a word.
func TestFunctionsOfADisciplineThatFail(t *testing.T) {
	ctx := context.Background()
	for name, d := range map[string]flow.Discipline[int]{
		"key panics":      flow.FairBy(func(int) int { panic("no key") }),
		"key not ordered": flow.FairBy(func(int) any { return []int{1} }),
		"weight 0":        flow.FairBy(func(v int) int { return v }, flow.Weights(func(int) int { return 0 })),
		"class panics":    flow.ByCriticality(func(int) stage.Criticality { panic("no class") }),
		"negative cost":   flow.ShedLargest(func(int) int64 { return -1 }, time.Second),
		"cost panics":     flow.ShedLargest(func(int) int64 { panic("no cost") }, time.Second),
	} {
		edge := flow.Edge[int]{Name: "work", Capacity: 10, OnFull: flow.DropNewest, Discipline: d}
		in := flow.NewInlet(edge)
		if _, err := in.Offer(ctx, 1); err == nil || !strings.Contains(err.Error(), `edge "work"`) {
			t.Errorf("%s: Offer() = %v, want an error with the edge's name", name, err)
		}
		in.Close()
		if err := flow.FromSlice([]int{1}).Edge(edge).To(stage.Discard[int]()).Run(ctx); err == nil {
			t.Errorf("%s: Run() = nil, want an error", name)
		}
	}
}
