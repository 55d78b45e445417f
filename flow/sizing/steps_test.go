package sizing_test

import (
	"testing"
	"time"

	"github.com/weir-go/weir/flow/sizing"
)

// The numbers here were computed by hand, or come from the literature.

func TestWait(t *testing.T) {
	for _, c := range []struct {
		name        string
		depth       int
		service     time.Duration
		concurrency int
		want        time.Duration
	}{
		{"nothing ahead", 0, time.Hour, 1, 0},
		{"one ahead, at any load", 1, 10 * ms, 1, 10 * ms},
		{"as many ahead as workers", 20, 25 * ms, 20, 25 * ms},
		{"a full edge", 200, 50 * ms, 40, 250 * ms},
		{"its target", 20, 50 * ms, 40, 25 * ms},
		{"500 items on a good day", 500, 60 * ms, 1, 30 * time.Second},
		{"500 items on a bad day", 500, 1800 * ms, 1, 15 * time.Minute},
		{"a minute of 20 % too much", 12_000, ms, 1, 12 * time.Second},
		{"a bound on that", 1000, ms, 1, time.Second},
		{"exact where a float is not", 1_000_000, time.Hour + 1, 1, 1_000_000 * (time.Hour + 1)},
		{"longer than there is time", 1 << 31, 1000 * time.Hour, 1, sizing.MaxTime},
		{"longer than there is time, by the last bit of 65", 1 << 31, 1 << 33, 1, sizing.MaxTime},
		{"just not", 1 << 31, 1000 * time.Hour, 1_000_000, 3600 * ms * (1 << 31)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := must[time.Duration](t)(sizing.Wait(c.depth, c.service, c.concurrency)); got != c.want {
				t.Errorf("Wait(%d, %v, %d) = %v, want %v", c.depth, c.service, c.concurrency, got, c.want)
			}
		})
	}
}

func TestForLatency(t *testing.T) {
	for _, c := range []struct {
		rate float64
		wait time.Duration
		cv   float64
		want int
	}{
		{2000, 100 * ms, 0, 200},
		{1000, 250 * ms, 0, 250},
		{800, 250 * ms, 0, 200},
		{2000, 100 * ms, 0.5, 189}, // 188.7: the equation holds for numbers that are not whole
		{2000, 100 * ms, 1, 178},
		{2000, 100 * ms, 2, 159}, // 158.6
		{3, 100 * ms, 0, 0},      // not one in time
		{0.1, 3 * time.Second, 0, 0},
		{1e-300, 1, 1, 0},
		{1e300, time.Hour, 1, sizing.MaxItems},
		{1e300, time.Hour, 1e300, 4_789_313}, // (3,600,000 / 1,645)²
		{5e-324, 1, 0, 0},
		{5e-324, 1, 1, 0},
		{1e308, sizing.MaxTime, 1.7e308, 0},
	} {
		if got := must[int](t)(sizing.ForLatency(c.rate, c.wait, c.cv)); got != c.want {
			t.Errorf("ForLatency(%v, %v, %v) = %d, want %d", c.rate, c.wait, c.cv, got, c.want)
		}
	}
}

func TestForBurst(t *testing.T) {
	for _, c := range []struct {
		excess float64
		length time.Duration
		want   int
	}{
		{200, 500 * ms, 100},
		{200, time.Minute, 12_000},
		{100, 100 * time.Second, 10_000},
		{0, time.Hour, 0},
		{0.07, 100 * time.Second, 7}, // 7.000000000000001 for a computer
		{1, 1001 * ms, 2},
		{1e300, time.Hour, sizing.MaxItems},
		{1e308, sizing.MaxTime, sizing.MaxItems},
	} {
		if got := must[int](t)(sizing.ForBurst(c.excess, c.length)); got != c.want {
			t.Errorf("ForBurst(%v, %v) = %d, want %d", c.excess, c.length, got, c.want)
		}
	}
}

func TestForCallers(t *testing.T) {
	for _, c := range []struct{ callers, concurrency, want int }{
		{100, 20, 80},
		{20, 20, 0},
		{1, 20, 0},
		{sizing.MaxItems, 1, sizing.MaxItems - 1},
	} {
		if got := must[int](t)(sizing.ForCallers(c.callers, c.concurrency)); got != c.want {
			t.Errorf("ForCallers(%d, %d) = %d, want %d", c.callers, c.concurrency, got, c.want)
		}
	}
}

