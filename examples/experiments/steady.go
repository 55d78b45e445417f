package main

import (
	"fmt"
	"math"
	"time"

	"github.com/weir-go/weir/flow/sizing"
)

// steady is N1: one worker, exponential service of 10 ms, Poisson arrivals, below full load.
func steady(r *report, s scale) error {
	const service = 10 * time.Millisecond
	items, seeds := s.items(4_000, 300_000, 1_000_000), uint64(s.items(1, 1, 3))
	for _, load := range []float64{0.5, 0.7, 0.8, 0.9, 0.95, 0.99} {
		for seed := s.seed; seed < s.seed+seeds; seed++ {
			d := newDice(seed)
			f, err := measure(queue{
				gap: d.poisson(load / service.Seconds()), service: d.exponential(service), workers: 1, edge: rejecting(never), items: items,
			})
			if err != nil {
				return err
			}
			want := time.Duration(float64(service) / (1 - load))
			r.stay(fmt.Sprintf("load %.2f seed %d stay", load, seed), want, seconds(f.stays.mean()), 3*standardError(load, service, items))
		}
	}
	return nil
}

// standardError is that of the mean stay of n items in a queue with one worker, Poisson arrivals and exponential service. Items
// that follow one another stay alike, so it is much larger than for independent ones, above all near full load.
//
//	Formula: service x sqrt(load x (2 + 5 load - 4 load² + load³) / n) / (1 - load)²
//	Source:  Daley 1968, "The serial correlation coefficients of waiting times in a stationary single server queue"
func standardError(load float64, service time.Duration, n int) time.Duration {
	spread := load * (2 + 5*load - 4*load*load + load*load*load) / float64(n)
	return time.Duration(float64(service) * math.Sqrt(spread) / (1 - load) / (1 - load))
}

// little is N2: three workers of 20 ms at 120/s. The number inside is measured by itself, not computed from the stay.
func little(r *report, s scale) error {
	d := newDice(s.seed)
	const rate, service, workers = 120, 20 * time.Millisecond, 3
	f, err := measure(queue{
		gap: d.poisson(rate), service: d.exponential(service), workers: workers, edge: rejecting(never), items: s.items(20_000, 400_000, 1_000_000),
	})
	if err != nil {
		return err
	}
	want, err := sizing.Unbounded(rate, service, workers, 1)
	if err != nil {
		return err
	}
	off := 3 * f.stays.err()
	r.stay("stay", want.Stay, seconds(f.stays.mean()), seconds(off))
	r.near("inside", "", want.Items, f.inside.mean(), want.Items*off/want.Stay.Seconds())
	product := float64(f.done) / f.span.Seconds() * f.stays.mean()
	r.near("inside by rate x stay", "", f.inside.mean(), product, f.inside.mean()*0.005)
	return nil
}
