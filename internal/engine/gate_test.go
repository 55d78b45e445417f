package engine

import (
	"context"
	"testing"

	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/internal/waitgraph"
	"github.com/weir-go/weir/stage"
)

// Who lets items into a loop and has been told that there is room moves, however long it takes until it runs: where the processor is
// short, two looks may see it in the same wait. So does who has been told to end.
func TestAGateWithRoomIsNotStuck(t *testing.T) {
	run := NewRun()
	w := run.NewWorker()
	ctx, stop := context.WithCancel(t.Context())
	w.open(ctx, 0)
	g := NewGate(2)
	g.w, g.in = w, NewLink[int](run, queue.New(queue.Config[int]{Name: "in", Capacity: 1}), nil, Stream{})
	run.spots = append(run.spots, g)
	kind := func() waitgraph.Kind {
		var s survey
		return s.take(run).Tasks[w.id].Kind
	}
	g.inside.Store(2)
	if got := kind(); got != waitgraph.Moves {
		t.Errorf("before the wait: %v, want %v", got, waitgraph.Moves)
	}
	g.waits.begin(1)
	if got := kind(); got != waitgraph.Tasks {
		t.Errorf("at a full loop: %v, want %v", got, waitgraph.Tasks)
	}
	g.Ended(stage.Outcome{})
	if got := kind(); got != waitgraph.Moves {
		t.Errorf("an item has left, and the worker has not run yet: %v, want %v", got, waitgraph.Moves)
	}
	g.inside.Store(2)
	stop()
	if got := kind(); got != waitgraph.Moves {
		t.Errorf("the run has ended, and the worker has not run yet: %v, want %v", got, waitgraph.Moves)
	}
}
