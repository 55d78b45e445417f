package main

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/weir-go/weir/flow/sizing"
)

// custom is a queue from the command line.
type custom struct {
	rate    float64
	service time.Duration
	servers int
	k       int
	items   int
}

// run compares it with the formula.
func (c custom) run(r *report, seed uint64) error {
	r.name = "queue"
	if c.k == 0 {
		c.k = never
	}
	if c.items < 1000 {
		return errors.New("experiments: -items must be at least 1000")
	}
	if c.k <= c.servers {
		return errors.New("experiments: -k must be above -servers: an edge has at least one place")
	}
	want, err := theory(c)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%g/s, %d x %v, K=%d", c.rate, c.servers, c.service, c.k)
	return c.compare(r, what, want, seed)
}

// theory is what the formula says of it.
func theory(c custom) (sizing.Steady, error) {
	return sizing.Bounded(c.rate, c.service, c.servers, c.k)
}

// compare runs the queue: an edge of k - servers places, and one job in the hands of each worker.
func (c custom) compare(r *report, what string, want sizing.Steady, seed uint64) error {
	d := newDice(seed)
	f, err := measure(queue{
		gap: d.poisson(c.rate), service: d.exponential(c.service), workers: c.servers, edge: rejecting(c.k - c.servers), items: c.items,
	})
	if err != nil {
		return err
	}
	r.stay(what, want.Stay, seconds(f.stays.mean()), seconds(3*f.stays.err()))
	off := 5 / math.Sqrt(float64(c.items)) // of shares of all arrivals
	r.near(what+" refused", "%", 100*want.Refused, 100*float64(f.refused)/float64(f.offered), 100*off)
	r.near(what+" throughput", "/s", want.Throughput, float64(f.done)/f.span.Seconds(), want.Throughput*off)
	return nil
}

// bounded is N3: 130/s offered to a worker that does 100/s. K counts the job in service.
func bounded(r *report, s scale) error {
	for i, k := range []int{5, 10, 20, 50, 100} {
		c := custom{rate: 130, service: 10 * time.Millisecond, servers: 1, k: k, items: s.items(15_000, 400_000, 1_000_000)}
		want, err := theory(c)
		if err != nil {
			return err
		}
		if err := c.compare(r, fmt.Sprintf("K=%d", k), want, s.seed+uint64(i)); err != nil {
			return err
		}
	}
	return nil
}
