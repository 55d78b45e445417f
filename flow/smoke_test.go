package flow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

func ints(n int) []int {
	vs := make([]int, n)
	for i := range vs {
		vs[i] = i
	}
	return vs
}

func TestSmoke(t *testing.T) {
	ctx := context.Background()
	n := 100000
	got, err := flow.FromSlice(ints(n)).
		Map(func(i int) int { return i * 2 }).
		Filter(func(i int) bool { return i%3 == 0 }).
		Buffer(100, flow.Block).
		Map(func(i int) string { return strconv.Itoa(i) }).
		TryMap(flow.NoContext(strconv.Atoi)).
		Parallel(4, func(_ context.Context, i int) (int, error) { return i + 1, nil }).
		FlatMap(func(i int) []int { return []int{i, i} }).
		Collect(ctx, 1e6)
	if err != nil {
		t.Fatal(err)
	}
	var want []int
	for i := range n {
		if v := 2 * i; v%3 == 0 {
			want = append(want, v+1, v+1)
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got %d want %d", len(got), len(want))
	}
}

func TestSmokeGraphs(t *testing.T) {
	ctx := context.Background()
	b := flow.FromSlice(ints(1000)).Broadcast(2)
	m := flow.Merge(b[0].Map(func(i int) int { return i }), b[1].Take(10))
	got, err := m.Batch(7, time.Second).Collect(ctx, 1000)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, g := range got {
		total += len(g)
	}
	if total != 1010 {
		t.Fatal(total)
	}
	var side int
	pp := flow.FromSlice(ints(1000)).Tee(func(f flow.Flow[int]) flow.Pipeline {
		return f.ForEach(func(context.Context, int) error { side++; return nil })
	}).Take(500).To(stage.Discard[int](), flow.Gather(10, 0))
	if e := pp.Run(ctx); e != nil {
		t.Fatal(e)
	}
	if side != 1000 {
		t.Fatal(side)
	}
	for v, err := range flow.FromSlice(ints(1000)).Buffer(10, flow.Block).All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if v == 17 {
			break
		}
	}
	p := flow.FromSlice(ints(10)).Map(func(i int) int {
		if i == 5 {
			panic("five")
		}
		return i
	}).To(stage.Discard[int]())
	e := p.Run(ctx)
	se, ok := errors.AsType[*stage.Error](e)
	if !ok || se.Stage != "map#2" {
		t.Fatal(e)
	}
	fmt.Println(e)
	fmt.Println(p.Graph().Mermaid())
	e = flow.FromSlice(ints(10)).Buffer(0, 7).Batch(0, -1).Map[int](nil).To(nil, flow.Workers(-1)).Run(ctx)
	fmt.Println(e)
	in := flow.NewInlet(flow.Edge[int]{Name: "orders", Capacity: 4})
	r, e := in.Flow().Parallel(2, func(_ context.Context, i int) (int, error) {
		if i == 3 {
			return 0, errors.New("three")
		}
		return i, nil
	}, flow.OnError(flow.Skip)).To(stage.Discard[int]()).Start(ctx)
	if e != nil {
		t.Fatal(e)
	}
	for i := range 10 {
		if e := in.Do(ctx, i); e != nil {
			t.Fatal(e)
		}
	}
	in.Close()
	if e := r.Wait(); e != nil {
		t.Fatal(e)
	}
	fmt.Printf("%+v\n", r.Report())
	fmt.Println(r.Stats().Bottleneck().Why)
}