func TestTarget(t *testing.T) {
	for _, c := range []struct{ concurrency, want int }{{1, 1}, {2, 1}, {3, 2}, {40, 20}, {sizing.MaxConcurrency, 500_000}} {
		if got := must[int](t)(sizing.Target(c.concurrency)); got != c.want {
			t.Errorf("Target(%d) = %d, want %d", c.concurrency, got, c.want)
		}
	}
}

func TestThroughput(t *testing.T) {
	for _, c := range []struct {
		concurrency int
		service     time.Duration
		want        float64
	}{
		{20, 25 * ms, 800},
		{40, 50 * ms, 800},
		{1, 10 * ms, 100},
		{1, time.Hour, 1.0 / 3600},
		{sizing.MaxConcurrency, 1, 1e15},
	} {
		near(t, "Throughput", must[float64](t)(sizing.Throughput(c.concurrency, c.service)), c.want, 1e-12)
	}
}

func TestUtilizationAndForRate(t *testing.T) {
	for _, c := range []struct {
		rate        float64
		service     time.Duration
		concurrency int
		want        float64
		zone        sizing.Zone
		enough      int // workers for 0.8
	}{
		{640, 50 * ms, 40, 0.8, sizing.ZoneNormal, 40},
		{641, 50 * ms, 40, 0.80125, sizing.ZoneWarning, 41},
		{760, 50 * ms, 40, 0.95, sizing.ZoneWarning, 48},
		{770, 50 * ms, 40, 0.9625, sizing.ZoneUnsteady, 49},
		{1000, 50 * ms, 40, 1.25, sizing.ZoneUnsteady, 63},
		{1, ms, 1, 0.001, sizing.ZoneNormal, 1},
		{1e-300, 1, 1, 1e-309, sizing.ZoneNormal, 1},
	} {
		got := must[float64](t)(sizing.Utilization(c.rate, c.service, c.concurrency))
		near(t, "Utilization", got, c.want, 1e-12)
		if zone := must[sizing.Zone](t)(sizing.ZoneOf(got)); zone != c.zone {
			t.Errorf("ZoneOf(%v) = %v, want %v", got, zone, c.zone)
		}
		if n := must[int](t)(sizing.ForRate(c.rate, c.service, 0.8)); n != c.enough {
			t.Errorf("ForRate(%v, %v, 0.8) = %d, want %d", c.rate, c.service, n, c.enough)
		}
	}
}

func TestRecovery(t *testing.T) {
	for _, c := range []struct {
		backlog          int
		throughput, rate float64
		want             time.Duration
	}{
		{10_000, 1000, 900, 100 * time.Second},
		{250, 1000, 900, 2500 * ms},
		{0, 1000, 900, 0},
		{sizing.MaxItems, 1e-300, 1e-301, sizing.MaxTime},
	} {
		if got := must[time.Duration](t)(sizing.Recovery(c.backlog, c.throughput, c.rate)); got != c.want {
			t.Errorf("Recovery(%d, %v, %v) = %v, want %v", c.backlog, c.throughput, c.rate, got, c.want)
		}
	}
}

// One worker, service 10 ms: the mean stay is 10 ms / (1 - utilization).
func TestN1StayOfOneWorker(t *testing.T) {
	for _, c := range []struct {
		rate float64
		want time.Duration
	}{
		{50, 20 * ms},
		{70, 33333 * time.Microsecond},
		{80, 50 * ms},
		{90, 100 * ms},
		{95, 200 * ms},
		{99, time.Second},
	} {
		got := must[sizing.Steady](t)(sizing.Unbounded(c.rate, 10*ms, 1, 1))
		near(t, "Stay", got.Stay.Seconds(), c.want.Seconds(), 1e-4)
	}
}

// How much of the wait is due to service times that vary: half of it at cv 1, by Pollaczek and Khinchine.
func TestUnevenServiceWaitsLonger(t *testing.T) {
	for _, c := range []struct {
		cv   float64
		want time.Duration
	}{{0, 20 * ms}, {0.5, 25 * ms}, {1, 40 * ms}, {2, 100 * ms}} {
		got := must[sizing.Steady](t)(sizing.Unbounded(80, 10*ms, 1, c.cv))
		near(t, "Wait", got.Wait.Seconds(), c.want.Seconds(), 1e-9)
	}
}

