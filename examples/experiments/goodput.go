package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/stage"
)

// within is what the clients of N8 wait for the finished answer.
const within = 500 * time.Millisecond

// control is a way to deal with overload.
type control struct {
	name  string
	why   string // it fails
	edge  flow.Edge[job]
	door  func(workers int, mean time.Duration) door
	least float64
	about [2]float64 // where it fails: with each of the loads
	off   float64
}

// door decides about a job where it enters.
type door func(ctx context.Context, in *flow.Inlet[job], j job, inside int) error

// controls are what can be done with 2 s of work in front of the workers.
func controls() []control {
	late := func(j job) time.Time { return j.at.Add(within) }
	codel := flow.CoDel{Target: 50 * time.Millisecond, Interval: 100 * time.Millisecond}
	root := flow.CoDel{Target: codel.Target, Interval: codel.Interval, Law: flow.RootLaw}
	newest := flow.AdaptiveLIFO[job](codel.Target, codel.Interval)
	return []control{
		{name: "nothing", why: "all that is served has waited too long", edge: flow.Edge[job]{OnFull: flow.Reject}, off: 0.05},
		{name: "deadline at the exit", edge: flow.Edge[job]{OnFull: flow.DropNewest, Deadline: late}, least: 0.93},
		{name: "newest first", edge: flow.Edge[job]{OnFull: flow.DropOldest, MaxWait: within, Deadline: late, Discipline: newest}, least: 0.93},
		{name: "CoDel, limit law", edge: flow.Edge[job]{OnFull: flow.DropNewest, CoDel: codel}, least: 0.93},
		{name: "deadline at both ends", edge: flow.Edge[job]{OnFull: flow.DropNewest, Deadline: late}, door: atGate, least: 0.93},
		{name: "age alone", why: "what is served is what will be late", edge: flow.Edge[job]{OnFull: flow.DropNewest, MaxWait: within}, about: [2]float64{0.49, 0.03}, off: 0.1},
		{name: "CoDel, root law", why: "these senders do not slow down", edge: flow.Edge[job]{OnFull: flow.DropNewest, CoDel: root}, about: [2]float64{0.99, 0.16}, off: 0.16},
		{name: "wait from the median", why: "half of all are faster, but the others take most of the time", edge: flow.Edge[job]{OnFull: flow.Reject}, door: byMedian, about: [2]float64{0.01, 0.13}, off: 0.1},
	}
}

// useful is N8: twice what can be done, for ten minutes; an answer is worth nothing after half a second.
func useful(r *report, s scale) error {
	length := time.Duration(s.items(20, 60, 600)) * time.Second
	for i, load := range []struct {
		workers int
		mean    time.Duration
	}{{1, 10 * time.Millisecond}, {40, 50 * time.Millisecond}} {
		for _, c := range controls() {
			got, err := c.goodput(newDice(s.seed), load.workers, load.mean, length)
			if err != nil {
				return err
			}
			what := fmt.Sprintf("%d x %v, %s: goodput by capacity", load.workers, load.mean, c.name)
			switch {
			case c.least > 0:
				r.least(what, "", c.least, got)
			default:
				r.near(what+" ("+c.why+")", "", c.about[i], got, c.off)
			}
		}
	}
	return nil
}

// goodput is what is finished in time, by what could be finished, once the first fifth of the time is over.
func (c control) goodput(d dice, workers int, mean, length time.Duration) (float64, error) {
	rate := float64(workers) / mean.Seconds()
	c.edge.Name, c.edge.Capacity = "jobs", int(2*rate)
	good, since := 0, time.Time{}
	q := queue{
		gap: d.poisson(2 * rate), service: d.exponential(mean), workers: workers, edge: c.edge, length: length,
		ended: func(j job, now time.Time) {
			if since.IsZero() {
				since = now.Add(length / 5)
			}
			if now.After(since) && now.Sub(j.at) <= within {
				good++
			}
		},
	}
	if c.door != nil {
		q.door = c.door(workers, mean)
	}
	_, err := measure(q)
	return float64(good) / (rate * (length * 4 / 5).Seconds()), err
}

// atGate asks a gate, which knows how long its jobs take: it refuses what could not be finished in time.
func atGate(workers int, mean time.Duration) door {
	gate := admission.NewGate(admission.Config{Limit: int(2*float64(workers)/mean.Seconds()) + workers, Concurrency: workers, Target: 1})
	var behind *admission.Inlet[job]
	return func(ctx context.Context, in *flow.Inlet[job], j job, _ int) error {
		if behind == nil {
			behind = admission.Behind(gate, in)
		}
		_, err := behind.Offer(stage.WithMeta(ctx, stage.Meta{Deadline: j.at.Add(within)}), j)
		return err
	}
}

// byMedian refuses by the same rule, with an estimate that takes the median for the mean: for exponential times it is ln 2 of it. The 95th
// percentile is three times the mean.
func byMedian(workers int, mean time.Duration) door {
	median := float64(mean) * math.Ln2
	return func(ctx context.Context, in *flow.Inlet[job], j job, inside int) error {
		wait := time.Duration(float64(max(inside-workers, 0)) * median / float64(workers))
		if wait+3*mean > within {
			return flow.ErrDropped
		}
		_, err := in.Offer(ctx, j)
		return err
	}
}
