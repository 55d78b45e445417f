package engine

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// group is an open group: a goroutine that runs the stage of a key, one after another where they return, over what comes through
// its lane. It takes one item at a time, so that all that waits does so in the lane.
type group[K comparable, T, U any] struct {
	of   *grouping[K, T, U]
	key  K
	w    *Worker // of the group alone, unknown to the run
	lane *queue.Queue[T]

	expected atomic.Int64 // how often the router was about to put something into the lane
	shed     atomic.Int64 // items dropped behind the lane

	value  [1]T // taken for a stage that is yet to ask for it
	tag    [1]*Tag
	holds  int // 1 while value is there
	parked bool
	clean  bool // the lane has ended, and nothing is left in it
	timer  *time.Timer

	closing    bool // the lane is closed or about to be; this and what follows is guarded by the lock of the grouping
	rests      bool // in the list of those that do
	prev, next *group[K, T, U]
}

// newGroup returns a group that expects its first item and has not been started.
func newGroup[K comparable, T, U any](r *grouping[K, T, U], k K) *group[K, T, U] {
	g := &group[K, T, U]{of: r, key: k}
	g.expected.Store(1)
	lane := r.Lane
	if lane.MaxWait > 0 || lane.Deadline != nil || lane.CoDel.Target > 0 {
		lane.Dropped = g.lost
	}
	g.lane = queue.New(lane)
	g.lane.AddProducer()
	g.lane.AddConsumer()
	w := &Worker{run: r.W.run, router: r.W, pace: newPacer(1), branch: r.in.Branch, stages: []*Stage{r.Stage}}
	w.In, w.Out = &w.places[0], &w.places[1]
	w.In.Owner, w.Out.Owner = w, w
	w.active.Store(r.Stage)
	w.outs = []output{r.out}
	w.closes = []func(){g.gone}
	w.Body(g.run, g.leave)
	g.w = w
	return g
}

// start starts the goroutine. The run waits for it as for its own, and the router does before it ends.
func (g *group[K, T, U]) start() {
	r := g.of
	r.out.AddProducer()
	r.W.run.workers.Hold()
	g.w.open(r.W.Context(), clock.Now())
	go g.w.main()
}

func (g *group[K, T, U]) run() error {
	n, err := g.Pull(g.value[:], g.tags())
	for g.holds = n; g.holds > 0; g.holds, err = g.another() {
		if err := g.work(); err != nil {
			return err
		}
		if g.of.Once {
			err = g.dropRest()
			break
		}
	}
	g.clean = err == stage.ErrEnd
	return err
}

// tags returns the place for the tag of the value at hand.
func (g *group[K, T, U]) tags() []*Tag { return plain(g.tag[:], g.of.in.Tagged) }

// another takes the next item where one waits: another stage is for it. Where none does it closes the lane, and looks again,
// because the router may have been faster.
func (g *group[K, T, U]) another() (int, error) {
	n, err := g.take(g.value[:], g.tags(), g.of.over)
	if err == queue.ErrTimeout {
		g.close()
		n, err = g.take(g.value[:], g.tags(), nil)
	}
	return n, err
}

// work makes a stage for the item at hand, and runs it until it returns.
func (g *group[K, T, U]) work() (err error) {
	r, ok := g.of, false
	c := &custom[T, U]{in: Input[T]{Reader: g, Stream: r.in.Stream}, out: r.out, ahead: 1}
	defer func() {
		if !ok && !c.counted && g.w.Gone() == nil && !errors.Is(err, ErrLeft) {
			g.fail(err)
		}
	}()
	user, err := g.make()
	if err != nil {
		return err
	}
	c.run = user
	c.Fused = Fused{W: g.w, Stage: r.Stage}
	err = c.body()
	switch {
	case err == stage.ErrEnd && g.holds > 0 && !r.Once:
		return g.failure(errUnread)
	case err == stage.ErrEnd:
		ok = true
		return nil
	case g.w.Gone() != nil:
		return err
	default:
		return g.named(err)
	}
}

var (
	errUnread  = errors.New("the stage of a group returned without taking the item that it was opened for, and so would the next one")
	errNoStage = errors.New("the stage of a group must not be nil")
)

// make calls the user's function, one at a time.
func (g *group[K, T, U]) make() (user stage.Stage[T, U], err error) {
	r := g.of
	select {
	case r.turn <- struct{}{}:
	case <-g.w.Context().Done():
		return nil, g.w.Gone()
	}
	defer func() { <-r.turn }()
	defer func() {
		if p := recover(); p != nil {
			err = g.named(Panicked(r.Stage.Name, p))
		}
	}()
	if user = r.Make(g.key); user == nil {
		return nil, g.failure(errNoStage)
	}
	return user, nil
}

// failure makes err an error of the stage.
func (g *group[K, T, U]) failure(err error) error { return g.named(failure(g.of.Stage.Name, err, nil)) }

// named adds the key of the group to an error of its stage.
func (g *group[K, T, U]) named(err error) error {
	if e, ok := err.(*stage.Error); ok { //nolint:errorlint // only the engine's own, not one wrapped by a user
		return withKey(e, fmt.Sprint(g.key))
	}
	return err
}

