package sizing_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/flow/sizing"
)

// Whatever a load is like, there is an error or advice in numbers that make sense, and no panic.
func FuzzRecommend(f *testing.F) {
	f.Add(640.0, int64(50*ms), 40, int64(0), int64(250*ms), int64(0), 1000.0, int64(time.Second), 0, 1, int64(0))
	f.Add(nan, int64(-1), -1, int64(-1), int64(-1), int64(-1), inf, int64(-1), -1, -1, int64(-1))
	f.Add(math.MaxFloat64, int64(math.MaxInt64), sizing.MaxConcurrency, int64(1), int64(1), int64(math.MaxInt64), math.MaxFloat64,
		int64(math.MaxInt64), math.MaxInt, math.MaxInt, int64(math.MaxInt64))
	f.Add(5e-324, int64(1), 1, int64(math.MaxInt64), int64(math.MaxInt64), int64(0), 0.0, int64(0), 0, 0, int64(1))
	f.Add(1e9, int64(1), 1, int64(0), int64(1), int64(0), 1e9, int64(1), 0, 0, int64(0))
	f.Fuzz(func(t *testing.T, rate float64, service int64, concurrency int, p95, latency, deadline int64,
		burst float64, length int64, callers, instances int, longest int64,
	) {
		a := sizing.Recommend(sizing.Load{
			Rate: rate, Service: time.Duration(service), Concurrency: concurrency,
			P95: time.Duration(p95), Latency: time.Duration(latency), Deadline: time.Duration(deadline),
			Burst: sizing.Burst{Rate: burst, Length: time.Duration(length)}, Callers: callers,
			Instances: instances, LongestWait: time.Duration(longest),
		})
		text := a.String()
		if a.Err != nil {
			if a.Capacity != 0 || a.Bounds != nil || !strings.HasPrefix(text, "sizing: ") {
				t.Fatalf("%+v, want an error and nothing else", a)
			}
			return
		}
		if a.Capacity < 0 || a.Capacity > sizing.MaxItems || a.Fleet < a.Capacity || a.Target < 1 || a.CapacityWait < 0 || a.TargetWait < 0 {
			t.Errorf("%+v, want sizes within their limits", a)
		}
		if !(a.Refused >= 0 && a.Refused <= 1) || !(a.Utilization >= 0 && a.Utilization <= math.MaxFloat64) || !(a.Throughput > 0) {
			t.Errorf("%+v, want numbers within their limits", a)
		}
		if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%s, want numbers", text)
		}
	})
}
