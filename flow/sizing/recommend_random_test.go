package sizing_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/flow/sizing"
)

// loads draws loads that are right, some of them from far off.
func loads(r *rapid.T) sizing.Load {
	duration := func(name string, least time.Duration) time.Duration {
		return time.Duration(rapid.Int64Range(int64(least), int64(time.Minute)).Draw(r, name))
	}
	sometimes := func(name string, draw func(name string)) {
		if rapid.Bool().Draw(r, "has "+name) {
			draw(name)
		}
	}
	l := sizing.Load{
		Service:     duration("service", time.Microsecond),
		Concurrency: rapid.IntRange(1, 500).Draw(r, "concurrency"),
	}
	l.Rate = rapid.Float64Range(0.01, 3).Draw(r, "load") * float64(l.Concurrency) / l.Service.Seconds()
	sometimes("p95", func(name string) { l.P95 = duration(name, 1) })
	sometimes("latency", func(name string) { l.Latency = duration(name, 1) })
	sometimes("deadline", func(name string) { l.Deadline = duration(name, 1) })
	sometimes("callers", func(name string) { l.Callers = rapid.IntRange(1, 1000).Draw(r, name) })
	l.Burst = sizing.Burst{Rate: l.Rate * rapid.Float64Range(1, 10).Draw(r, "burst"), Length: duration("burst", 1)}
	return l
}

func find(a sizing.Advice, by sizing.Limit) (int, bool) {
	i := slices.IndexFunc(a.Bounds, func(b sizing.Bound) bool { return b.By == by })
	if i < 0 {
		return 0, false
	}
	return a.Bounds[i].Items, true
}

// The capacity meets every limit of the load, or the advice says which one is in the way of the burst.
func TestRecommendMeetsTheLimitsOrSaysWhichBinds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		l := loads(r)
		a := sizing.Recommend(l)
		if a.Err != nil {
			r.Fatalf("Err = %v, want none", a.Err)
		}
		if items, ok := find(a, a.Binds); !ok || items != a.Capacity {
			r.Errorf("Capacity = %d, want the %d of what binds, %v", a.Capacity, items, a.Binds)
		}
		for _, by := range []sizing.Limit{sizing.ByLatency, sizing.ByDeadline, sizing.ByCallers} {
			if items, ok := find(a, by); ok && a.Capacity > items {
				r.Errorf("Capacity = %d, want at most the %d by %v", a.Capacity, items, by)
			}
		}
		half := l.Service / time.Duration(l.Concurrency) / 2
		if l.Latency > 0 && a.CapacityWait > l.Latency+half+1 {
			r.Errorf("CapacityWait = %v, want at most the %v allowed, and half an item", a.CapacityWait, l.Latency)
		}
		if l.Deadline > l.Service && a.Capacity > 0 && a.CapacityWait+l.Service > l.Deadline+half+1 && l.P95 == 0 {
			r.Errorf("CapacityWait = %v, want that and the service within the deadline of %v, and half an item", a.CapacityWait, l.Deadline)
		}
		need, _ := find(a, sizing.ByBurst)
		said := slices.ContainsFunc(a.Warnings, func(w string) bool { return strings.HasPrefix(w, "the burst needs ") })
		if fits := need <= a.Capacity || a.Binds == sizing.ByCallers; fits == said {
			r.Errorf("the burst needs %d of the %d by %v, warnings %q", need, a.Capacity, a.Binds, a.Warnings)
		}
	})
}

func TestMoreBurstNeverLowersTheCapacity(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		l := loads(r)
		more := l
		more.Burst.Rate *= rapid.Float64Range(1, 10).Draw(r, "faster")
		more.Burst.Length += time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(r, "longer"))
		if was, is := sizing.Recommend(l).Capacity, sizing.Recommend(more).Capacity; is < was {
			r.Errorf("Capacity = %d with a larger burst, want at least %d", is, was)
		}
		none := l
		none.Burst = sizing.Burst{}
		if got := sizing.Recommend(none); got.Err == nil && got.Capacity > sizing.Recommend(l).Capacity {
			r.Errorf("Capacity = %d without a burst, want no more than with one", got.Capacity)
		}
	})
}

func TestMoreTimeNeverLowersTheCapacity(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		l := loads(r)
		l.Latency, l.Deadline = l.Latency+1, l.Deadline+1 // both are there
		more := l
		more.Latency += time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(r, "more latency"))
		more.Deadline += time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(r, "more deadline"))
		if was, is := sizing.Recommend(l).Capacity, sizing.Recommend(more).Capacity; is < was {
			r.Errorf("Capacity = %d with more time, want at least %d", is, was)
		}
	})
}

func TestMoreWorkersNeverRefuseMore(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		l := loads(r)
		l.Callers, l.Latency = 0, l.Latency+1 // more workers leave fewer callers to wait
		more := l
		more.Concurrency += rapid.IntRange(1, 100).Draw(r, "more workers")
		was, is := sizing.Recommend(l), sizing.Recommend(more)
		if is.Capacity < was.Capacity || is.Refused > was.Refused+1e-12 || is.Utilization > was.Utilization {
			r.Errorf("with more workers %v, refused %v\nwant no worse than %v, refused %v", is, is.Refused, was, was.Refused)
		}
	})
}

// The number of workers in the warning is enough for the burst, and one less is not.
func TestWorkersForTheBurst(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		l := loads(r)
		l.Callers, l.Latency = 0, l.Latency+1
		fits := func(workers int) bool {
			l := l
			l.Concurrency = workers
			a := sizing.Recommend(l)
			need, _ := find(a, sizing.ByBurst)
			return need <= a.Capacity
		}
		for _, w := range sizing.Recommend(l).Warnings {
			var n int
			if _, text, ok := strings.Cut(w, " items; "); ok {
				n = number(r, text)
			}
			if n > 0 && (!fits(n) || fits(n-1)) {
				r.Errorf("%q: %d fit: %v, %d fit: %v", w, n, fits(n), n-1, fits(n-1))
			}
		}
	})
}

// number reads the one at the beginning of a text.
func number(t tester, text string) int {
	t.Helper()
	n := 0
	for _, digit := range text {
		if digit < '0' || digit > '9' {
			break
		}
		n = 10*n + int(digit-'0')
	}
	if n == 0 {
		t.Fatalf("%q begins with no number", text)
	}
	return n
}
