package engine

import (
	"slices"
	"sync"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// Hub is the set of edges that one worker feeds, each of which belongs to another run. It may change at any time.
type Hub[T any] struct {
	mu       sync.Mutex
	members  []place[T] // in the order in which they came
	over     bool       // takes no more
	draining bool
	news     chan struct{} // something has changed
}

// place is that of a member: its edge, and what stops its run.
type place[T any] struct {
	*queue.Queue[T]
	stop func(error)
}

// NewHub returns a Hub without members.
func NewHub[T any]() *Hub[T] { return &Hub[T]{news: make(chan struct{}, 1)} }

// Attach makes q a member; stop is told of an error of the hub's run. It reports false when the stream is over.
func (h *Hub[T]) Attach(q *queue.Queue[T], stop func(error)) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return false
	}
	q.AddProducer()
	h.members = append(h.members, place[T]{q, stop})
	h.ring()
	return true
}

// Detach ends q's stream behind what waits in it. Further calls do nothing.
func (h *Hub[T]) Detach(q *queue.Queue[T]) {
	h.mu.Lock()
	i := slices.IndexFunc(h.members, func(m place[T]) bool { return m.Queue == q })
	if i >= 0 {
		h.members = slices.Delete(h.members, i, i+1)
	}
	h.mu.Unlock()
	if i >= 0 {
		q.CloseProducer()
	}
}

func (h *Hub[T]) ring() {
	select {
	case h.news <- struct{}{}:
	default:
	}
}

// drain takes no more members, and ends a wait for the first.
func (h *Hub[T]) drain() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over, h.draining = true, true
	h.ring()
}

// finish ends the streams of all members: with cause, or where it is nil behind what waits.
func (h *Hub[T]) finish(cause error) {
	h.mu.Lock()
	members := h.members
	h.members, h.over = nil, true
	h.mu.Unlock()
	for _, m := range members {
		if cause != nil {
			m.Abort(cause)
			m.stop(cause)
		} else {
			m.CloseProducer()
		}
	}
}

// hubTail puts every item into the edge of each member that there is.
type hubTail[T any] struct {
	Fused
	in    Input[T]
	hub   *Hub[T]
	now   []place[T] // the members, at one moment
	buf   chunkBuffer[T]
	ended bool // cleanly
}

// FeedHub makes w put everything from in into the edges of the hub's members.
func FeedHub[T any](w *Worker, st *Stage, in Input[T], h *Hub[T]) {
	w.hides = always
	t := &hubTail[T]{Fused: NewFused(w, st), in: in, hub: h, buf: chunkBuffer[T]{tagged: true}}
	w.sink = true
	w.run.OnDrain(h.drain)
	w.quits = append(w.quits, func() { h.finish(w.Cause()) }) // wakes w where it waits for a member
	w.Body(t.run, t.leave)
}

func (t *hubTail[T]) run() error {
	for {
		room, err := t.demand()
		if err == nil {
			err = t.move(room)
		}
		if err != nil {
			t.ended = err == stage.ErrEnd
			return err
		}
	}
}

// move carries one chunk.
func (t *hubTail[T]) move(room int) error {
	values, tags := t.buf.room(room)
	n, err := t.in.Pull(values, plain(tags, t.in.Tagged))
	if n > 0 {
		if perr := t.put(values[:n], tags[:n]); perr != nil {
			return perr
		}
		t.buf.used(t.W, n)
	}
	return err
}

// gather waits until there is a member.
func (t *hubTail[T]) gather() error {
	for {
		t.hub.mu.Lock()
		t.now = append(t.now[:0], t.hub.members...)
		draining := t.hub.draining
		t.hub.mu.Unlock()
		switch gone := t.W.Gone(); {
		case gone != nil:
			return gone
		case len(t.now) > 0:
			return nil
		case draining:
			return stage.ErrEnd
		}
		t.W.Out.Parked.Start(clock.Now())
		select {
		case <-t.hub.news:
		case <-t.W.Context().Done():
		}
		t.W.Out.Parked.Stop(clock.Now())
	}
}

// demand waits until every member has room, and returns the least.
func (t *hubTail[T]) demand() (int, error) {
	for {
		if err := t.gather(); err != nil {
			return 0, err
		}
		room := 0
		for _, q := range t.now {
			n, err := q.Demand(t.W.Out, maxChunk, true)
			switch {
			case err != nil: // it has left, or it is gone with everything, which gather sees
				t.hub.Detach(q.Queue)
			case room == 0 || n < room:
				room = n
			}
		}
		if room > 0 {
			return room, t.W.Gone()
		}
	}
}

// put hands a chunk to every member. Each has a share of the claims; that of a member which has left is done.
func (t *hubTail[T]) put(values []T, tags []*Tag) (err error) {
	i := -1 // of the member that comes next; -1: there are none yet
	defer func() {
		if i < len(t.now) { // the run ends, or a hook of a member's has ended the goroutine
			t.giveUp(err, i, len(values), tags)
		}
		Clear(values, tags)
	}()
	if err = t.gather(); err != nil { // all may have left since
		return err
	}
	for _, tag := range tags {
		tag.Share(len(t.now))
	}
	i = 0
	for ; i < len(t.now); i++ {
		q := t.now[i]
		took, perr := q.Put(t.W.Out, values, tags, nil)
		if perr == nil {
			continue
		}
		if gone := t.W.Gone(); gone != nil {
			return gone
		}
		share(tags[took:], stage.Outcome{})
		q.Abort(perr) // what is wrong with it is its own run's business
		t.hub.Detach(q.Queue)
	}
	t.Stage.Count(len(values), len(values))
	t.W.run.report.done.Add(int64(len(values)))
	share(tags, stage.Outcome{})
	return nil
}

// giveUp gives back the shares of member i from what its edge took on, those of the members behind it, and the hub's own.
func (t *hubTail[T]) giveUp(cause error, i, n int, tags []*Tag) {
	if cause == nil { // user code of a member's edge, about one of them
		cause, t.W.doubt = t.W.Cause(), true
	}
	if cause == stage.ErrEnd {
		cause = errDrain
	}
	o := t.W.givenBack(false, cause)
	if i >= 0 {
		share(tags[min(t.W.Out.Took, len(tags)):], o)
		for range t.now[i+1:] {
			share(tags, o)
		}
	}
	t.W.run.report.givenBack.Add(int64(n))
	share(tags, o)
}

func (t *hubTail[T]) leave() {
	t.in.Leave()
	t.buf.abandon(t.W)
	if t.ended {
		t.hub.finish(nil)
	} else {
		t.hub.finish(t.W.Cause())
	}
}
