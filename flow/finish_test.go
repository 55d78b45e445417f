package flow_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/weir-go/weir/flow"
)

// finisher is a sink that counts what it is told.
type finisher struct {
	pushed, finished atomic.Int64
	early            atomic.Bool // a push came behind Finish
	fails, refuses   error
}

func (f *finisher) Push(_ context.Context, vs []int) error {
	if f.finished.Load() > 0 {
		f.early.Store(true)
	}
	f.pushed.Add(int64(len(vs)))
	return f.refuses
}

func (f *finisher) Finish(context.Context) error {
	f.finished.Add(1)
	return f.fails
}

func TestASinkIsToldOnceThatItsStreamHasEnded(t *testing.T) {
	for name, opts := range map[string][]flow.SinkOption{
		"alone": nil, "gathered": {flow.Gather(7, 0)}, "workers": {flow.Workers(5)}, "both": {flow.Workers(5), flow.Gather(7, 1)},
	} {
		inBubble(t, name, func(t *testing.T) {
			var f finisher
			must(t, flow.FromSlice(ints(1000)).To(&f, opts...).Run(t.Context()))
			equal(t, "pushed", f.pushed.Load(), 1000)
			equal(t, "finished", f.finished.Load(), 1)
			equal(t, "pushed behind it", f.early.Load(), false)
		})
	}
}

func TestAnErrorOfFinishIsOneOfTheStage(t *testing.T) {
	f := finisher{fails: errors.New("disk full")}
	err := flow.FromSlice(ints(10)).To(&f, flow.Name("file"), flow.Workers(2)).Run(t.Context())
	wantStage(t, err, "file")
	wantText(t, err, "disk full")
}

func TestASinkIsNotToldOfAnEndThatIsNone(t *testing.T) {
	inBubble(t, "error", func(t *testing.T) {
		f := finisher{refuses: errors.New("no")}
		wantStage(t, flow.FromSlice(ints(10)).To(&f, flow.Name("file")).Run(t.Context()), "file")
		equal(t, "finished", f.finished.Load(), 0)
	})
	inBubble(t, "stop", func(t *testing.T) {
		var f finisher
		in := flow.NewInlet(flow.Edge[int]{Name: "in", Capacity: 1})
		run := start(t, in.Flow().To(&f))
		_, err := in.Put(t.Context(), 1)
		must(t, err)
		run.Stop()
		if err := run.Wait(); !errors.Is(err, flow.ErrStopped) {
			t.Errorf("got %v", err)
		}
		equal(t, "finished", f.finished.Load(), 0)
	})
	inBubble(t, "drain", func(t *testing.T) {
		var f finisher
		in := flow.NewInlet(flow.Edge[int]{Name: "in", Capacity: 1})
		run := start(t, in.Flow().To(&f))
		must(t, run.Drain(t.Context()))
		equal(t, "finished", f.finished.Load(), 1)
	})
}
