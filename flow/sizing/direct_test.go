package sizing_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/flow/sizing"
)

// directly computes the steady state of M/M/c/K from the probability of each state, as it is in every textbook. Their
// logarithms are added up, because the numbers themselves leave the range of a float.
func directly(rate float64, service time.Duration, c, k int) (refused, items, waiting, finished float64) {
	logs := make([]float64, k+1)
	highest := 0.0
	for n := 1; n <= k; n++ {
		logs[n] = logs[n-1] + math.Log(rate*service.Seconds()/float64(min(n, c)))
		highest = max(highest, logs[n])
	}
	var total float64
	for _, log := range logs {
		total += math.Exp(log - highest)
	}
	for n, log := range logs {
		p := math.Exp(log-highest) / total
		items += float64(n) * p
		waiting += float64(max(0, n-c)) * p
		finished += float64(min(n, c)) / service.Seconds() * p
		refused = p // that of the last one
	}
	return refused, items, waiting, finished
}

func TestBoundedIsLikeTheStateProbabilities(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := rapid.IntRange(1, 60).Draw(r, "concurrency")
		k := c + rapid.IntRange(0, 400).Draw(r, "places")
		service := time.Duration(rapid.Int64Range(int64(time.Microsecond), int64(time.Minute)).Draw(r, "service"))
		load := rapid.OneOf(
			rapid.Float64Range(0.001, 1),
			rapid.Float64Range(1, 50),
			rapid.Float64Range(1-1e-3, 1+1e-3),
			rapid.Float64Range(1-1e-9, 1+1e-9),
			rapid.Just(1.0),
		).Draw(r, "load")
		rate := load * float64(c) / service.Seconds()

		got := must[sizing.Steady](r)(sizing.Bounded(rate, service, c, k))
		refused, items, waiting, finished := directly(rate, service, c, k)
		const tolerance = 1e-8
		if refused > 1e-200 { // next to the smallest numbers neither has any digits
			near(r, "Refused", got.Refused, refused, tolerance)
		}
		near(r, "Items", got.Items, items, tolerance)
		near(r, "Throughput", got.Throughput, finished, tolerance)
		near(r, "Utilization", got.Utilization, finished*service.Seconds()/float64(c), tolerance)
		if wait := waiting / finished * 1e9; math.Abs(float64(got.Wait)-wait) > 1+tolerance*wait {
			r.Errorf("Wait = %d ns, want %v", got.Wait, wait)
		}
		if got.Stay < service || got.Stay-got.Wait-service > 1 || got.Stay-got.Wait-service < -1 {
			r.Errorf("Stay = %v, want Wait (%v) and service (%v)", got.Stay, got.Wait, service)
		}
	})
}

// A bound that is hardly ever reached changes nothing.
func TestBoundedIsLikeUnboundedWhereNothingIsRefused(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := rapid.IntRange(1, 200).Draw(r, "concurrency")
		load := rapid.Float64Range(0.01, 0.95).Draw(r, "load")
		rate := load * float64(c) / 0.01
		got := must[sizing.Steady](r)(sizing.Bounded(rate, 10*ms, c, c+2000))
		want := must[sizing.Steady](r)(sizing.Unbounded(rate, 10*ms, c, 1))
		near(r, "Items", got.Items, want.Items, 1e-8)
		near(r, "Stay", got.Stay.Seconds(), want.Stay.Seconds(), 1e-6)
		near(r, "Throughput", got.Throughput, want.Throughput, 1e-8)
		near(r, "Utilization", got.Utilization, want.Utilization, 1e-8)
	})
}

func TestWaitIsDepthByThroughput(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		depth := rapid.IntRange(0, 1e6).Draw(r, "depth")
		c := rapid.IntRange(1, 1000).Draw(r, "concurrency")
		service := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(r, "service"))
		want := float64(depth) / must[float64](r)(sizing.Throughput(c, service)) * 1e9
		got := float64(must[time.Duration](r)(sizing.Wait(depth, service, c)))
		if math.Abs(got-want) > 1+1e-12*want {
			r.Errorf("Wait(%d, %v, %d) = %v ns, want %v", depth, service, c, got, want)
		}
	})
}

// The bound for a latency solves its equation, to half an item, and allows less where service times vary more.
func TestForLatencySolvesItsEquation(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rate := rapid.Float64Range(0.1, 1e5).Draw(r, "rate")
		wait := time.Duration(rapid.Int64Range(1, int64(time.Hour)/1000).Draw(r, "wait"))
		cv := rapid.Float64Range(0, 5).Draw(r, "cv")
		got := must[int](r)(sizing.ForLatency(rate, wait, cv))
		most := rate * wait.Seconds()
		side := func(items float64) float64 { return items + 1.645*cv*math.Sqrt(items) }
		if low := max(0, float64(got)-0.5); side(low) > most*(1+1e-9)+1e-9 {
			r.Errorf("ForLatency(%v, %v, %v) = %d: more than half an item too many for %v", rate, wait, cv, got, most)
		}
		if side(float64(got)+0.5) < most*(1-1e-9) {
			r.Errorf("ForLatency(%v, %v, %v) = %d: more than half an item too few for %v", rate, wait, cv, got, most)
		}
		if even := must[int](r)(sizing.ForLatency(rate, wait, 0)); got > even {
			r.Errorf("ForLatency(%v, %v, %v) = %d, want at most the %d of constant times", rate, wait, cv, got, even)
		}
	})
}

// Variation is the least that service times of two kinds can have, if the dear ones are fewer than five of a hundred.
func TestVariationIsTheLeastPossibleBelowTheMean(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dear := rapid.Float64Range(0.001, 0.05).Draw(r, "share of dear items")
		times := rapid.Float64Range(2, 10_000).Draw(r, "times as dear")
		mean := 1 + dear*(times-1) // of a cheap item's
		cv := (times - 1) * math.Sqrt(dear*(1-dear)) / mean
		got := must[float64](r)(sizing.Variation(time.Duration(mean*1e9), time.Second))
		if got > cv*(1+1e-6) {
			r.Errorf("Variation() = %v, want at most the %v that they have", got, cv)
		}
	})
}

// Of log-normal times, like most of those of programs, it is on the safe side as far as the comment says.
func TestVariationOfLogNormalTimes(t *testing.T) {
	for cv := 0.05; cv <= 1.3; cv += 0.05 {
		sigma := math.Sqrt(math.Log(1 + cv*cv))
		p95 := math.Exp(1.6448536*sigma - sigma*sigma/2)
		got := must[float64](t)(sizing.Variation(time.Second, time.Duration(p95*1e9)))
		if got < cv || got > 1.3*cv {
			t.Errorf("Variation() = %v where cv is %v, want that and at most 30 %% more", got, cv)
		}
	}
}
