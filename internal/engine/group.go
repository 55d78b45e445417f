package engine

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// Groups says what [GroupBy] does.
type Groups[K comparable, T, U any] struct {
	Key  func(T) K                   // user code
	Make func(K) stage.Stage[T, U]   // user code: the stage of a key
	Lane queue.Config[T]             // what waits in front of each group
	Most int                         // groups open at a time
	Idle time.Duration               // how long a group may have nothing to do; 0: until its place is needed
	Once bool                        // when a stage has returned by itself, what comes for its key is dropped
	Drop func(T, *Tag, queue.Reason) // takes over what Once drops; nil: just counted
}

// grouping is the tail that puts every item into the lane of its key's group, and opens and ends groups.
//
// A group is a goroutine with a lane, which comes and goes while the run runs. The router is the only one who puts something
// into lanes and who opens groups. A lane is closed by the router, when the place is needed or the stream has ended, or by its group,
// when that has nothing to do: the queue's own lock decides whether an item came before. One that did is worked on first, and one
// that did not waits in the router's hand until the group is gone. So the next group of a key never begins before the last one
// has ended, and the order of the key is kept.
type grouping[K comparable, T, U any] struct {
	Fused
	Groups[K, T, U]
	in   Input[T]
	out  *Link[U]
	buf  Buffer[T]
	keys []K             // of the chunk
	full *group[K, T, U] // whose lane had no room for two items when it was last looked at

	bell *Bell          // rung when a group rests, and when one is gone
	turn chan struct{}  // held by whoever calls Make: no mutex, because user code may wait
	over chan time.Time // closed: a time that is up

	mu      sync.Mutex // never held together with the lock of a queue
	open    map[K]*group[K, T, U]
	ending  int // of them, those whose lane is closed
	wanted  K   // while the router waits: for the group of this key to be gone, or for a place for it
	resting resting[K, T, U]
	aborted error
	past    figures // of the groups that are gone
}

// GroupBy makes w put every item from in into the lane of its key's group, which puts what its stage emits into the edge.
func GroupBy[K comparable, T, U any](w *Worker, st *Stage, in Input[T], out *Link[U], groups Groups[K, T, U]) {
	r := &grouping[K, T, U]{
		Fused: NewFused(w, st), Groups: groups, in: in, out: out,
		bell: NewBell(w), turn: make(chan struct{}, 1), over: make(chan time.Time), open: map[K]*group[K, T, U]{},
	}
	close(r.over)
	st.crew = r
	out.Feed(w)
	w.SmallChunks()
	w.Hold(r.Most) // what each stage is working on
	w.hides = always
	w.run.Edges = append(w.run.Edges, r)
	w.quits = append(w.quits, func() { r.Abort(w.Cause()) })
	w.Body(r.run, r.leave)
}

func (r *grouping[K, T, U]) run() error {
	for {
		values, tags := r.buf.Room(r.demand(), r.in.Tagged)
		n, err := r.in.Pull(values, tags)
		if n > 0 {
			if rerr := r.route(values[:n], Cut(tags, 0, min(n, len(tags)))); rerr != nil {
				return rerr
			}
		}
		if err == stage.ErrEnd {
			return r.finish()
		}
		if err != nil {
			return err
		}
	}
}

// demand returns how many items to pull: one where a lane is full, or a new key would have to wait for its place, because what is
// behind an item that waits is held back.
func (r *grouping[K, T, U]) demand() int {
	if r.full != nil {
		if n, err := r.full.lane.Demand(r.W.Out, 2, false); err == nil && n < 2 {
			return 1
		}
		r.full = nil
	}
	if r.crowded() {
		return 1
	}
	return min(sharedChunk, r.Lane.Capacity)
}

// route hands on a chunk. Where Key fails, it hands on what is in front of that item.
func (r *grouping[K, T, U]) route(values []T, tags []*Tag) error {
	done, failure := r.decide(values)
	if failure != nil {
		r.Lose(failure, len(values)-done, Cut(tags, min(done, len(tags)), len(tags)))
		clear(values[done:])
	}
	if err := r.hand(values[:done], Cut(tags, 0, min(done, len(tags)))); err != nil {
		return err
	}
	return failure
}

var errNotAKey = errors.New("the key is not equal to itself: a NaN can't be found again")

// decide asks for the key of each item.
func (r *grouping[K, T, U]) decide(values []T) (done int, err error) {
	defer r.Guard(&err)
	began := r.Begin()
	r.keys = r.keys[:0]
	for i, v := range values {
		done = i
		k := r.Key(v)
		if !same(k, k) {
			return done, failure(r.Stage.Name, errNotAKey, nil)
		}
		r.keys = append(r.keys, k)
	}
	r.End(began, 0, 0)
	return len(values), nil
}

// same compares keys; it panics for those that can't be compared, inside an interface.
func same[K comparable](a, b K) bool { return a == b }

