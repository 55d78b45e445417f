package main

import (
	"time"
)

// minute is N5: 1,200/s offered to a worker that does 1,000/s, for a minute, with even gaps and service times.
func minute(r *report, s scale) error {
	const rate, service = 1200, time.Millisecond
	length := float64(s.items(15, 60, 60)) // seconds
	b, wait := backlog{}, 0.0
	for b.now < length {
		wait = b.arrive(1.0/rate, service.Seconds())
	}
	r.near("no bound: wait of the last", "s", length/5, wait, 0.05)
	r.near("no bound: still queued", "", length*200, wait/service.Seconds(), 50)

	var first time.Duration
	late, lateRefused, began := 0, 0, time.Time{}
	f, err := measure(queue{
		gap: even(rate), service: always(service), workers: 1, edge: rejecting(1000), length: seconds(length),
		came: func(j job, err error) {
			if began.IsZero() {
				began = j.at
			}
			at := j.at.Sub(began)
			if err != nil && first == 0 {
				first = at
			}
			if at > 10*time.Second {
				late++
				if err != nil {
					lateRefused++
				}
			}
		},
	})
	if err != nil {
		return err
	}
	r.most("bound 1,000: longest wait", "s", 1.0, f.longest.Seconds())
	r.near("bound 1,000: nothing is refused for", "s", 5, first.Seconds(), 0.05)
	r.near("bound 1,000: refused from then on", "%", 100.0/6, 100*float64(lateRefused)/float64(late), 0.05)
	inAll := (length*200 - 1000) / (length * 1200) // the edge has taken 1,000 of those too many
	r.near("bound 1,000: refused in all", "%", 100*inAll, 100*float64(f.refused)/float64(f.offered), 0.1)
	return nil
}

// recovery is N6: 1,100/s for 100 s and 900/s from then on, offered to a worker that does 1,000/s.
func recovery(r *report, s scale) error {
	const service = time.Millisecond
	length := float64(s.items(10, 100, 100)) // seconds
	overload := seconds(length)
	for _, c := range []struct {
		what            string
		capacity        int
		backlog, wait   float64
		cleared, within float64 // seconds
	}{
		{"no bound that is reached", 20_000, 100 * length, length / 10, length, 0.01 * length},
		{"bound 250", 250, 250, 0.25, 2.5, 0.1},
	} {
		var cleared time.Duration
		began := time.Time{}
		f, err := measure(queue{
			gap: func(elapsed time.Duration) time.Duration {
				if elapsed < overload {
					return seconds(1.0 / 1100)
				}
				return seconds(1.0 / 900)
			},
			service: always(service), workers: 1, edge: rejecting(c.capacity), length: overload + seconds(1.2*length),
			came: func(j job, _ error) {
				if began.IsZero() {
					began = j.at
				}
			},
			ended: func(j job, now time.Time) {
				after := now.Sub(began) - overload
				if cleared == 0 && after > 0 && now.Sub(j.at) <= service {
					cleared = after // the first that has not waited
				}
			},
		})
		if err != nil {
			return err
		}
		r.near(c.what+": longest wait", "s", c.wait, f.longest.Seconds(), 0.02*c.wait)
		r.near(c.what+": most inside", "", c.backlog, f.longest.Seconds()/service.Seconds(), 0.02*c.backlog)
		r.near(c.what+": cleared after", "s", c.cleared, cleared.Seconds(), c.within)
	}
	return nil
}
