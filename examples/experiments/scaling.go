package main

import (
	"context"
	"time"

	"github.com/weir-go/weir/flow/admission"
)

// An instance of N9 has 20 workers of 100 ms behind a gate that lets 40 in, and sheds from 90 % of that on. Another one takes two minutes
// to come.
const (
	slots     = 20
	slot      = 100 * time.Millisecond
	places    = 40
	scaleTime = 2 * time.Minute
	scaleAt   = 0.8 // of what can be done, offered
	fullAt    = 0.95
)

// scaling is N9: three times the load for ten seconds, and half as much again for ten minutes. The scaler reads what is offered; then, which
// is wrong, how full the gate is when it has shed.
func scaling(r *report, s scale) error {
	long := time.Duration(s.items(150, 600, 600)) * time.Second
	burst, err := scale9(newDice(s.seed), 3, 10*time.Second, time.Minute, byOffered)
	if err != nil {
		return err
	}
	r.near("3 x for 10 s: instances when it is over", "", 1, float64(burst.instancesAtEnd), 0)
	r.near("3 x for 10 s: let in or refused, of all", "%", 100, 100*float64(burst.accepted+burst.refused)/float64(burst.offered), 0)
	r.least("3 x for 10 s: accepted a second later", "%", 99, 100*burst.lateShare())

	offered, err := scale9(newDice(s.seed), 1.5, long, scaleTime+5*time.Second, byOffered)
	if err != nil {
		return err
	}
	r.least("1.5 x for ten minutes, reading what is offered: accepted behind the scale-out", "%", 95, 100*offered.lateShare())
	wrong, err := scale9(newDice(s.seed), 1.5, long, scaleTime+5*time.Second, byFullness)
	if err != nil {
		return err
	}
	r.near("1.5 x for ten minutes, reading how full it is behind the shedding: instances", "", 1, float64(wrong.instances), 0)
	return nil
}

// signal says whether there should be more instances.
type signal func(s admission.Stats) bool

// byOffered reads what the gate exports for it: all that was offered in the last ten seconds, refused or not.
func byOffered(s admission.Stats) bool { return s.ScaleOut }

// byFullness reads how much is inside. The gate sheds at 90 %, so it never sees the 95 % it waits for.
func byFullness(s admission.Stats) bool { return float64(s.Inside) >= fullAt*float64(s.Limit) }

// scaled is what came of it.
type scaled struct {
	offered, accepted, refused int
	late, lateAccepted         int // offered behind a moment
	instances, instancesAtEnd  int // in all, and when the load ended
}

func (s scaled) lateShare() float64 { return float64(s.lateAccepted) / float64(s.late) }

// scale9 offers load x what one instance can do for a while, and then 0.7 x until a time to watch from. What comes behind that time, or a
// second behind the load where that is earlier, is counted as late.
func scale9(d dice, load float64, length, watch time.Duration, wants signal) (out scaled, err error) {
	bubble(func() {
		f := &fleet{wants: wants}
		out, err = f.run(d, load, length, watch)
		f.stop()
	})
	return out, err
}

// fleet is the instances, each an inlet behind a gate of its own. They get the jobs in turn.
type fleet struct {
	wants   signal
	servers []*instance
	gates   []*admission.Gate
	doors   []*admission.Inlet[job]
	next    int
	due     time.Time // when the instance that was ordered comes; zero: none was
}

func (f *fleet) run(d dice, load float64, length, watch time.Duration) (out scaled, err error) {
	if err := f.add(); err != nil {
		return out, err
	}
	const one = slots / 0.1 // jobs a second
	began := time.Now()
	looked := began
	for elapsed := time.Duration(0); elapsed < max(length, watch); elapsed = time.Since(began) {
		rate := load * one
		if elapsed > length {
			rate = 0.7 * one
		} else {
			out.instancesAtEnd = len(f.servers)
		}
		time.Sleep(d.poisson(rate)(0))
		late := elapsed > min(watch, length+time.Second)
		out.count(f.offer(job{at: time.Now(), service: d.exponential(slot)()}), late)
		if now := time.Now(); now.Sub(looked) > time.Second {
			looked = now
			if err := f.look(now); err != nil {
				return out, err
			}
		}
	}
	out.instances = len(f.servers)
	return out, nil
}

func (s *scaled) count(accepted, late bool) {
	s.offered++
	if late {
		s.late++
	}
	switch {
	case !accepted:
		s.refused++
	case late:
		s.lateAccepted++
		fallthrough
	default:
		s.accepted++
	}
}

// look is what a scaler does now and then: it orders one more instance when one of those that are there wants it.
func (f *fleet) look(now time.Time) error {
	if !f.due.IsZero() {
		if now.Before(f.due) {
			return nil
		}
		f.due = time.Time{}
		return f.add()
	}
	for _, g := range f.gates {
		if f.wants(g.Stats()) {
			f.due = now.Add(scaleTime)
		}
	}
	return nil
}

func (f *fleet) add() error {
	gate := admission.NewGate(admission.Config{Limit: places, Concurrency: slots, ScaleAt: scaleAt})
	edge := rejecting(places - slots)
	s, err := newInstance(edge, slots, func(job) {})
	if err != nil {
		return err
	}
	f.servers, f.gates, f.doors = append(f.servers, s), append(f.gates, gate), append(f.doors, admission.Behind(gate, s.in))
	return nil
}

func (f *fleet) offer(j job) bool {
	f.next++
	_, err := f.doors[f.next%len(f.doors)].Offer(context.Background(), j)
	return err == nil
}

func (f *fleet) stop() {
	for _, s := range f.servers {
		s.stop()
	}
}
