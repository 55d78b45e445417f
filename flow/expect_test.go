package flow_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/flow/sizing"
)

const hurry = 250 * time.Millisecond

func TestAdviceAboutAnExpectedLoad(t *testing.T) {
	from := func(e flow.Edge[int]) flow.Flow[int] { return flow.FromSlice(ints(3)).Edge(e) }
	steady := sizing.Load{Rate: 100, Service: 5 * time.Millisecond, Latency: hurry}
	fleet := sizing.Load{Rate: 640, Service: 50 * time.Millisecond, Latency: hurry}
	burst := fleet
	burst.Latency, burst.Burst = time.Minute, sizing.Burst{Rate: 1000, Length: 2 * time.Second}
	nop := func(context.Context, int) error { return nil }
	tests := map[string]struct {
		build func() flow.Pipeline
		want  []string
	}{
		"all is well": {func() flow.Pipeline {
			return from(flow.Edge[int]{Capacity: 50}).ForEach(nop, flow.Expect(steady))
		}, nil},
		"an edge": {func() flow.Pipeline {
			return from(flow.Edge[int]{Name: "e", Capacity: 10_000}).ForEach(nop, flow.Expect(steady))
		}, []string{"flow: e (%): an unbounded queue in disguise: the last of 10000 places waits 50s at 200/s, and 250ms is wanted: 50 are enough"}},
		"an edge with steps between": {func() flow.Pipeline {
			beside := flow.FromSlice(ints(3)).ForEach(nop)
			return from(flow.Edge[int]{Name: "e", Capacity: 10_000}).Map(twice).With(beside).Tap(func(int) {}).TryMap(same).ForEach(nop, flow.Expect(steady))
		}, []string{"flow: e (%): an unbounded queue in disguise: the last of 10000 places waits 50s at 200/s, and 250ms is wanted: 50 are enough"}},
		"an edge beside which something runs": {func() flow.Pipeline {
			beside := flow.FromSlice(ints(3)).ForEach(nop)
			return from(flow.Edge[int]{Name: "e", Capacity: 10_000}).With(beside).ForEach(nop, flow.Workers(2), flow.Expect(steady))
		}, []string{"flow: e (%): the last of 10000 places waits 25s at 400/s, and 250ms is wanted: 100 are enough"}},
		"an edge in front of other workers": {func() flow.Pipeline { // these have one of their own
			return from(flow.Edge[int]{Name: "e", Capacity: 10_000}).Map(twice).ForEach(nop, flow.Workers(2), flow.Expect(steady))
		}, nil},
		"an edge of which not all gets through": {func() flow.Pipeline {
			return from(flow.Edge[int]{Name: "e", Capacity: 10_000}).Filter(even).ForEach(nop, flow.Expect(steady))
		}, nil},
		"an edge of an inlet": {func() flow.Pipeline {
			return flow.NewInlet(flow.Edge[int]{Name: "e", Capacity: 60}).Flow().ForEach(nop, flow.Expect(steady))
		}, []string{"flow: e (%): the last of 60 places waits 300ms at 200/s, and 250ms is wanted: 50 are enough"}},
		"bounded in time": {func() flow.Pipeline {
			return from(flow.Edge[int]{Capacity: 10_000, MaxWait: hurry}).ForEach(nop, flow.Expect(steady))
		}, nil},
		"bounded in too much time": {func() flow.Pipeline {
			return from(flow.Edge[int]{Name: "e", Capacity: 60, MaxWait: hurry + 1}).ForEach(nop, flow.Expect(steady))
		}, []string{"flow: e (%): the last of 60 places waits 300ms at 200/s, and 250ms is wanted: 50 are enough"}},
		"no limit": {func() flow.Pipeline {
			return from(flow.Edge[int]{Name: "e", Capacity: 6001}).ForEach(nop, flow.Expect(sizing.Load{Rate: 100, Service: 5 * time.Millisecond}))
		}, []string{"flow: e (%): an unbounded queue in disguise: the last of 6001 places waits 30.005s at 200/s, and 30s is wanted: 6000 are enough"}},
		"a longest wait": {func() flow.Pipeline {
			return from(flow.Edge[int]{Name: "e", Capacity: 201}).ForEach(nop, flow.Expect(sizing.Load{Rate: 100, Service: 5 * time.Millisecond, LongestWait: time.Second}))
		}, []string{"flow: e (%): an unbounded queue in disguise: the last of 201 places waits 1.005s at 200/s, and 1s is wanted: 200 are enough"}},
		"a deadline": {func() flow.Pipeline {
			return from(flow.Edge[int]{Name: "e", Capacity: 200}).ForEach(nop, flow.Expect(sizing.Load{Rate: 100, Service: 5 * time.Millisecond, Deadline: time.Second}))
		}, []string{"flow: e (%): the last of 200 places waits 1s at 200/s, and 995ms is wanted: 199 are enough"}},
		"workers": {func() flow.Pipeline {
			return from(flow.Edge[int]{Capacity: 180}).ForEach(nop, flow.Name("crowd"), flow.Workers(36), flow.Expect(fleet))
		}, []string{"flow: crowd (%): utilization 0.89: above 0.8 waiting grows faster than load; 40 workers keep it there"}},
		"too few": {func() flow.Pipeline {
			return from(flow.Edge[int]{Capacity: 160}).Parallel(32, same, flow.Name("crowd"), flow.Expect(fleet)).ForEach(nop)
		}, []string{"flow: crowd (%): utilization 1.00: 640/s arrive and 640/s can be finished, so a queue stands and 0.6 % are refused: " +
			"the answer is capacity (40 workers keep it at 0.8) or shedding, never a bigger bound"}},
		"the edge that a stage brings": {func() flow.Pipeline {
			return flow.FromSlice(ints(3)).Parallel(2, same, flow.Name("crowd"), flow.Expect(sizing.Load{Rate: 20, Service: 50 * time.Millisecond, Latency: time.Second})).ForEach(nop)
		}, []string{"flow: crowd (%): the last of 64 places waits 1.6s at 40/s, and 1s is wanted: 40 are enough"}},
		"no edge": {func() flow.Pipeline {
			return flow.FromSlice(ints(3)).TryMap(same, flow.Expect(steady)).ForEach(nop)
		}, nil},
		"callers": {func() flow.Pipeline {
			return from(flow.Edge[int]{Name: "e", Capacity: 256}).ForEach(nop, flow.Workers(20), flow.Expect(sizing.Load{Rate: 640, Service: 25 * time.Millisecond, Callers: 100}))
		}, []string{"flow: e (%): it has 256 places, of which 80 are ever taken: there are 100 callers, and the workers have the rest"}},
		"a burst": {func() flow.Pipeline {
			return from(flow.Edge[int]{Name: "e", Capacity: 100}).ForEach(nop, flow.Workers(40), flow.Expect(burst))
		}, []string{
			"flow: foreach#3 (%): an unbounded queue in disguise: the last of 48000 items waits 1m0s, and 30s is the longest that anybody does",
			"flow: e (%): it has 100 places, and the burst needs 400",
		}},
		"other workers": {func() flow.Pipeline { // of a pool, which the stage shares
			l := steady
			l.Concurrency = 4
			return from(flow.Edge[int]{Capacity: 200}).ForEach(nop, flow.Workers(20), flow.Expect(l))
		}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := tt.build()
			must(t, p.Check())
			var got []string
			for _, text := range p.Advice() {
				got = append(got, lineOf.ReplaceAllString(text, "(%)"))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("Advice() = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestExpectationsThatMakeNoSense(t *testing.T) {
	good := flow.Expect(sizing.Load{Rate: 1, Service: 1})
	for want, on := range map[string][]flow.CallOption{
		"Expect: Load.Service must be > 0, got -1ns": {flow.Expect(sizing.Load{Rate: 0, Service: -1})},
		"Expect: Load.Rate must be > 0 and finite":   {flow.Expect(sizing.Load{Rate: 0, Service: -1})},
		"Expect is there twice":                      {good, good},
	} {
		p := flow.FromSlice(ints(3)).TryMap(same, on...).ForEach(func(context.Context, int) error { return nil })
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check() = %v, want %q in it", err, want)
		}
		if got := p.Advice(); got != nil {
			t.Errorf("Advice() = %q, want none", got)
		}
	}
}
