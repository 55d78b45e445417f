package engine

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/queue"
)

// EdgeInfo is what does not change about an edge, but for a capacity that a deadlock has made larger.
type EdgeInfo struct {
	Name      string
	At        Origin   // where it was written; nil for one that an operator brought
	From, To  []string // stages
	Capacity  int
	OnFull    queue.Policy
	MaxWait   time.Duration
	MaxWeight int64 // 0: no bound by weight
	Order     queue.Kind
}

// Link is an edge of a run: the queue, and what the blueprint says about it.
type Link[T any] struct {
	*queue.Queue[T]
	Stream
	Sheds bool // it may drop an item where the graph stands still otherwise

	info    EdgeInfo
	run     *Run
	id      int // in the run's list
	from    []*Worker
	readers []*Worker
	to      []*Stage
}

// NewLink adds an edge to the run, whose queue q belongs to it. at is where it was written, nil for one that an
// operator brought.
func NewLink[T any](r *Run, q *queue.Queue[T], at Origin, s Stream) *Link[T] {
	cfg := q.Config()
	l := &Link[T]{Queue: q, Stream: s, run: r, id: len(r.Edges), info: EdgeInfo{
		Name: cfg.Name, At: at, Capacity: cfg.Capacity, OnFull: cfg.OnFull, MaxWait: cfg.MaxWait, MaxWeight: cfg.MaxWeight,
		Order: cfg.Order.Kind,
	}}
	r.Edges = append(r.Edges, l)
	return l
}

// Info implements [Edge].
func (l *Link[T]) Info() EdgeInfo {
	info := l.info
	info.Capacity = l.Capacity()
	for _, w := range l.from {
		if n := len(w.stages); n > 0 {
			info.From = appendNew(info.From, w.stages[n-1])
		}
	}
	for _, st := range l.to {
		info.To = appendNew(info.To, st)
	}
	return info
}

// appendNew appends the name of st where it is new.
func appendNew(names []string, st *Stage) []string {
	if slices.Contains(names, st.Name) {
		return names
	}
	return append(names, st.Name)
}

// Feed makes w a producer of the edge.
func (l *Link[T]) Feed(w *Worker) {
	l.from = append(l.from, w)
	l.AddProducer()
	w.outputs.Add(1)
	l.OnLeft(w.outputLeft)
	w.outs = append(w.outs, l)
}

// read makes w a consumer of the edge.
func (l *Link[T]) read(w *Worker) {
	l.readers = append(l.readers, w)
	l.AddConsumer()
}

// edgeHead reads from an edge.
type edgeHead[T any] struct {
	w    *Worker
	link *Link[T]
	gone atomic.Bool
}

// ReadEdge makes w a consumer of the edge and returns the head that reads from it.
func ReadEdge[T any](w *Worker, l *Link[T]) Input[T] {
	h := &edgeHead[T]{w: w, link: l}
	w.ahead = append(w.ahead, func(st *Stage) { l.to = append(l.to, st) })
	l.read(w)
	w.quits = append(w.quits, h.Leave)
	w.branch = l.Branch
	return Input[T]{Reader: h, Stream: l.Stream}
}

// ShareEdge is [ReadEdge] for one of several workers that read from the same edge: it takes small chunks, and at most its share.
func ShareEdge[T any](w *Worker, l *Link[T]) Input[T] {
	w.pace.limit = sharedChunk
	l.ShareOut()
	return ReadEdge(w, l)
}

// Pull implements [Reader].
func (h *edgeHead[T]) Pull(dst []T, tags []*Tag) (int, error) {
	now := clock.Now()
	return h.take(now, h.w.granted(now, len(dst)), dst, tags, nil)
}

// PullUntil implements [TimedReader].
func (h *edgeHead[T]) PullUntil(dst []T, tags []*Tag, timeout <-chan time.Time) (int, error) {
	now := clock.Now()
	h.w.granted(now, len(dst))
	return h.take(now, len(dst), dst, tags, timeout)
}

func (h *edgeHead[T]) take(now int64, k int, dst []T, tags []*Tag, timeout <-chan time.Time) (int, error) {
	n, err := h.link.TakeAt(now, h.w.In, dst[:k], tags, timeout)
	h.w.took(h.w.In.Returned, k, n)
	return n, err
}

// Leave implements [Reader]. It may be called from any goroutine.
func (h *edgeHead[T]) Leave() {
	if !h.gone.CompareAndSwap(false, true) {
		return
	}
	if cause := h.w.Cause(); cause == ErrLeft {
		h.link.Leave(cause)
	} else {
		h.link.Abort(cause) // the run ends: producers must not take it for a consumer that wants no more
	}
}
