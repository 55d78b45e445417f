package main

import "time"

// backlog is a queue without a bound and with one worker, which the engine does not have. It is served in order.
type backlog struct {
	now, free float64 // seconds: of the last arrival, and when the worker is free
}

// arrive adds a job behind a gap and returns how long it waits.
func (b *backlog) arrive(gap, service float64) (wait float64) {
	b.now += gap
	start := max(b.now, b.free)
	b.free = start + service
	return start - b.now
}

// endless is N4: 130/s offered to a worker that does 100/s, for an hour, with everything let in.
func endless(r *report, s scale) error {
	const rate, service, patience = 130, 0.01, time.Second
	d, b := newDice(s.seed), backlog{}
	var sum, newest float64
	all, useful, sixAt := 0, 0, 0.0
	for b.now < 3600 {
		newest = b.arrive(d.ExpFloat64()/rate, d.ExpFloat64()*service)
		all++
		if sum += newest; sixAt == 0 && b.now > 60 && sum/float64(all) > 360 {
			sixAt = b.now
		}
		if b.now > 600 && newest+service < patience.Seconds() {
			useful++
		}
	}
	r.near("wait of the newest after an hour", "min", 18, newest/60, 1)
	r.near("the mean of all has passed six minutes after", "min", 40, sixAt/60, 3)
	r.near("finished within a second, from the tenth minute on", "", 0, float64(useful), 0)
	return nil
}
