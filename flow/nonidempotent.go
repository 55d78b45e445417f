package flow

import (
	"slices"

	"github.com/weir-go/weir/internal/engine"
)

// effect is the type of NonIdempotent.
type effect uint8

// NonIdempotent marks a stage whose function has an effect that must not be repeated: it charges a card, or sends a mail. Then it is
// a build error to let the stage Retry or Redeliver, to Redeliver at a stage behind it, and to put an edge behind it that can drop
// (DropNewest, DropOldest, MaxWait, Deadline, CoDel), because a message that fails or that an edge gives back comes again, and one that an edge
// acknowledges loses what the effect was for. Behind [Flow.BestEffort] an edge may drop. What is behind the members of a
// [BroadcastHub] is behind the stage as well.
//
// A push of several items that fails with an error other than a *stage.BatchError stops the run, because to find out which of
// them failed it would have to be repeated in parts.
//
// It does not make delivery exactly once: what is in flight when a run stops is delivered again. An effect that must not even
// then be repeated needs an identity, such as Meta.ID, that its receiver knows.
const NonIdempotent effect = 1

func (effect) call(s *settings)     { s.once = true }
func (effect) expand(s *settings)   { s.once = true }
func (effect) parallel(s *settings) { s.once = true }
func (effect) sink(s *settings)     { s.once = true }

// behind returns what is known of the stream behind n, whose options s are, for that in front of it.
func (s *settings) behind(b *build, n *node, in engine.Stream) engine.Stream {
	if s.once {
		in.Effect = b.name(n)
	}
	return in
}

// effectLost says what is wrong with an edge, as what can, behind the effect of a stage.
func effectLost(what, effect string) string {
	return what + " can drop items behind " + effect + ", which is NonIdempotent: a message that is delivered again would repeat the effect"
}

// loses looks at an edge, or at what, that can drop, for what is known of its stream.
func (b *build) loses(n *node, edge, what string, s *engine.Stream) {
	if s.Effect != "" {
		b.fail(n, effectLost(what, s.Effect))
	}
	if s.Loses != nil && b.live {
		s.Loses(edge)
	}
}

// retries reports whether one of the decisions calls again.
func retries(ds []engine.Decision) bool {
	return slices.ContainsFunc(ds, func(d engine.Decision) bool { return d.Action == engine.Retry })
}