// hand puts a chunk into the lanes, and gives back what none of them has taken over, also where a hook of a lane's does not return.
func (r *grouping[K, T, U]) hand(values []T, tags []*Tag) (err error) {
	at := 0
	defer func() {
		r.W.doubt = r.W.doubt || err == nil && at < len(values) // it was the weight of one of them
		r.W.giveBack(err, len(values)-at, Cut(tags, min(at, len(tags)), len(tags)))
		Clear(values, tags)
		clear(r.keys)
	}()
	for at < len(values) && err == nil {
		to := at + 1
		for to < len(values) && r.keys[to] == r.keys[at] {
			to++
		}
		err = r.put(r.keys[at], values[at:to], Cut(tags, min(at, len(tags)), min(to, len(tags))), &at)
	}
	return err
}

// put puts values into the lane of the group of k, and adds to at what the lane has taken over: not all where the group ends.
func (r *grouping[K, T, U]) put(k K, values []T, tags []*Tag, at *int) error {
	g, err := r.find(k)
	if err != nil {
		return err
	}
	defer func() { *at += r.W.Out.Took }()
	switch _, err = g.lane.Put(r.W.Out, values, tags, nil); {
	case errors.Is(err, queue.ErrClosed):
		return nil
	case err != nil:
		r.W.suspect(err)
		return edgeError(r.W, err)
	}
	if n, err := g.lane.Demand(r.W.Out, 2, false); err == nil && n < 2 {
		r.full = g
	}
	return nil
}

// find returns the group of k, which it opens where there is none. It waits for a place, and for the last group of k to be gone.
func (r *grouping[K, T, U]) find(k K) (*group[K, T, U], error) {
	for {
		g, spare, room := r.look(k)
		switch {
		case g != nil:
			return g, nil
		case room:
			return r.begin(k)
		case spare != nil:
			spare.lane.CloseProducer()
		}
		if err := r.wait(&r.W.held); err != nil {
			return nil, err
		}
	}
}

// look returns the group of k, which expects an item from then on. Where there is none it says whether there is room for one, or
// returns another group whose lane the caller is to close. Only one group at a time is asked for its place.
func (r *grouping[K, T, U]) look(k K) (g, spare *group[K, T, U], room bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g = r.open[k]
	switch {
	case g == nil && len(r.open) < r.Most:
		return nil, nil, true
	case g == nil && r.ending == 0 && r.resting.first != nil:
		spare = r.resting.first
		r.mark(spare)
		r.wanted = k
		return nil, spare, false
	case g == nil || g.closing:
		r.wanted = k
		return nil, nil, false
	}
	g.expected.Add(1)
	r.resting.remove(g)
	return g, nil, false
}

// mark notes that the lane of g is about to be closed, unless that is known. It is called with the lock.
func (r *grouping[K, T, U]) mark(g *group[K, T, U]) (first bool) {
	if g.closing {
		return false
	}
	g.closing = true
	r.ending++
	r.resting.remove(g)
	return true
}

// crowded reports whether a new key would have to wait for its place.
func (r *grouping[K, T, U]) crowded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.open) >= r.Most && r.resting.first == nil
}

// begin opens the group of k.
func (r *grouping[K, T, U]) begin(k K) (*group[K, T, U], error) {
	g := newGroup(r, k)
	if err := r.enter(g); err != nil {
		return nil, err
	}
	g.start()
	return g, nil
}

func (r *grouping[K, T, U]) enter(g *group[K, T, U]) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.aborted != nil {
		return r.aborted
	}
	r.open[g.key] = g
	return nil
}

// wait waits for news of a group, and measures it with s.
func (r *grouping[K, T, U]) wait(s *clock.Stopwatch) error {
	now := clock.Now()
	s.Start(now)
	r.bell.waits.begin(now)
	defer func() {
		r.bell.waits.end()
		s.Stop(clock.Now())
	}()
	r.W.Parks()
	select {
	case <-r.bell.rung:
		return nil
	case <-r.W.Context().Done():
		return r.W.Gone()
	}
}

// finish ends the input of all groups, and waits until they are gone.
func (r *grouping[K, T, U]) finish() error {
	for _, g := range r.groups() {
		g.close()
	}
	for r.size() > 0 {
		if err := r.wait(&r.W.In.Parked); err != nil {
			return err
		}
	}
	if gone := r.W.Gone(); gone != nil { // the last one has failed
		return gone
	}
	return stage.ErrEnd
}

// leave gives back what is in hand, and waits until all groups are gone: where this is no clean end, they have been told.
func (r *grouping[K, T, U]) leave() {
	r.in.Leave()
	r.buf.abandon(r.W)
	if r.size() > 0 {
		r.Abort(r.W.Cause())
	}
	r.W.active.Store(r.Stage)
	for n := r.size(); n > 0; n = r.size() {
		r.W.inHand.Store(int64(n))
		<-r.bell.rung
	}
}

// groups returns those that are open.
func (r *grouping[K, T, U]) groups() []*group[K, T, U] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.open))
}

// size returns how many groups are open.
func (r *grouping[K, T, U]) size() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.open)
}
