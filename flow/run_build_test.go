package flow_test

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// line returns the number of the line it is called from.
func line() int {
	_, _, n, _ := runtime.Caller(1)
	return n
}

// S29: everything that is wrong with a blueprint comes back at once, from Check, Start, Run, Collect and All, each finding with
// the operator's name and the line that wrote it.
func TestS29AllFindingsAtOnce(t *testing.T) {
	at := line() + 1
	p := flow.FromSlice(ints(1)).
		Buffer(0, 9).
		Map[int](nil, flow.Name("bad name")).
		Batch(0, -1).
		Map(func(b []int) int { return len(b) }).
		Parallel(0, same, flow.Timeout(-1), flow.OnError(flow.Retry(0, nil), nil)).
		To(nil, flow.Workers(0), flow.Gather(0, -1), flow.Name("load"))
	wants := []string{
		fmt.Sprintf(`flow: buffer#2 (run_build_test.go:%d): capacity must be 1 to 2147483647, got 0`, at+1),
		fmt.Sprintf(`flow: buffer#2 (run_build_test.go:%d): policy must be Block, DropNewest, DropOldest or Reject, got policy(9)`, at+1),
		fmt.Sprintf(`flow: map#3 (run_build_test.go:%d): name must be 1 to 64 of A-Z a-z 0-9 . _ -, got "bad name"`, at+2),
		fmt.Sprintf(`flow: map#3 (run_build_test.go:%d): function must not be nil`, at+2),
		fmt.Sprintf(`flow: batch#4 (run_build_test.go:%d): size must be 1 to 2147483647, got 0`, at+3),
		fmt.Sprintf(`flow: batch#4 (run_build_test.go:%d): maxWait must be >= 0, got -1ns`, at+3),
		fmt.Sprintf(`flow: parallel#6 (run_build_test.go:%d): OnError: decision must not be nil`, at+5),
		fmt.Sprintf(`flow: parallel#6 (run_build_test.go:%d): n must be 1 to 65536, got 0`, at+5),
		fmt.Sprintf(`flow: parallel#6 (run_build_test.go:%d): Timeout must be > 0, got -1ns`, at+5),
		fmt.Sprintf(`flow: load (run_build_test.go:%d): Workers must be 1 to 65536, got 0`, at+6),
		fmt.Sprintf(`flow: load (run_build_test.go:%d): Gather: n must be 1 to 2147483647, got 0`, at+6),
		fmt.Sprintf(`flow: load (run_build_test.go:%d): Gather: maxWait must be >= 0, got -1ns`, at+6),
		fmt.Sprintf(`flow: load (run_build_test.go:%d): sink must not be nil`, at+6),
	}
	_, startErr := p.Start(t.Context())
	for _, err := range []error{p.Check(), startErr, p.Run(t.Context())} {
		lines := strings.Split(err.Error(), "\n")
		for _, want := range wants {
			if !slices.Contains(lines, want) {
				t.Errorf("the error lacks\n%s\nit is\n%v", want, err)
			}
		}
	}
	equal(t, "stages of the graph", len(p.Graph().Stages), 0)
	f := flow.FromSlice(ints(1)).Filter(nil)
	_, err := f.Collect(t.Context(), 1)
	wantText(t, err, "filter#2")
	for _, err := range f.All(t.Context()) {
		wantText(t, err, "filter#2")
	}
}

// wantText fails the test unless err matches the pattern.
func wantText(t *testing.T, err error, pattern string) {
	t.Helper()
	if err == nil || !regexp.MustCompile(pattern).MatchString(err.Error()) {
		t.Fatalf("got error %v, want one that matches %q", err, pattern)
	}
}

