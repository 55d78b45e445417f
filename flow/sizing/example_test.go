package sizing_test

import (
	"fmt"
	"time"

	"github.com/weir-go/weir/flow/sizing"
)

func ExampleWait() {
	// 200 items wait in front of 40 workers, and each takes 50 ms.
	fmt.Println(sizing.Wait(200, 50*time.Millisecond, 40))

	// The same bound of 500 items, on a good day and on a bad one.
	fmt.Println(sizing.Wait(500, 60*time.Millisecond, 1))
	fmt.Println(sizing.Wait(500, 1800*time.Millisecond, 1))

	// Output:
	// 250ms <nil>
	// 30s <nil>
	// 15m0s <nil>
}

func ExampleThroughput() {
	// A pool of 20 connections, and a query of 25 ms: items per second, however deep the queue in front of them is.
	fmt.Println(sizing.Throughput(20, 25*time.Millisecond))

	// Output:
	// 800 <nil>
}

func ExampleUtilization() {
	fmt.Println(sizing.Utilization(640, 50*time.Millisecond, 40))
	fmt.Println(sizing.Utilization(1000, 50*time.Millisecond, 40))

	// Output:
	// 0.8 <nil>
	// 1.25 <nil>
}

func ExampleForRate() {
	// Workers that 1,000 items a second keep no busier than 80 %.
	fmt.Println(sizing.ForRate(1000, 50*time.Millisecond, 0.8))

	// Output:
	// 63 <nil>
}

func ExampleZoneOf() {
	for _, utilization := range []float64{0.8, 0.9, 0.96, 1.25} {
		zone, _ := sizing.ZoneOf(utilization) // an error for NaN and the like
		fmt.Println(utilization, zone)
	}

	// Output:
	// 0.8 normal
	// 0.9 warning
	// 0.96 no steady latency
	// 1.25 no steady latency
}

func ExampleForLatency() {
	// The workers finish 2,000 items a second, and an item may wait 100 ms.
	for _, cv := range []float64{0, 0.5, 1, 2} {
		items, err := sizing.ForLatency(2000, 100*time.Millisecond, cv)
		fmt.Println(cv, items, err)
	}

	// Output:
	// 0 200 <nil>
	// 0.5 189 <nil>
	// 1 178 <nil>
	// 2 159 <nil>
}

func ExampleVariation() {
	// 40 ms in the mean, and 95 of 100 items in at most 90 ms.
	cv, err := sizing.Variation(40*time.Millisecond, 90*time.Millisecond)
	fmt.Printf("%.2f %v\n", cv, err)

	// Output:
	// 0.76 <nil>
}

func ExampleForBurst() {
	// 1,000 items a second for half a second, in front of workers that finish 800.
	fmt.Println(sizing.ForBurst(1000-800, 500*time.Millisecond))

	// Output:
	// 100 <nil>
}

func ExampleForCallers() {
	// 100 callers, each with one call under way, and 20 workers.
	fmt.Println(sizing.ForCallers(100, 20))
	fmt.Println(sizing.Wait(100-20, 25*time.Millisecond, 20))

	// Output:
	// 80 <nil>
	// 100ms <nil>
}

func ExampleTarget() {
	fmt.Println(sizing.Target(40))
	fmt.Println(sizing.Wait(20, 50*time.Millisecond, 40)) // and how long it takes to drain

	// Output:
	// 20 <nil>
	// 25ms <nil>
}

func ExampleLittle() {
	// 120 items a second, and each stays 41.6 ms: the gauge of those inside should say 5.
	fmt.Println(sizing.Little(120, 41600*time.Microsecond))

	// Output:
	// 4.992 <nil>
}

func ExampleRecovery() {
	// 100 seconds of 1,100/s left a backlog behind 1,000/s. Now 900/s arrive.
	fmt.Println(sizing.Recovery(10_000, 1000, 900))

	// The same with an edge of 250.
	fmt.Println(sizing.Recovery(250, 1000, 900))

	// Output:
	// 1m40s <nil>
	// 2.5s <nil>
}

