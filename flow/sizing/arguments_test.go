package sizing_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/flow/sizing"
)

var nan, inf = math.NaN(), math.Inf(1)

// what forgets a result.
func what[T any](_ T, err error) error { return err }

func TestF17WrongArgumentsAreAllNamed(t *testing.T) {
	const rate, some = "rate must be > 0 and finite, got ", "concurrency must be 1 to 1000000, got "
	for _, c := range []struct {
		name string
		err  error
		want []string
	}{
		{"Wait", what(sizing.Wait(-1, 0, 0)), []string{"depth must be >= 0, got -1", "service must be > 0, got 0s", some + "0"}},
		{"Wait, huge", what(sizing.Wait(0, 1, sizing.MaxConcurrency+1)), []string{some + "1000001"}},
		{"Throughput", what(sizing.Throughput(math.MaxInt, -1)), []string{some + "9223372036854775807", "service must be > 0, got -1ns"}},
		{"Utilization", what(sizing.Utilization(nan, 0, -1)), []string{rate + "NaN", "service must be > 0, got 0s", some + "-1"}},
		{"Utilization, -Inf", what(sizing.Utilization(-inf, 1, 1)), []string{rate + "-Inf"}},
		{"ForRate", what(sizing.ForRate(inf, 0, nan)), []string{rate + "+Inf", "service must be > 0, got 0s", "utilization must be > 0, and at most 1, got NaN"}},
		{"ForRate, above 1", what(sizing.ForRate(1, 1, 1.1)), []string{"utilization must be > 0, and at most 1, got 1.1"}},
		{"ForRate, 0", what(sizing.ForRate(1, 1, 0)), []string{"utilization must be > 0, and at most 1, got 0"}},
		{"ZoneOf", what(sizing.ZoneOf(nan)), []string{"utilization must be >= 0 and finite, got NaN"}},
		{"ZoneOf, negative", what(sizing.ZoneOf(-0.1)), []string{"utilization must be >= 0 and finite, got -0.1"}},
		{"ForLatency", what(sizing.ForLatency(0, 0, -1)), []string{rate + "0", "wait must be > 0, got 0s", "cv must be >= 0 and finite, got -1"}},
		{"ForLatency, Inf", what(sizing.ForLatency(-1, -1, inf)), []string{rate + "-1", "wait must be > 0, got -1ns", "cv must be >= 0 and finite, got +Inf"}},
		{"ForBurst", what(sizing.ForBurst(nan, 0)), []string{"excess must be >= 0 and finite, got NaN", "length must be > 0, got 0s"}},
		{"ForCallers", what(sizing.ForCallers(0, 0)), []string{"callers must be >= 1, got 0", some + "0"}},
		{"Target", what(sizing.Target(0)), []string{some + "0"}},
		{"Variation", what(sizing.Variation(0, -1)), []string{"mean must be > 0, got 0s", "p95 must be > 0, got -1ns"}},
		{"Little", what(sizing.Little(nan, -1)), []string{rate + "NaN", "stay must be >= 0, got -1ns"}},
		{"Recovery", what(sizing.Recovery(-1, nan, inf)), []string{
			"backlog must be >= 0, got -1", "throughput must be > 0 and finite, got NaN", rate + "+Inf",
		}},
		{"Unbounded", what(sizing.Unbounded(nan, 0, 0, nan)), []string{
			rate + "NaN", "service must be > 0, got 0s", some + "0", "cv must be >= 0 and finite, got NaN",
		}},
		{"Bounded", what(sizing.Bounded(nan, 0, 4, 3)), []string{rate + "NaN", "service must be > 0, got 0s", "k must be >= 4, got 3"}},
		{"Bounded, nothing inside", what(sizing.Bounded(1, 1, 0, 0)), []string{some + "0", "k must be >= 1, got 0"}},
		{"Recommend", sizing.Recommend(sizing.Load{}).Err, []string{
			"Load.Rate must be > 0 and finite, got 0", "Load.Service must be > 0, got 0s", "Load.Concurrency must be 1 to 1000000, got 0",
			"Load must have a Latency, a Deadline, a Burst or Callers: a rate alone needs no bound in particular",
		}},
		{"Recommend, all of it", sizing.Recommend(sizing.Load{
			Rate: nan, Service: -1, Concurrency: -1, P95: -1, Latency: -1, Deadline: -1, Burst: sizing.Burst{Rate: inf}, Callers: -1,
			Instances: -1, LongestWait: -1,
		}).Err, []string{
			"Load.Rate must be > 0 and finite, got NaN", "Load.Service must be > 0, got -1ns", "Load.Concurrency must be 1 to 1000000, got -1",
			"Load.P95 must be >= 0, got -1ns", "Load.Latency must be >= 0, got -1ns", "Load.Deadline must be >= 0, got -1ns",
			"Load.Burst.Rate must be > 0 and finite, got +Inf", "Load.Burst.Length must be > 0, got 0s", "Load.Callers must be >= 0, got -1",
			"Load.Instances must be >= 0, got -1", "Load.LongestWait must be >= 0, got -1ns",
		}},
		{"Recommend, a burst that is none", sizing.Recommend(sizing.Load{
			Rate: 100, Service: ms, Concurrency: 1, Burst: sizing.Burst{Rate: 99, Length: time.Second},
		}).Err, []string{"Load.Burst.Rate must be at least Load.Rate, got 99"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.err == nil {
				t.Fatalf("no error, want %q", c.want)
			}
			want := "sizing: " + strings.Join(c.want, "\nsizing: ")
			if got := c.err.Error(); got != want {
				t.Fatalf("error\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestNothingEndsTheGrowthUnderOverload(t *testing.T) {
	for name, err := range map[string]error{
		"Unbounded":             what(sizing.Unbounded(1200, ms, 1, 1)),
		"Unbounded, as much as": what(sizing.Unbounded(1000, ms, 1, 1)),
		"Unbounded, infinite":   what(sizing.Unbounded(1e308, sizing.MaxTime, 1, 1)),
		"Recovery":              what(sizing.Recovery(10, 900, 1000)),
		"Recovery, as much as":  what(sizing.Recovery(10, 1000, 1000)),
	} {
		if !errors.Is(err, sizing.ErrOverload) {
			t.Errorf("%s: error %v, want %v", name, err, sizing.ErrOverload)
		}
	}
}

func TestLargeResultsStopAtTheLimits(t *testing.T) {
	if got := must[float64](t)(sizing.Little(1e308, sizing.MaxTime)); got != math.MaxFloat64 {
		t.Errorf("Little() = %v, want %v", got, math.MaxFloat64)
	}
	if got := must[float64](t)(sizing.Utilization(1e308, sizing.MaxTime, 1)); got != math.MaxFloat64 {
		t.Errorf("Utilization() = %v, want %v", got, math.MaxFloat64)
	}
	if got := must[int](t)(sizing.ForRate(1e308, sizing.MaxTime, 5e-324)); got != sizing.MaxItems {
		t.Errorf("ForRate() = %v, want %v", got, sizing.MaxItems)
	}
	if got := must[int](t)(sizing.ForCallers(math.MaxInt, 1)); got != sizing.MaxItems {
		t.Errorf("ForCallers() = %v, want %v", got, sizing.MaxItems)
	}
	got := must[sizing.Steady](t)(sizing.Unbounded(0.5, time.Second, 1, 1e300))
	if got.Wait != sizing.MaxTime || got.Stay != sizing.MaxTime || got.Items <= 1e300 || math.IsInf(got.Items, 0) {
		t.Errorf("Unbounded() = %+v, want the longest time and a number", got)
	}
}
