package codel_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/weir-go/weir/internal/codel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// packet is an item of the reference queue: when it came.
type packet struct{ came int64 }

// reference is the dequeue side of RFC 8289, as its section 5 describes it: it owns the queue, and drops within one call.
type reference struct {
	target, interval int64
	queue            []packet
	dropped          []packet

	firstAbove         int64
	next               int64
	count, lastCount   int64
	dropping, hasAbove bool
}

// look takes the first packet, and says whether the rules allow to drop it.
func (r *reference) look(now int64) (p packet, there, mayDrop bool) {
	if len(r.queue) == 0 {
		r.hasAbove = false
		return packet{}, false, false
	}
	p, r.queue = r.queue[0], r.queue[1:]
	if now-p.came < r.target || len(r.queue) == 0 {
		r.hasAbove = false
		return p, true, false
	}
	if !r.hasAbove {
		r.hasAbove, r.firstAbove = true, now+r.interval
		return p, true, false
	}
	return p, true, now >= r.firstAbove
}

func (r *reference) after(t int64) int64 {
	return t + int64(float64(r.interval)/math.Sqrt(float64(r.count)))
}

func (r *reference) dequeue(now int64) (packet, bool) {
	p, there, may := r.look(now)
	if r.dropping {
		if !may {
			r.dropping = false
		}
		for r.dropping && now >= r.next {
			r.dropped = append(r.dropped, p)
			r.count++
			if p, there, may = r.look(now); may {
				r.next = r.after(r.next)
			} else {
				r.dropping = false
			}
		}
		return p, there
	}
	if may {
		r.dropped = append(r.dropped, p)
		p, there, _ = r.look(now)
		r.dropping = true
		recent := r.count - r.lastCount
		r.count = 1
		if recent > 1 && now-r.next < 16*r.interval {
			r.count = recent
		}
		r.next = r.after(now)
		r.lastCount = r.count
	}
	return p, there
}

// Items that pass together change the state as each of them would, and none of them would be dropped.
func TestWhatPassesTogetherPassesOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := codel.Config{Target: 5, Interval: 20, Law: rapid.SampledFrom([]codel.Law{codel.Limit, codel.Root}).Draw(t, "law")}
		var s codel.State
		now := int64(0)
		for range 100 {
			now += rapid.Int64Range(0, 9).Draw(t, "later")
			waited := time.Duration(rapid.Int64Range(0, 12).Draw(t, "waited"))
			one := s
			if !s.Passes(&c, waited) {
				s.Drop(&c, now, waited, 3)
				continue
			}
			for behind := range rapid.IntRange(1, 3).Draw(t, "items") {
				if one.Drop(&c, now, waited, behind) || one != s {
					t.Fatalf("one that has waited for %v: %+v, passing together %+v", waited, one, s)
				}
			}
		}
	})
}

// subject is a queue with the law under test at its end.
type subject struct {
	c       codel.Config
	s       codel.State
	queue   []packet
	dropped []packet
}

func (q *subject) dequeue(now int64) (packet, bool) {
	for len(q.queue) > 0 {
		p := q.queue[0]
		q.queue = q.queue[1:]
		if !q.s.Drop(&q.c, now, time.Duration(now-p.came), len(q.queue)) {
			return p, true
		}
		q.dropped = append(q.dropped, p)
	}
	return packet{}, false
}

func TestRootLawIsThatOfTheRFC(t *testing.T) {
	entries := 0
	rapid.Check(t, func(t *rapid.T) {
		c := codel.Config{Target: 5 * time.Millisecond, Interval: 100 * time.Millisecond, Law: codel.Root}
		want := reference{target: int64(c.Target), interval: int64(c.Interval)}
		got := subject{c: c}
		now := int64(0)
		for range 40 { // phases, each with a load of its own
			gap := rapid.Int64Range(1, 10).Draw(t, "gap of arrivals") * int64(time.Millisecond)
			service := rapid.Int64Range(1, 12).Draw(t, "service") * int64(time.Millisecond)
			arrival, departure := now+gap, now+service
			for end := now + rapid.Int64Range(50, 3000).Draw(t, "length")*int64(time.Millisecond); now < end; {
				if now = min(arrival, departure); now == arrival {
					want.queue, got.queue = append(want.queue, packet{now}), append(got.queue, packet{now})
					arrival += gap
					continue
				}
				departure += service
				p, ok := want.dequeue(now)
				q, also := got.dequeue(now)
				if p != q || ok != also {
					t.Fatalf("at %v: %v, %v, want %v, %v", time.Duration(now), q, also, p, ok)
				}
			}
		}
		if !slices.Equal(got.dropped, want.dropped) {
			t.Fatalf("dropped %v, want %v", got.dropped, want.dropped)
		}
		entries += len(want.dropped)
	})
	if entries == 0 {
		t.Error("nothing was dropped in any run")
	}
}

func TestLimitLaw(t *testing.T) {
	const ms = time.Millisecond
	c := codel.Config{Target: 50 * ms, Interval: 100 * ms}
	var s codel.State
	for i, tt := range []struct {
		at, wait time.Duration
		behind   int
		want     bool
		why      string
	}{
		{0, 300 * ms, 9, false, "a burst: the first that has waited long"},
		{99 * ms, 300 * ms, 9, false, "an interval has not passed"},
		{100 * ms, 300 * ms, 9, true, "all have waited long for an interval"},
		{101 * ms, 100 * ms, 9, false, "twice the target is allowed"},
		{102 * ms, 100*ms + 1, 9, true, "more than twice the target"},
		{103 * ms, 49 * ms, 9, false, "the queue has been below the target"},
		{104 * ms, 300 * ms, 9, false, "so another interval must pass"},
		{204 * ms, 300 * ms, 9, true, "which it has"},
		{205 * ms, 300 * ms, 0, false, "the last one is never dropped"},
		{206 * ms, 300 * ms, 9, false, "and nothing stood behind it"},
	} {
		if got := s.Drop(&c, int64(tt.at), tt.wait, tt.behind); got != tt.want {
			t.Errorf("%d: Drop(at %v, waited %v, %d behind) = %t, want %t: %s", i, tt.at, tt.wait, tt.behind, got, tt.want, tt.why)
		}
	}
}

// A copy says what the law would do, and leaves it as it is.
func TestACopyMayBeAsked(t *testing.T) {
	c := codel.Config{Target: 1, Interval: 1, Law: codel.Root}
	var s codel.State
	s.Drop(&c, 0, 5, 5)
	for range 3 {
		if try := s; !try.Drop(&c, 10, 5, 5) {
			t.Fatal("Drop() = false behind an interval above the target, want true")
		}
	}
}

func TestLaws(t *testing.T) {
	if !codel.Limit.Valid() || !codel.Root.Valid() || codel.Law(2).Valid() {
		t.Error("Valid() is not true of Limit and Root only")
	}
}
