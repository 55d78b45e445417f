package flow

import (
	"github.com/weir-go/weir/internal/claim"
	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/stage"
)

// BestEffort lets go of the claims of the items: for their source they are done here, whatever becomes of them behind it. In a
// branch of a [Flow.Broadcast] or [Flow.Tee] it says that the branch does not count: a message is acknowledged when the other branches
// are done with it. An edge behind it that drops needs no SettleDropped,
// and may stand behind a stage that is [NonIdempotent].
//
//	branch.BestEffort().Buffer(100, flow.DropNewest).ForEach(show, flow.OnError(flow.Skip))
//
//	Shape:  T → T, order kept; fused: no goroutine, no queue. Metadata stays.
//	Errors: none of its own. It does not isolate: an error behind it that OnError does not deal with stops the run.
//	Claims: the item's share of the message is done when the item comes here; while it waits in an edge in front, it counts.
func (f Flow[T]) BestEffort(opts ...StepOption) Flow[T] {
	return newStep(f, stepNode("besteffort", f, opts), func(at engine.Fused, in engine.Input[T]) engine.Input[T] {
		s := in.Stream
		s.Claims, s.Again, s.Effect, s.Loses = false, false, "", nil
		return engine.Input[T]{Reader: &bestEffortStep[T]{Fused: at, in: in}, Stream: s}
	})
}

type bestEffortStep[T any] struct {
	engine.Fused
	in engine.Input[T]
}

// Pull implements engine.Reader.
func (s *bestEffortStep[T]) Pull(dst []T, tags []*engine.Tag) (int, error) {
	n, err := s.in.Pull(dst, tags)
	for i, t := range tags[:min(n, len(tags))] {
		if t.Claimed() {
			tags[i] = claim.New(t.Meta)
			t.Release(stage.Outcome{})
		}
	}
	s.Stage.Count(n, n)
	return n, err
}

// Leave implements engine.Reader.
func (s *bestEffortStep[T]) Leave() { s.in.Leave() }