func TestN2ThreeWorkers(t *testing.T) {
	for _, c := range []struct {
		rate, items float64
		stay        time.Duration
	}{
		{120, 4.99, 41600 * time.Microsecond},
		{120.1, 5.01, 41700 * time.Microsecond},
	} {
		got := must[sizing.Steady](t)(sizing.Unbounded(c.rate, 20*ms, 3, 1))
		near(t, "Items", got.Items, c.items, 1e-3)
		near(t, "Stay", got.Stay.Seconds(), c.stay.Seconds(), 2e-3)
		near(t, "Little", must[float64](t)(sizing.Little(c.rate, got.Stay)), got.Items, 1e-6)
	}
}

// K counts the items in the system: those that wait and the one that is worked on.
func TestN3RefusingWhenFull(t *testing.T) {
	for _, c := range []struct {
		rate                      float64
		k                         int
		stay, refused, throughput float64 // ms, per cent, per second
		tolerance                 float64 // for the stay, which some have without decimals
	}{
		{130, 5, 35.1, 29.1, 92.2, 2e-3},
		{130, 10, 74.5, 24.4, 98.2, 2e-3},
		{130, 20, 167.7, 23.2, 99.9, 2e-3},
		{130, 50, 467, 23.1, 100, 2e-3},
		{130, 100, 967, 23.1, 100, 2e-3},
		{90, 7, 35.8, 8.4, 82.4, 2e-3},
		{100, 4, 25, 20, 80, 1e-9}, // by hand: all five states are as likely
	} {
		got := must[sizing.Steady](t)(sizing.Bounded(c.rate, 10*ms, 1, c.k))
		near(t, "Stay", got.Stay.Seconds()*1000, c.stay, c.tolerance)
		near(t, "Refused", got.Refused*100, c.refused, 5e-3)
		near(t, "Throughput", got.Throughput, c.throughput, 1e-3)
	}
}

func TestFarFromEverydayLoads(t *testing.T) {
	for _, c := range []struct {
		name                 string
		rate                 float64
		service              time.Duration
		concurrency, k       int
		refused, utilization float64
		wait                 time.Duration
	}{
		{"next to no load", 5e-324, 1, 1, 1, 0, 0, 0},
		{"next to no load for many", 1e-300, 1, 1_000_000, sizing.MaxItems, 0, 1e-315, 0},
		{"more than there can be", 1e308, sizing.MaxTime, 3, 5, 1, 1, sizing.MaxTime / 3 * 2},
		{"more than there is time for", 1e308, sizing.MaxTime, 3, 10, 1, 1, sizing.MaxTime},
		{"more than there can be, and no place", 1e308, sizing.MaxTime, 3, 3, 1, 1, 0},
		{"flooded", 1e12, ms, 1, 1001, 1, 1, time.Second},
		{"balanced", 1000, ms, 1, 1_000_000, 1e-6, 1, 500 * time.Second},
		{"balanced but for the last digit", 1000 * (1 + 1e-15), ms, 1, 1_000_000, 1e-6, 1, 500 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := must[sizing.Steady](t)(sizing.Bounded(c.rate, c.service, c.concurrency, c.k))
			near(t, "Refused", got.Refused, c.refused, 1e-5)
			near(t, "Utilization", got.Utilization, c.utilization, 1e-5)
			near(t, "Wait", got.Wait.Seconds(), c.wait.Seconds(), 2e-5)
		})
	}
}

func TestVariation(t *testing.T) {
	for _, c := range []struct {
		name      string
		mean, p95 time.Duration
		want      float64
	}{
		{"constant", 10 * ms, 10 * ms, 0},
		{"normal with cv 0.2", 1000 * ms, 1329 * ms, 0.2},
		{"exponential, on the safe side of 1", 1000 * ms, 2996 * ms, 1.2134},
		{"nineteen of 1 and one of 81", 5 * ms, ms, 3.4871}, // exactly what these have
	} {
		t.Run(c.name, func(t *testing.T) {
			near(t, "Variation", must[float64](t)(sizing.Variation(c.mean, c.p95)), c.want, 1e-4)
		})
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{sizing.ZoneNormal.String(), "normal"},
		{sizing.ZoneWarning.String(), "warning"},
		{sizing.ZoneUnsteady.String(), "no steady latency"},
		{sizing.Zone(9).String(), "Zone(9)"},
		{sizing.ByLatency.String(), "latency"},
		{sizing.ByDeadline.String(), "deadline"},
		{sizing.ByCallers.String(), "callers"},
		{sizing.ByBurst.String(), "burst"},
		{sizing.Limit(0).String(), "Limit(0)"},
	} {
		if c.got != c.want {
			t.Errorf("String() = %q, want %q", c.got, c.want)
		}
	}
}