// S27: what is not consumed, or consumed twice, is refused with the name and the line that made it.
func TestS27OutputsAreConsumedOnce(t *testing.T) {
	src := func() flow.Flow[int] { return flow.FromSlice(ints(10)) }
	shared := src().Map(twice)
	branches := src().Broadcast(3)
	twiceUsed := src().Broadcast(2)
	sink := discard(src())
	forgotten := src().Tee(func(flow.Flow[int]) flow.Pipeline { return discard(src()) })
	inlet := flow.NewInlet(flow.Edge[int]{Capacity: 1})
	cases := map[string]struct {
		p    flow.Pipeline
		want string
	}{
		"no sink":                 {flow.Pipeline{}, "no sink"},
		"a step consumed twice":   {flow.Join(discard(shared), discard(shared.Filter(even))), `map#2 \(run_build_test.go:\d+\): its output is consumed twice`},
		"merged with itself":      {discard(flow.Merge(shared, shared)), "map#2 .* consumed twice"},
		"branches not consumed":   {discard(branches[1]), `broadcast#2 \(run_build_test.go:\d+\): 2 of its 3 outputs are not consumed`},
		"a branch consumed twice": {flow.Join(discard(twiceUsed[0]), discard(twiceUsed[0]), discard(twiceUsed[1])), `broadcast#2\.1 .* consumed twice`},
		"a pipeline twice":        {flow.Join(sink, sink), `to#2 .* in the pipeline twice`},
		"a side that forgets":     {discard(forgotten), "tee#2 .* 1 of its 2 outputs are not consumed"},
		"the zero flow":           {discard(flow.Flow[int]{}), "the zero Flow has no source"},
		"the zero flow, merged":   {discard(flow.Merge(src(), flow.Flow[int]{}.Map(twice))), "the zero Flow has no source"},
		"an inlet twice":          {discard(flow.Merge(inlet.Flow(), inlet.Flow())), "inlet#1 .* consumed twice"},
		"nothing to merge":        {discard(flow.Merge[int]()), "at least one flow"},
		"one name twice":          {discard(src().Map(twice, flow.Name("x")).Map(twice, flow.Name("x"))), `x \(.*\): the name "x" is taken \(run_build_test.go:\d+\)`},
		"one edge name twice":     {discard(src().Buffer(1, flow.Block, flow.Name("x")).Buffer(1, flow.Block, flow.Name("x"))), `the name "x" is taken`},
		"a nil apply":             {discard(src().Apply[int](nil)), "function must not be nil"},
		"a nil tee":               {discard(src().Tee(nil)), "side must not be nil"},
		"a nil source":            {discard(flow.From[int](nil)), "source must not be nil"},
		"a nil channel":           {discard(flow.FromChan[int](nil)), "channel must not be nil"},
		"weight without a bound":  {discard(src().Edge(flow.Edge[int]{Capacity: 1, MaxWeight: 1})), "MaxWeight and Weight go together"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			wantText(t, c.p.Check(), c.want)
			wantText(t, c.p.Run(t.Context()), c.want)
		})
	}
	must(t, discard(src().Map(twice, flow.Name("x")).Buffer(1, flow.Block, flow.Name("x"))).Check()) // a stage and an edge
	must(t, discard(shared).Check())                                                                 // several pipelines of one flow
	must(t, discard(shared.Filter(even)).Run(t.Context()))
	inlet.Close()
}

// S28: a blueprint runs many times, also at once; what has state serves one run, and a second is an error that points to Open.
func TestS28RunsOfOneBlueprint(t *testing.T) {
	inBubble(t, "twice, and at the same time", func(t *testing.T) {
		bs := flow.FromSlice(ints(500)).Skip(10).Take(400).Broadcast(2)
		f := flow.Merge(bs[0].Batch(7, time.Second).FlatMap(func(b []int) []int { return b }), bs[1].Parallel(3, same)).Skip(3)
		for range 3 {
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					got, err := f.Collect(t.Context(), 1000)
					if err != nil || len(got) != 797 {
						t.Errorf("%d items, %v, want 797", len(got), err)
					}
				})
			}
			wg.Wait()
		}
	})
	inBubble(t, "open", func(t *testing.T) {
		opened, closed := 0, 0
		f := flow.Open(func(context.Context) (stage.Source[int], error) {
			opened++
			return &closingSource{Source: stage.Slice(ints(10)), close: func() { closed++ }}, nil
		})
		for range 3 {
			got, err := f.Collect(t.Context(), 10)
			must(t, err)
			equalSlices(t, "items", got, ints(10))
		}
		must(t, discard(f).Check())
		equal(t, "opened", opened, 3)
		equal(t, "closed", closed, 3)
	})
	inBubble(t, "open that fails closes what was opened", func(t *testing.T) {
		closed := 0
		ok := flow.Open(func(context.Context) (stage.Source[int], error) {
			return &closingSource{Source: stage.Slice(ints(10)), close: func() { closed++ }}, nil
		})
		bad := flow.Open(func(context.Context) (stage.Source[int], error) { return nil, errA }, flow.Name("db"))
		err := discard(flow.Merge(ok, bad)).Run(t.Context())
		wantError(t, err, errA)
		wantText(t, err, `db \(run_build_test.go:\d+\): a is broken`)
		equal(t, "closed", closed, 1)
		none := flow.Open(func(context.Context) (stage.Source[int], error) { return nil, nil })
		wantText(t, discard(none).Run(t.Context()), "no source and no error")
	})
	once := map[string]func() flow.Pipeline{
		"from":    func() flow.Pipeline { return discard(flow.From(stage.Slice(ints(3)))) },
		"items":   func() flow.Pipeline { return discard(flow.FromItems(newBroker(3))) },
		"closing": func() flow.Pipeline { return flow.FromSlice(ints(3)).To(&closer{}) },
		"inlet": func() flow.Pipeline {
			in := flow.NewInlet(flow.Edge[int]{Capacity: 1})
			in.Close()
			return discard(in.Flow())
		},
	}
	for name, build := range once {
		inBubble(t, name+" serves one run", func(t *testing.T) {
			p := build()
			must(t, p.Check())
			must(t, p.Run(t.Context()))
			wantText(t, p.Run(t.Context()), `#\d \(run_build_test.go:\d+\): it serves one run and has had it`)
			p = build()
			var mu sync.Mutex
			failed := 0
			run := func() {
				if err := p.Run(t.Context()); err != nil {
					mu.Lock()
					defer mu.Unlock()
					failed++
				}
			}
			together(run, run)
			equal(t, "runs refused of two at the same time", failed, 1)
		})
	}
}

// closingSource is a source that tells when it is closed.
type closingSource struct {
	stage.Source[int]
	close func()
}

func (s *closingSource) Close() error {
	s.close()
	return nil
}
