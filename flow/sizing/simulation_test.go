package sizing_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weir-go/weir/flow/sizing"
)

// A queue, simulated item by item: an independent reference for what the formulas say. Its clock is a number, its randomness
// is seeded, so each run is the same.
type simulation struct {
	gap     func() float64 // seconds from one arrival to the next
	service func() float64
	workers int
	most    int // items inside at most
}

// outcome is what a simulation saw.
type outcome struct {
	refused float64   // share of all
	wait    float64   // mean of those that got in, in seconds
	byDepth [][]int64 // for each number found inside: how many items, and their waits together in nanoseconds
}

func (s simulation) run(arrivals int) outcome {
	var (
		now     float64
		out     outcome
		admits  int
		free    = make([]float64, s.workers) // when each worker is
		leaving []float64                    // when each item inside is finished
	)
	for range arrivals {
		now += s.gap()
		leaving = after(leaving, now)
		if len(leaving) == s.most {
			continue
		}
		next := 0
		for i, at := range free {
			if at < free[next] {
				next = i
			}
		}
		start := max(now, free[next])
		out.note(len(leaving), start-now)
		free[next] = start + s.service()
		leaving = append(leaving, free[next])
		out.wait += start - now
		admits++
	}
	out.refused = 1 - float64(admits)/float64(arrivals)
	out.wait /= float64(admits)
	return out
}

// after removes what is over.
func after(times []float64, now float64) []float64 {
	kept := times[:0]
	for _, at := range times {
		if at > now {
			kept = append(kept, at)
		}
	}
	return kept
}

func (o *outcome) note(depth int, wait float64) {
	for len(o.byDepth) <= depth {
		o.byDepth = append(o.byDepth, []int64{0, 0})
	}
	o.byDepth[depth][0]++
	o.byDepth[depth][1] += int64(wait * 1e9)
}

func dice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func exponential(r *rand.Rand, mean float64) func() float64 {
	return func() float64 { return mean * r.ExpFloat64() }
}

func logNormal(r *rand.Rand, mean, cv float64) func() float64 {
	sigma := math.Sqrt(math.Log(1 + cv*cv))
	return func() float64 { return mean * math.Exp(sigma*r.NormFloat64()-sigma*sigma/2) }
}

func TestSimulationOfBounded(t *testing.T) {
	for seed, c := range []struct {
		rate       float64
		workers, k int
	}{
		{90, 1, 7},
		{130, 1, 5},
		{130, 1, 20},
		{100, 1, 10},
		{350, 3, 10},
		{200, 3, 3}, // no place to wait
		{600, 4, 12},
	} {
		r := dice(uint64(seed))
		s := simulation{gap: exponential(r, 1/c.rate), service: exponential(r, 0.01), workers: c.workers, most: c.k}
		got := s.run(400_000)
		want := must[sizing.Steady](t)(sizing.Bounded(c.rate, 10*ms, c.workers, c.k))
		near(t, "share refused in the simulation", got.refused, want.Refused, 0.02)
		near(t, "wait in the simulation", got.wait, want.Wait.Seconds(), 0.02)
	}
}

func TestSimulationOfUnbounded(t *testing.T) {
	for seed, c := range []struct {
		name      string
		rate      float64
		workers   int
		cv        float64
		tolerance float64
	}{
		{"M/M/1", 80, 1, 1, 0.03},
		{"M/D/1", 80, 1, 0, 0.03},
		{"M/G/1", 70, 1, 2, 0.08},
		{"M/M/3", 240, 3, 1, 0.03},
		{"M/D/3, where it is an approximation", 240, 3, 0, 0.06},
		{"M/G/3, where it is an approximation", 240, 3, 0.5, 0.06},
	} {
		r := dice(uint64(seed))
		service := exponential(r, 0.01)
		if c.cv != 1 {
			service = logNormal(r, 0.01, c.cv)
		}
		s := simulation{gap: exponential(r, 1/c.rate), service: service, workers: c.workers, most: math.MaxInt}
		got := s.run(200_000)
		want := must[sizing.Steady](t)(sizing.Unbounded(c.rate, 10*ms, c.workers, c.cv))
		near(t, "wait in the simulation of "+c.name, got.wait, want.Wait.Seconds(), c.tolerance)
	}
}

// What Wait says to an item that finds so many inside is what such items wait: on average, for one worker, and at most, for
// several. At 10 % load one item inside is a wait of 10 ms. One who divides by what comes out says 100.
func TestSimulationOfWait(t *testing.T) {
	for seed, c := range []struct {
		rate    float64
		workers int
	}{{10, 1}, {90, 1}, {270, 3}} {
		r := dice(uint64(seed))
		s := simulation{gap: exponential(r, 1/c.rate), service: exponential(r, 0.01), workers: c.workers, most: math.MaxInt}
		checked := 0
		for depth, seen := range s.run(200_000).byDepth {
			if seen[0] < 5_000 {
				continue
			}
			checked++
			got := float64(seen[1]) / float64(seen[0]) / 1e9
			want := must[time.Duration](t)(sizing.Wait(depth, 10*ms, c.workers)).Seconds()
			if c.workers == 1 {
				near(t, "wait in the simulation", got, want, 0.03)
			} else if got > want {
				t.Errorf("%d workers: an item behind %d waits %v s in the simulation, want at most %v", c.workers, depth, got, want)
			}
		}
		if checked < 2 {
			t.Errorf("%v/s: %d depths were seen often, want at least two: nothing is tested", c.rate, checked)
		}
	}
}

// Of those that take the last place, 95 of 100 keep the limit for which the bound was computed.
func TestSimulationOfForLatency(t *testing.T) {
	for seed, c := range []struct {
		rate float64
		wait time.Duration
		cv   float64
	}{
		{2000, 100 * ms, 0.5},
		{2000, 100 * ms, 1},
		{2000, 100 * ms, 2},
		{100, 500 * ms, 1},
	} {
		r := dice(uint64(seed))
		places := must[int](t)(sizing.ForLatency(c.rate, c.wait, c.cv))
		service := logNormal(r, 1/c.rate, c.cv)
		inTime := 0
		const items = 10_000
		for range items {
			var wait float64
			for range places {
				wait += service()
			}
			if wait <= c.wait.Seconds() {
				inTime++
			}
		}
		if got := float64(inTime) / items; got < 0.93 || got > 0.97 {
			t.Errorf("%v/s within %v at cv %v, %d places: %v are in time, want 0.95", c.rate, c.wait, c.cv, places, got)
		}
	}
}
