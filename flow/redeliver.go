package flow

import (
	"slices"

	"github.com/weir-go/weir/internal/engine"
)

// redelivers reports whether one of the decisions wants items to come again.
func redelivers(ds []engine.Decision) bool {
	return slices.ContainsFunc(ds, func(d engine.Decision) bool { return d.Action == engine.Redeliver })
}

// decided readies what OnError says at n: in is the stream that fails there.
func (b *build) decided(n *node, h engine.Handling, in engine.Stream) {
	for _, d := range slices.Concat(h.Decisions, h.Open) {
		if d.Letters != nil {
			b.run.Register(engine.DeadLetterPart, "dead letters", d.Letters.Sink)
		}
	}
	if !redelivers(h.Decisions) && !redelivers(h.Open) {
		return
	}
	if !in.Again {
		b.fail(n, "Redeliver needs a source whose messages can come again: those of FromItems can, where no others join them; those of OpenAt, of an Inlet or a hub, plain values, and what is behind BestEffort can't")
	}
	if in.Effect != "" {
		b.fail(n, "Redeliver is behind "+in.Effect+", which is NonIdempotent: a message that is delivered again would repeat the effect")
	}
}