func ExampleUnbounded() {
	// One worker that takes 10 ms, exponential: how long an item stays, by load.
	for _, rate := range []float64{50, 80, 90, 95, 99} {
		s, err := sizing.Unbounded(rate, 10*time.Millisecond, 1, 1)
		fmt.Println(rate, s.Stay, err)
	}

	// Output:
	// 50 20ms <nil>
	// 80 50ms <nil>
	// 90 100ms <nil>
	// 95 200ms <nil>
	// 99 1s <nil>
}

func ExampleBounded() {
	// 130 items a second for one worker that can do 100. Inside are those that wait and the one that is worked on.
	for _, k := range []int{5, 10, 20, 50, 100} {
		s, _ := sizing.Bounded(130, 10*time.Millisecond, 1, k)
		fmt.Printf("%3d inside: stay %5.1f ms, %.1f %% refused, %5.1f/s finished\n",
			k, s.Stay.Seconds()*1000, 100*s.Refused, s.Throughput)
	}

	// Output:
	//   5 inside: stay  35.1 ms, 29.1 % refused,  92.2/s finished
	//  10 inside: stay  74.5 ms, 24.4 % refused,  98.2/s finished
	//  20 inside: stay 167.7 ms, 23.2 % refused,  99.9/s finished
	//  50 inside: stay 466.7 ms, 23.1 % refused, 100.0/s finished
	// 100 inside: stay 966.7 ms, 23.1 % refused, 100.0/s finished
}

func ExampleRecommend() {
	fmt.Println(sizing.Recommend(sizing.Load{
		Rate:        640,
		Service:     50 * time.Millisecond,
		Concurrency: 40,
		Latency:     250 * time.Millisecond,
	}))

	// Output:
	// capacity 200 by latency (250ms), target 20 (25ms), utilization 0.80 of 800/s: normal
}

func ExampleRecommend_burst() {
	advice := sizing.Recommend(sizing.Load{
		Rate:        640,
		Service:     50 * time.Millisecond,
		Concurrency: 40,
		Latency:     250 * time.Millisecond,
		Burst:       sizing.Burst{Rate: 1000, Length: 2 * time.Second},
	})
	for _, b := range advice.Bounds {
		fmt.Println(b.By, b.Items)
	}
	fmt.Println(advice.Capacity, "by", advice.Binds)
	for _, w := range advice.Warnings {
		fmt.Println(w)
	}

	// Output:
	// latency 200
	// burst 400
	// 200 by latency
	// the burst needs 400 places and the latency allows 200: 10.0 % of it is refused, 200 of 2000 items; 45 workers carry it in time
}

func ExampleRecommend_overload() {
	fmt.Println(sizing.Recommend(sizing.Load{
		Rate:        1000,
		Service:     50 * time.Millisecond,
		Concurrency: 40,
		Latency:     time.Minute,
	}))

	// Output:
	// capacity 48000 by latency (1m0s), target 20 (25ms), utilization 1.25 of 800/s: no steady latency
	// warning: utilization 1.25: 1000/s arrive and 800/s can be finished, so a queue stands and 20.0 % are refused: the answer is capacity (63 workers keep it at 0.8) or shedding, never a bigger bound
	// warning: an unbounded queue in disguise: the last of 48000 items waits 1m0s, and 30s is the longest that anybody does
}

func ExampleRecommend_mistakes() {
	advice := sizing.Recommend(sizing.Load{Rate: 640, Service: -1, Latency: time.Second})
	fmt.Println(advice.Err)

	// Output:
	// sizing: Load.Service must be > 0, got -1ns
	// sizing: Load.Concurrency must be 1 to 1000000, got 0
}

func ExampleAdvice_String() {
	advice := sizing.Recommend(sizing.Load{Rate: 70, Service: 10 * time.Millisecond, Concurrency: 1, Latency: 20 * time.Millisecond})
	fmt.Println(advice.String())

	// Output:
	// capacity 2 by latency (20ms), target 1 (10ms), utilization 0.70 of 100/s: normal
	// warning: 13.5 % are refused in the long run even without a burst, if arrivals and service times are random
}
