// Package engine runs pipelines: typed pull chains in goroutines, joined by bounded edges.
//
//	 a worker (one goroutine)                       the next worker
//	[head <- step <- step <- tail] ==edge (queue)==> [head <- step <- tail]
//	       demand goes left, values go right
//
// A [Worker] is one goroutine. At its left end is a head, which reads from a source or from an edge; at its right end a tail,
// which pulls and puts what it got into an edge, into several, or into a sink. Between them stand fused steps: each is a
// [Reader] that wraps the Reader on its left. A pull asks for at most len(dst) items, and that length is the demand.
//
// A [Run] owns the workers, the edges and everything that has to be closed. Package flow builds all this from a blueprint
// and holds the operators; what is here knows nothing of them.
//
// # Rules
//
//   - A value has one holder: an edge, or the buffer of one step. Who holds it when the run stops gives it back; who hands
//     values to an edge learns how many it took. A tag, where a value has one, is released by its holder, once.
//   - Reader.Pull reports an error once, with the items before it, and is not called again. Reader.Leave follows: it gives
//     back what is held and tells upstream, and does nothing the second time.
//   - Clean ends are stage.ErrEnd (upstream has no more) and queue.ErrLeft (downstream wants no more). Everything else stops
//     the run.
//   - User code runs under a guard, once per chunk: an error, a panic or a Goexit in it becomes a *stage.Error with the stage's name.
package engine

import "github.com/weir-go/weir/internal/queue"

// ErrLeft is the clean end of a worker whose output nobody wants any more.
var ErrLeft = queue.ErrLeft
