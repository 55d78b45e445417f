package admission

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Mean and percentiles are exactly those of the last pieces of work.
func TestEstimatorAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e estimator
		all := rapid.SliceOfN(rapid.Int64Range(-5, 1000), 0, 3*recent).Draw(t, "times")
		for i, d := range all {
			e.see(d)
			last := slices.Clone(all[max(0, i+1-recent) : i+1])
			sum := int64(0)
			for j := range last {
				last[j] = max(last[j], 0)
				sum += last[j]
			}
			slices.Sort(last)
			if got, want := e.mean(), float64(sum)/float64(len(last)); got != want {
				t.Fatalf("after %d: the mean is %v, want %v", i+1, got, want)
			}
			for _, p := range []int{0, 1, 50, 95, 99, 100} {
				rank := 1
				for 100*rank < p*(len(last)+1) && rank < len(last) {
					rank++
				}
				if got := int64(e.percentile(p)); got != last[rank-1] {
					t.Fatalf("after %d: %d of 100 is %d of %v, want %d", i+1, p, got, last, last[rank-1])
				}
			}
		}
		if len(all) == 0 && (e.mean() != 0 || e.percentile(95) != 0) {
			t.Fatal("something is known of nothing")
		}
	})
}

// A rolling sum covers its window, and a twentieth more at most, also of what is corrected later.
func TestRollingAgainstAList(t *testing.T) {
	const window, part = 200, 10
	type event struct{ at, part, n int64 }
	rapid.Check(t, func(t *rapid.T) {
		r := newRolling(window)
		now := rapid.Int64Range(-1000, 1000).Draw(t, "start")
		var events []event
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			now += rapid.SampledFrom([]int64{0, 1, 5, 9, 10, 11, 60, 199, 200, 210, 211, 5000}).Draw(t, "step")
			if len(events) > 0 && rapid.Bool().Draw(t, "correct") {
				i := rapid.IntRange(0, len(events)-1).Draw(t, "which")
				more := rapid.Int64Range(-events[i].n, 10).Draw(t, "more")
				was := r.total(now)
				r.correct(events[i].part, now, more)
				remembered := r.now-events[i].part <= parts
				switch {
				case remembered:
					events[i].n += more
				case more > 0:
					events = append(events, event{now, r.now, more})
				case r.total(now) != was:
					t.Fatalf("what was forgotten is taken off")
				}
			} else {
				n := rapid.Int64Range(0, 100).Draw(t, "n")
				r.add(now, n)
				events = append(events, event{now, r.now, n})
			}
			least, most := int64(0), int64(0)
			for _, e := range events {
				if now-e.at < window {
					least += e.n
				}
				if now-e.at <= window+part {
					most += e.n
				}
			}
			if got := r.total(now); got < least || got > most {
				t.Fatalf("the sum is %d, want %d to %d", got, least, most)
			}
			if turn := r.turn(now); turn <= 0 || turn > part {
				t.Fatalf("a part ends in %v", turn)
			}
			if r.total(now-part) != r.total(now) {
				t.Fatal("an older reading of the clock changes the sum")
			}
			if r.sum > 0 && r.rate(now) <= 0 {
				t.Fatalf("the rate is %v", r.rate(now))
			}
		}
	})
}

// The rate is per second of the time that is covered.
func TestRollingRate(t *testing.T) {
	r := newRolling(20 * time.Second)
	for i := range int64(100) {
		r.add(i*int64(time.Second), 3)
	}
	if got := r.rate(99 * int64(time.Second)); got < 2.9 || got > 3.2 {
		t.Errorf("3 a second are %v", got)
	}
}

// A table is a map.
func TestTableAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, want := newTable[int](rapid.IntRange(1, 8).Draw(t, "size")), map[string]*entry[int]{}
		for i := range rapid.IntRange(1, 100).Draw(t, "steps") {
			key := strconv.Itoa(rapid.IntRange(0, 12).Draw(t, "key"))
			e := table.find(key)
			if e != want[key] || e != nil && e.key != key {
				t.Fatalf("%s is %v, want %v", key, e, want[key])
			}
			if e == nil {
				e = table.add(key)
				if e.value != 0 {
					t.Fatalf("a new entry has the value %d", e.value)
				}
				e.value = i + 1
				want[key] = e
			} else {
				table.drop(e)
				delete(want, key)
			}
		}
	})
}
