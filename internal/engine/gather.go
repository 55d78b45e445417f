package engine

import (
	"fmt"
	"time"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// NoWait makes a Gatherer take what is there, and wait for no more.
const NoWait time.Duration = -1

// Gatherer collects items from an edge until it has enough of them, or the first has waited long enough. Enough is a number of
// items, or a weight.
type Gatherer[T any] struct {
	Fused
	in      Input[T]
	timed   TimedReader[T]
	most    int64 // items, or weight
	weight  func(T) int64
	maxWait time.Duration
	timer   *time.Timer
	past    chan time.Time // closed, a time that is up; nil unless NoWait

	buf   Buffer[T]
	size  int   // of buf that is in use
	n     int   // items at hand
	cut   int   // of them that belong to the group
	total int64 // weight of the group
	since int64 // when the first item at hand was taken
	last  int64 // when the last one was
	end   error
}

// NewGatherer returns a Gatherer of up to most items, for at most maxWait, which may be NoWait; 0 is no limit in time. With weight,
// most is the sum of the items' weights, each at least 1. in is the head at an edge.
func NewGatherer[T any](f Fused, in Input[T], most int64, weight func(T) int64, maxWait time.Duration) *Gatherer[T] {
	g := &Gatherer[T]{Fused: f, in: in, timed: in.Reader.(TimedReader[T]), most: most, weight: weight, maxWait: maxWait}
	if maxWait < 0 {
		g.past = make(chan time.Time)
		close(g.past)
	}
	f.W.Hold(int(min(most, int64(1)<<31)))
	f.W.gathers = g
	return g
}

// Collect waits for a group and returns it. It is the gatherer's memory until Drop. The error comes without items.
func (g *Gatherer[T]) Collect() ([]T, []*Tag, error) {
	full := g.group()
	if !full && g.n == 0 && g.end == nil {
		full = g.fill(nil)
	}
	switch {
	case full || g.end != nil:
	case g.maxWait < 0:
		g.rest()
	default:
		g.wait()
	}
	if g.end != nil && (g.end != stage.ErrEnd || g.n == 0) {
		return nil, nil, g.end
	}
	return g.buf.Values[:g.cut], Cut(g.buf.Tags, 0, min(g.cut, len(g.buf.Tags))), nil
}

// rest adds to the group as long as there may be more than its buffer had room for.
func (g *Gatherer[T]) rest() {
	for g.n == g.size && !g.fill(g.past) {
	}
}

// wait adds to the group until it is complete or its time is up.
func (g *Gatherer[T]) wait() {
	var timeout <-chan time.Time
	if g.maxWait > 0 {
		left := max(g.maxWait-time.Duration(clock.Now()-g.since), 0)
		if g.timer == nil {
			g.timer = time.NewTimer(left)
		} else {
			g.timer.Reset(left)
		}
		defer g.timer.Stop()
		timeout = g.timer.C
	}
	for !g.fill(timeout) {
		if g.maxWait > 0 && time.Duration(g.last-g.since) >= g.maxWait {
			return // items came together with the timer, which does not deliver twice
		}
	}
}

// fill adds what is there. It reports whether the group is complete, be it because of the time or an end.
func (g *Gatherer[T]) fill(timeout <-chan time.Time) bool {
	g.grow()
	room := int(min(int64(g.size-g.n), g.most-g.total))
	tags := Cut(g.buf.Tags, min(g.n, len(g.buf.Tags)), min(g.n+room, len(g.buf.Tags)))
	k, err := g.timed.PullUntil(g.buf.Values[g.n:g.n+room], tags, timeout)
	if err == queue.ErrTimeout {
		return true
	}
	g.last = g.W.In.Returned
	if g.n == 0 {
		g.since = g.last
	}
	g.n += k
	g.end = err
	return g.group() || g.end != nil
}

// group extends the group over the items at hand. It reports whether it is complete.
func (g *Gatherer[T]) group() bool {
	if g.weight == nil {
		g.cut, g.total = g.n, int64(g.n)
		return g.total >= g.most
	}
	for g.cut < g.n && g.end == nil {
		w := g.weigh(g.buf.Values[g.cut])
		if g.end != nil {
			g.lose()
			return true
		}
		if g.cut > 0 && w > g.most-g.total {
			return true
		}
		g.total += w
		g.cut++
	}
	return g.total >= g.most
}

// weigh asks the user's function.
func (g *Gatherer[T]) weigh(v T) (w int64) {
	defer g.Guard(&g.end)
	g.Begin()
	if w = g.weight(v); w < 0 {
		g.end = &stage.Error{Stage: g.Stage.Name, Err: fmt.Errorf("weight must be >= 0, got %d", w)}
	}
	return max(w, 1)
}

// lose ends the item that could not be weighed.
func (g *Gatherer[T]) lose() {
	g.Lose(g.end, 1, Cut(g.buf.Tags, min(g.cut, len(g.buf.Tags)), min(g.cut+1, len(g.buf.Tags))))
	g.n--
	copy(g.buf.Values[g.cut:], g.buf.Values[g.cut+1:g.n+1])
	if g.buf.Tags != nil {
		copy(g.buf.Tags[g.cut:], g.buf.Tags[g.cut+1:g.n+1])
		g.buf.Tags[g.n] = nil
	}
}

// grow makes the buffer larger when it is full.
func (g *Gatherer[T]) grow() {
	if g.n < g.size {
		return
	}
	g.size = int(min(max(4*int64(g.size), firstRoom), max(g.most, int64(g.n)+1)))
	old := g.buf
	g.buf = Buffer[T]{}
	g.buf.Room(g.size, g.in.Tagged)
	copy(g.buf.Values, old.Values[:g.n])
	copy(g.buf.Tags, old.Tags)
}

// Drop forgets the group, whose tags somebody else has taken over. What did not belong to it stays.
func (g *Gatherer[T]) Drop() {
	rest := copy(g.buf.Values, g.buf.Values[g.cut:g.n])
	clear(g.buf.Values[rest:g.n])
	if g.buf.Tags != nil {
		copy(g.buf.Tags, g.buf.Tags[g.cut:g.n])
		clear(g.buf.Tags[rest:g.n])
	}
	g.n, g.cut, g.total, g.since = rest, 0, 0, g.last
}

// Leave gives back what was collected and leaves the edge.
func (g *Gatherer[T]) Leave() {
	g.GiveBack(g.n, Cut(g.buf.Tags, 0, min(g.n, len(g.buf.Tags))))
	g.n, g.cut = 0, 0
	g.in.Leave()
}