// fail counts an item that has failed with err, nil for a Goexit: that at hand, where there is one, or that of the stage.
func (g *group[K, T, U]) fail(err error) {
	if err == nil {
		err = g.failure(stage.ErrGoexit)
	}
	g.of.Stage.Failed.Add(1)
	g.w.run.report.failed.Add(1)
	release(Cut(g.tags(), 0, g.holds), stage.Outcome{Kind: stage.Failed, Err: err})
	g.drop()
}

// drop forgets the value at hand.
func (g *group[K, T, U]) drop() {
	clear(g.value[:])
	g.tag[0], g.holds = nil, 0
}

// dropRest drops what has come for a key whose stage has returned, and what comes until the lane ends.
func (g *group[K, T, U]) dropRest() error {
	for {
		if g.holds == 0 {
			n, err := g.Pull(g.value[:], g.tags())
			if n == 0 {
				return err
			}
		}
		v, t := g.value[0], g.tag[0]
		g.drop()
		g.shed.Add(1)
		if g.of.Drop != nil {
			g.of.Drop(v, t, queue.DropShed)
		}
	}
}

// Pull implements [Reader]. It takes one item.
func (g *group[K, T, U]) Pull(dst []T, tags []*Tag) (int, error) {
	if g.holds > 0 {
		dst[0] = g.value[0]
		copy(tags, g.tag[:])
		g.drop()
		return 1, nil
	}
	for {
		expected := g.expected.Load()
		n, err := 0, queue.ErrTimeout
		if !g.empty() {
			n, err = g.take(dst, tags, g.of.over)
		}
		if err == queue.ErrTimeout {
			n, err = g.park(dst, tags, expected)
		}
		if err != queue.ErrTimeout {
			return n, err
		}
		g.close() // it was idle for too long
	}
}

// empty reports whether nothing waits in the lane, and it has not ended. To ask costs less than to take in vain.
func (g *group[K, T, U]) empty() bool {
	room, err := g.lane.Demand(nil, g.of.Lane.Capacity, false)
	return err == nil && room == g.of.Lane.Capacity
}

// Leave implements [Reader]. What is left is a matter of the group's.
func (g *group[K, T, U]) Leave() {}

// take takes from the lane.
func (g *group[K, T, U]) take(dst []T, tags []*Tag, timeout <-chan time.Time) (int, error) {
	return g.lane.Take(g.w.In, dst[:1], Cut(tags, 0, min(1, len(tags))), timeout)
}

// park waits for an item. The group rests meanwhile, unless the router is about to put something into the lane, what it was not
// when expected was read.
func (g *group[K, T, U]) park(dst []T, tags []*Tag, expected int64) (int, error) {
	var timeout <-chan time.Time
	if g.rest(expected) && g.of.Idle > 0 {
		timeout = g.alarm()
		defer g.timer.Stop()
	}
	g.parked = true
	n, err := g.take(dst, tags, timeout)
	g.parked = false
	g.wake()
	return n, err
}

// alarm starts the time that the group may be idle.
func (g *group[K, T, U]) alarm() <-chan time.Time {
	if g.timer == nil {
		g.timer = time.NewTimer(g.of.Idle)
	} else {
		g.timer.Reset(g.of.Idle)
	}
	return g.timer.C
}

// lost is called for an item that the lane drops. If the group has been woken for it, and finds that it must not start any more, it
// goes on resting.
func (g *group[K, T, U]) lost(v T, t *Tag, why queue.Reason) {
	byTheGroup := why == queue.DropExpired || why == queue.DropDeadline || why == queue.DropShed
	if byTheGroup && g.parked {
		g.rest(g.expected.Load())
	}
	if drop := g.of.Lane.Dropped; drop != nil {
		drop(v, t, why)
	}
}

// rest makes the group one of those that can be asked for their place, and reports whether it could.
func (g *group[K, T, U]) rest(expected int64) bool {
	r := g.of
	r.mu.Lock()
	ok := !g.closing && g.expected.Load() == expected
	if ok {
		r.resting.add(g)
	}
	r.mu.Unlock()
	r.bell.Ring()
	return ok
}

// wake ends the rest.
func (g *group[K, T, U]) wake() {
	g.of.mu.Lock()
	g.of.resting.remove(g)
	g.of.mu.Unlock()
}

// close ends the lane behind what waits in it.
func (g *group[K, T, U]) close() {
	g.of.mu.Lock()
	first := g.of.mark(g)
	g.of.mu.Unlock()
	if first {
		g.lane.CloseProducer()
	}
}

// leave gives back what is at hand, and where the group does not end with its lane, what waits there.
func (g *group[K, T, U]) leave() {
	g.w.giveBack(nil, g.holds, Cut(g.tags(), 0, g.holds))
	g.drop()
	if !g.clean {
		g.lane.Abort(g.w.Cause())
	}
}

// gone gives the place free.
func (g *group[K, T, U]) gone() {
	r, f := g.of, g.figures(clock.Now())
	r.mu.Lock()
	r.past.add(&f)
	r.resting.remove(g)
	if g.closing {
		r.ending--
	}
	delete(r.open, g.key)
	r.mu.Unlock()
	r.bell.Ring()
}
