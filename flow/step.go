package flow

import (
	"github.com/weir-go/weir/internal/engine"
)

// newStep returns the flow behind a fused step of op after f. wrap makes the step around what is upstream, in the goroutine and
// for the stage of at.
func newStep[T, U any](f Flow[T], n *node, wrap func(at engine.Fused, in engine.Input[T]) engine.Input[U]) Flow[U] {
	up := f.node()
	return Flow[U]{&fused[U]{node: n, read: func(b *build, w *engine.Worker) engine.Input[U] {
		in := up.reader(b, w)
		return wrap(engine.NewFused(w, b.stage(n)), in)
	}}}
}

// stepNode returns the node of a step of op after f.
func stepNode[T any](op string, f Flow[T], opts []StepOption) *node {
	var s settings
	each(&s, opts, StepOption.step)
	return newNode(op, &s, f.node().about())
}

// callSettings gathers the options of an operator whose function may fail.
func callSettings(opts []CallOption) *settings {
	var s settings
	each(&s, opts, CallOption.call)
	return &s
}

// handling returns what the options say about failing calls, recording what is wrong with them.
func (n *node) handling(s *settings) engine.Handling {
	h := s.around.handling(n)
	h.Once = s.once
	n.effect = s.once
	n.expects(s)
	for _, d := range s.decisions {
		if d.Open {
			h.Open = append(h.Open, d)
		} else {
			h.Decisions = append(h.Decisions, d)
		}
		n.loses = n.loses || d.Action == engine.Skip || d.Action == engine.DeadLetter || d.Action == engine.Redeliver
		if d.Letters != nil {
			n.validate(d.Letters.Sink)
		}
	}
	n.check(h.Open == nil || h.Breaker != nil, "IfOpen needs a Breaker")
	n.check(h.Budget == nil || retries(s.decisions), "RetryBudget needs a Retry")
	if s.once {
		n.check(!retries(h.Decisions), "Retry would repeat the effect of a stage that is NonIdempotent")
		n.check(!redelivers(s.decisions), "Redeliver would repeat the effect of a stage that is NonIdempotent")
	}
	if s.timeout != nil {
		n.check(*s.timeout > 0, argument("Timeout", "> 0", *s.timeout))
		h.Timeout = *s.timeout
	}
	return h
}
