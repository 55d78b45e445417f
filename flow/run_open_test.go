package flow_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// opened is a source and a sink that writes down what is done with it.
type opened struct {
	name  string
	log   *[]string
	fails error
	wrong error
}

func (p *opened) Open(context.Context) error {
	*p.log = append(*p.log, "open "+p.name)
	return p.fails
}

func (p *opened) Validate() error { return p.wrong }

func (p *opened) Pull(context.Context, []int) (int, error) {
	*p.log = append(*p.log, "pull "+p.name)
	return 0, stage.ErrEnd
}

func (p *opened) Push(context.Context, []int) error { return nil }

func (p *opened) Close() error {
	*p.log = append(*p.log, "close "+p.name)
	return nil
}

// openedLetters makes the part a sink of dead letters.
type openedLetters struct{ *opened }

func (l openedLetters) Push(context.Context, []stage.DeadLetter) error { return nil }

func TestPartsAreOpenedBeforeTheRunAndClosedBehindIt(t *testing.T) {
	var log []string
	src, dst, dlq := &opened{name: "source", log: &log}, &opened{name: "sink", log: &log}, openedLetters{&opened{name: "letters", log: &log}}
	p := flow.From[int](src).To(dst, flow.OnError(flow.DeadLetter(dlq)), flow.Workers(3))
	must(t, p.Check())
	_ = p.Graph()
	equalSlices(t, "log", log, nil)
	must(t, p.Run(t.Context()))
	equalSlices(t, "first", log[:3], []string{"open source", "open letters", "open sink"})
	equalSlices(t, "last", log[len(log)-3:], []string{"close sink", "close letters", "close source"})
	if n := len(log); n != 7 {
		t.Errorf("%d calls, want 7: %v", n, log)
	}
}

func TestAPartThatDoesNotOpenKeepsTheRunFromStarting(t *testing.T) {
	var log []string
	down := errors.New("connection refused")
	src, dst, dlq := &opened{name: "source", log: &log}, &opened{name: "sink", log: &log, fails: down}, openedLetters{&opened{name: "letters", log: &log}}
	_, err := flow.From[int](src).To(dst, flow.Name("table"), flow.OnError(flow.DeadLetter(dlq))).Start(t.Context())
	wantStage(t, err, "table")
	wantText(t, err, "table: open: connection refused")
	if !errors.Is(err, down) {
		t.Errorf("%v does not wrap the cause", err)
	}
	equalSlices(t, "log", log, []string{"open source", "open letters", "open sink", "close letters", "close source"})
}

func TestAPanicInOpenIsItsError(t *testing.T) {
	_, err := flow.From[int](panicOpener{}).To(stage.Discard[int]()).Start(t.Context())
	if e, ok := errors.AsType[*stage.PanicError](err); !ok || e.Value != "no" {
		t.Errorf("got %v, want the panic", err)
	}
}

type panicOpener struct{ opened }

func (panicOpener) Open(context.Context) error { panic("no") }

func (panicOpener) Pull(context.Context, []int) (int, error) { return 0, stage.ErrEnd }

func (panicOpener) Validate() error { return nil }

func TestWhatPartsFindWrongIsABuildError(t *testing.T) {
	var log []string
	bad := func(name string) *opened {
		return &opened{name: name, log: &log, wrong: errors.New(name + " is wrong")}
	}
	err := flow.From[int](bad("source")).To(bad("sink"), flow.OnError(flow.DeadLetter(openedLetters{bad("letters")}))).Check()
	for _, name := range []string{"source", "sink", "letters"} {
		wantText(t, err, name+" is wrong")
	}
	equalSlices(t, "log", log, nil)
	if n := strings.Count(err.Error(), "\n"); n != 2 {
		t.Errorf("%d lines, want 3:\n%v", n+1, err)
	}
}

// capped leaves no more than a hundred items unsettled.
type capped struct{ stage.ItemSource[int] }

func (capped) InFlight() int { return 100 }

// T38: what waits for more items than its source ever has under way is found when the pipeline is built.
func TestT38ABatchThatCanNotFillIsABuildError(t *testing.T) {
	from := func() flow.Flow[int] {
		return flow.FromItems[int](capped{stage.ItemSourceFunc[int](func(context.Context, []stage.Item[int]) (int, error) { return 0, stage.ErrEnd })})
	}
	batches := func(ns ...int) flow.Pipeline {
		f := from()
		for _, n := range ns {
			f = f.Batch(n, 0).Map(func(b []int) int { return len(b) })
		}
		return f.To(stage.Discard[int]())
	}
	const text = "but its source gives no more than"
	for name, c := range map[string]struct {
		p    flow.Pipeline
		want bool
	}{
		"as many as there can be": {batches(100), false},
		"one more":                {batches(101), true},
		"batches of batches":      {batches(10, 10), false},
		"too many batches":        {batches(10, 11), true},
		"with a time":             {from().Batch(500, 1).To(stage.Discard[[]int]()), false},
		"gathered":                {from().To(stage.Discard[int](), flow.Gather(101, 0)), true},
		"gathered with a time":    {from().To(stage.Discard[int](), flow.Gather(101, 1)), false},
		"expanded": {from().FlatMap(func(v int) []int { return slices.Repeat([]int{v}, 50) }).
			Batch(500, 0).To(stage.Discard[[]int]()), false},
		"two sources":          {flow.Merge(from(), from()).Batch(200, 0).To(stage.Discard[[]int]()), false},
		"more than two":        {flow.Merge(from(), from()).Batch(201, 0).To(stage.Discard[[]int]()), true},
		"beside a free source": {flow.Merge(from(), flow.FromSlice([]int{1})).Batch(201, 0).To(stage.Discard[[]int]()), false},
	} {
		err := c.p.Check()
		if got := err != nil && strings.Contains(err.Error(), text); got != c.want {
			t.Errorf("%s: got %v, want an error: %t", name, err, c.want)
		}
	}
}

// What a node supplies, and what is kept behind it, is found out once, however many ways lead to it.
func TestALongChainOfDiamondsIsCheckedInNoTime(t *testing.T) {
	f := flow.FromItems[int](capped{stage.ItemSourceFunc[int](func(context.Context, []stage.Item[int]) (int, error) { return 0, stage.ErrEnd })})
	for range 60 {
		yes, no := f.Split(func(v int) bool { return v > 0 })
		f = flow.Merge(yes, no)
	}
	wantText(t, f.Batch(1000, 0).To(stage.Discard[[]int]()).Check(), "may keep 999 until more come")
}
