package sizing_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/flow/sizing"
)

func TestO8Warnings(t *testing.T) {
	for _, c := range []struct {
		name string
		load sizing.Load
		want []string
	}{
		{"nothing to say", base, nil},
		{
			"overload", with(func(l *sizing.Load) { l.Rate = 1000 }),
			[]string{"utilization 1.25: 1000/s arrive and 800/s can be finished, so a queue stands and 20.0 % are refused: " +
				"the answer is capacity (63 workers keep it at 0.8) or shedding, never a bigger bound"},
		},
		{
			"busy", with(func(l *sizing.Load) { l.Rate = 720 }),
			[]string{"utilization 0.90: above 0.8 waiting grows faster than load; 45 workers keep it there"},
		},
		{
			"unsteady", with(func(l *sizing.Load) { l.Rate = 780 }),
			[]string{"utilization 0.97: above 0.95 there is no steady latency; 49 workers keep it at 0.8"},
		},
		{
			"disguise", with(func(l *sizing.Load) { l.Latency = time.Minute }),
			[]string{"an unbounded queue in disguise: the last of 48000 items waits 1m0s, and 30s is the longest that anybody does"},
		},
		{"not quite", with(func(l *sizing.Load) { l.Latency = 30 * time.Second }), nil},
		{
			"disguise, configured", with(func(l *sizing.Load) { l.LongestWait = 200 * ms }),
			[]string{"an unbounded queue in disguise: the last of 200 items waits 250ms, and 200ms is the longest that anybody does"},
		},
		{
			"a burst that does not fit", with(func(l *sizing.Load) { l.Burst = sizing.Burst{Rate: 1000, Length: 2 * time.Second} }),
			[]string{"the burst needs 400 places and the latency allows 200: 10.0 % of it is refused, 200 of 2000 items; 45 workers carry it in time"},
		},
		{
			"a burst that does not fit, of some of the callers", with(func(l *sizing.Load) {
				l.Callers, l.Burst = 244, sizing.Burst{Rate: 1000, Length: 2 * time.Second}
			}),
			[]string{"the burst needs 400 places and the latency allows 200: 10.0 % of it is refused, 200 of 2000 items; 45 workers carry it in time"},
		},
		{
			"a burst of less than one item",
			sizing.Load{
				Rate: 0.00001, Service: 100 * time.Second, Concurrency: 1, Latency: 10 * time.Second, Burst: sizing.Burst{Rate: 1, Length: 500 * ms},
			},
			[]string{
				"not one item can wait and be within the latency: the smallest edge is too large",
				"the burst needs 1 place and the latency allows 0: 99.0 % of it is refused, 0.495 of 0.5 items; 5 workers carry it in time",
			},
		},
		{"a long deadline, as somebody wants it", with(func(l *sizing.Load) { l.Latency, l.Deadline = 0, time.Minute }), nil},
		{
			"a minute of 20 % too much",
			sizing.Load{
				Rate: 700, Service: ms, Concurrency: 1, Latency: time.Second, Burst: sizing.Burst{Rate: 1200, Length: time.Minute},
			},
			[]string{"the burst needs 12000 places and the latency allows 1000: 15.3 % of it is refused, 11000 of 72000 items; 2 workers carry it in time"},
		},
		{
			"a burst for nobody",
			sizing.Load{
				Rate: 1e15, Service: time.Second, Concurrency: 1e6, Deadline: time.Second, Burst: sizing.Burst{Rate: 1e15, Length: time.Second},
			},
			[]string{
				"utilization 1000000000.00: 1e+15/s arrive and 1e+06/s can be finished, so a queue stands and 100.0 % are refused: " +
					"the answer is capacity (2147483647 workers keep it at 0.8) or shedding, never a bigger bound",
				"the deadline of 1s is over before an item that takes 1s is finished, even if it does not wait",
				"the burst needs 2147483647 places and the deadline allows 0: 100.0 % of it is refused, 1e+15 of 1e+15 items",
			},
		},
		{
			"too few places for chance",
			sizing.Load{Rate: 70, Service: 10 * ms, Concurrency: 1, Latency: 20 * ms},
			[]string{"13.5 % are refused in the long run even without a burst, if arrivals and service times are random"},
		},
		{
			"unreachable", with(func(l *sizing.Load) { l.Callers, l.Deadline = 100, 250*ms }),
			[]string{"100 callers and 40 workers leave at most 60 waiting: unreachable are 200 by latency, 160 by deadline"},
		},
		{"as many by callers as by nothing else", with(func(l *sizing.Load) { l.Latency, l.Callers = 0, 100 }), nil},
		{
			"a target that is never seen", with(func(l *sizing.Load) { l.Latency = 20 * ms }),
			[]string{"the target of 20 is unreachable: the edge is full at 16, and refuses before it reports a standing queue"},
		},
		{
			"no place in time",
			sizing.Load{Rate: 1, Service: 100 * ms, Concurrency: 1, Latency: 10 * ms},
			[]string{
				"not one item can wait and be within the latency: the smallest edge is too large",
				"9.1 % are refused in the long run even without a burst, if arrivals and service times are random",
			},
		},
		{
			"no need of a place", with(func(l *sizing.Load) {
				l.Rate = 400
				l.Latency = 0
				l.Burst = sizing.Burst{Rate: 400, Length: time.Second}
			}),
			[]string{"the workers keep up with the burst: it needs no place to wait"},
		},
		{
			"nobody to wait", with(func(l *sizing.Load) { l.Rate = 400; l.Latency = 0; l.Callers = 40 }),
			[]string{"there are no more callers than workers: nothing ever waits"},
		},
		{
			"giants", with(func(l *sizing.Load) { l.P95 = 40 * ms }),
			[]string{"the 95th percentile of service times, 40ms, is below their mean of 50ms: a few items take most of the time, " +
				"and should have an edge and workers of their own"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := sizing.Recommend(c.load)
			if got.Err != nil {
				t.Fatalf("Err = %v, want none", got.Err)
			}
			if !slices.Equal(got.Warnings, c.want) {
				t.Errorf("warnings\n%s\nwant\n%s", strings.Join(got.Warnings, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}
