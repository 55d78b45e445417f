package sizing_test

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/weir-go/weir/flow/sizing"
)

// 40 workers x 50 ms are 800/s. 250 ms of queueing are 200 places, the target is 20, and drains in 25 ms.
func TestO6TargetAndCapacity(t *testing.T) {
	got := sizing.Recommend(sizing.Load{Rate: 640, Service: 50 * ms, Concurrency: 40, Latency: 250 * ms})
	if got.Refused > 1e-12 {
		t.Errorf("Refused = %v, want next to nothing", got.Refused)
	}
	got.Refused = 0
	want := sizing.Advice{
		Capacity: 200, Target: 20, Binds: sizing.ByLatency, Bounds: []sizing.Bound{{By: sizing.ByLatency, Items: 200}}, Fleet: 200,
		CapacityWait: 250 * ms, TargetWait: 25 * ms, Throughput: 800, Utilization: 0.8, Zone: sizing.ZoneNormal,
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("Recommend() =\n%+v, want\n%+v", got, want)
	}
}

// base is the load that the tests vary.
var base = sizing.Load{Rate: 640, Service: 50 * ms, Concurrency: 40, Latency: 250 * ms}

func with(changes ...func(*sizing.Load)) sizing.Load {
	l := base
	for _, change := range changes {
		change(&l)
	}
	return l
}

func TestRecommendedCapacity(t *testing.T) {
	type bounds = []sizing.Bound
	for _, c := range []struct {
		name   string
		load   sizing.Load
		want   int
		binds  sizing.Limit
		bounds bounds
	}{
		{
			"a burst that fits", with(func(l *sizing.Load) { l.Burst = sizing.Burst{Rate: 1000, Length: 500 * ms} }),
			200, sizing.ByLatency,
			bounds{{sizing.ByLatency, 200}, {sizing.ByBurst, 100}},
		},
		{
			"a burst that does not", with(func(l *sizing.Load) { l.Burst = sizing.Burst{Rate: 1000, Length: 2 * time.Second} }),
			200, sizing.ByLatency,
			bounds{{sizing.ByLatency, 200}, {sizing.ByBurst, 400}},
		},
		{
			"a burst alone", with(func(l *sizing.Load) { l.Latency = 0; l.Burst = sizing.Burst{Rate: 1000, Length: 2 * time.Second} }),
			400, sizing.ByBurst,
			bounds{{sizing.ByBurst, 400}},
		},
		{
			"a burst that the workers keep up with", with(func(l *sizing.Load) { l.Latency = 0; l.Burst = sizing.Burst{Rate: 800, Length: time.Hour} }),
			0, sizing.ByBurst,
			bounds{{sizing.ByBurst, 0}},
		},
		{
			"service times that vary", with(func(l *sizing.Load) { l.P95 = 132250 * time.Microsecond }), // cv 1
			178, sizing.ByLatency, bounds{{sizing.ByLatency, 178}},
		},
		{
			"a deadline leaves time for service", with(func(l *sizing.Load) { l.Deadline = 150 * ms }),
			80, sizing.ByDeadline,
			bounds{{sizing.ByLatency, 200}, {sizing.ByDeadline, 80}},
		},
		{
			"a deadline leaves time for slow service", with(func(l *sizing.Load) { l.Latency, l.Deadline, l.P95 = 0, 150*ms, 100*ms }),
			34, sizing.ByDeadline,
			bounds{{sizing.ByDeadline, 34}},
		},
		{
			"a deadline that is over at once", with(func(l *sizing.Load) { l.Deadline = 50 * ms }),
			0, sizing.ByDeadline,
			bounds{{sizing.ByLatency, 200}, {sizing.ByDeadline, 0}},
		},
		{
			"few callers", with(func(l *sizing.Load) { l.Callers = 100 }),
			60, sizing.ByCallers,
			bounds{{sizing.ByLatency, 200}, {sizing.ByCallers, 60}},
		},
		{
			"many callers", with(func(l *sizing.Load) { l.Callers = 1000 }),
			200, sizing.ByLatency,
			bounds{{sizing.ByLatency, 200}, {sizing.ByCallers, 960}},
		},
		{
			"no more callers than workers", with(func(l *sizing.Load) { l.Latency, l.Callers = 0, 40 }),
			0, sizing.ByCallers,
			bounds{{sizing.ByCallers, 0}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := sizing.Recommend(c.load)
			if got.Err != nil {
				t.Fatalf("Err = %v, want none", got.Err)
			}
			if got.Capacity != c.want || got.Binds != c.binds {
				t.Errorf("capacity %d by %v, want %d by %v", got.Capacity, got.Binds, c.want, c.binds)
			}
			if !slices.Equal(got.Bounds, c.bounds) {
				t.Errorf("Bounds = %v, want %v", got.Bounds, c.bounds)
			}
		})
	}
}

func TestFleetHasTheBoundsOfAllInstances(t *testing.T) {
	for _, c := range []struct{ instances, want int }{{0, 200}, {1, 200}, {20, 4000}, {math.MaxInt, sizing.MaxItems}} {
		if got := sizing.Recommend(with(func(l *sizing.Load) { l.Instances = c.instances })); got.Fleet != c.want || got.Capacity != 200 {
			t.Errorf("%d instances: Fleet = %d, Capacity = %d, want %d and 200", c.instances, got.Fleet, got.Capacity, c.want)
		}
	}
}

func TestAdviceIsReadable(t *testing.T) {
	for _, c := range []struct {
		load sizing.Load
		want string
	}{
		{base, "capacity 200 by latency (250ms), target 20 (25ms), utilization 0.80 of 800/s: normal"},
		{
			with(func(l *sizing.Load) { l.Rate = 720 }),
			"capacity 200 by latency (250ms), target 20 (25ms), utilization 0.90 of 800/s: warning\n" +
				"warning: utilization 0.90: above 0.8 waiting grows faster than load; 45 workers keep it there",
		},
		{with(func(l *sizing.Load) { l.Rate = nan }), "sizing: Load.Rate must be > 0 and finite, got NaN"},
	} {
		if got := sizing.Recommend(c.load).String(); got != c.want {
			t.Errorf("String() =\n%s\nwant\n%s", got, c.want)
		}
	}
}
