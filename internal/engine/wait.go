package engine

import (
	"context"
	"sync/atomic"
)

// spot is where workers wait for each other beside the edges.
type spot interface{ survey(s *survey) }

// gathering is a step that holds on to items until it has enough.
type gathering interface{ held() int }

// Parks implements [queue.Owner]: the monitor looks again, unless it is going to.
func (w *Worker) Parks() { w.run.monitor.notice() }

// Holds implements [queue.Owner].
func (w *Worker) Holds() int {
	if w.gathers == nil {
		return 0
	}
	return w.gathers.held()
}

func (g *Gatherer[T]) held() int { return g.n }

// stand is what a worker records of a wait at a place without a lock.
type stand struct {
	epoch atomic.Uint64 // odd while it waits
	since atomic.Int64
}

func (s *stand) begin(now int64) {
	s.since.Store(now)
	s.epoch.Add(1)
}

func (s *stand) end() { s.epoch.Add(1) }

// ownerKey finds the worker whose context it is.
type ownerKey struct{}

// Reenters reports whether ctx is that of user code in the same run which gets items from the edge: code that waits for room
// there may wait for itself.
func (l *Link[T]) Reenters(ctx context.Context) bool {
	w, ok := ctx.Value(ownerKey{}).(*Worker)
	if !ok || w.run != l.run {
		return false
	}
	if w.router != nil {
		w = w.router
	}
	return reach(l.run, []Edge{l})[w.id]
}
