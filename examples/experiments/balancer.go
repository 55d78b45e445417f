package main

import (
	"fmt"
	"sync/atomic"
	"time"
)

// balanced is N10: four servers behind a balancer, offered half as much again as they can do. The balancer takes a refusal for a fault of
// that server and asks others, or it honours the marker that says: this is an instruction, leave it at that.
func balanced(r *report, s scale) error {
	const tries = 3
	length := time.Duration(s.items(20, 60, 300)) * time.Second
	retried, retriedAttempts, err := balance(newDice(s.seed), length, tries)
	if err != nil {
		return err
	}
	honoured, attempts, err := balance(newDice(s.seed), length, 1)
	if err != nil {
		return err
	}
	r.near(fmt.Sprintf("refusals tried elsewhere, %d servers at most: attempts for each request", tries), "", 2, retriedAttempts, 0.35)
	r.near("marker honoured: attempts for each request", "", 1, attempts, 0)
	r.near("goodput of the former by that of the latter", "", 1, retried/honoured, 0.03)
	return nil
}

// balance offers requests to the servers in turn, and up to tries of them in all. It returns what was finished per second, and how many
// attempts were made for each request.
func balance(d dice, length time.Duration, tries int) (goodput, attempts float64, err error) {
	bubble(func() { goodput, attempts, err = runBalance(d, length, tries) })
	return goodput, attempts, err
}

func runBalance(d dice, length time.Duration, tries int) (goodput, attempts float64, err error) {
	const servers, service = 4, 10 * time.Millisecond
	rate := 1.5 * servers / service.Seconds()
	gap, draw := d.poisson(rate), d.exponential(service)
	var good atomic.Int64
	all := make([]*instance, servers)
	for i := range all {
		if all[i], err = newInstance(rejecting(10), 1, func(job) { good.Add(1) }); err != nil {
			return 0, 0, err
		}
		defer all[i].stop()
	}
	requests, sent, next := 0, 0, 0
	for end := time.Now().Add(length); time.Now().Before(end); requests++ {
		time.Sleep(gap(0))
		j := job{at: time.Now(), service: draw()}
		for range tries {
			sent++
			next++
			if all[next%servers].offer(j) {
				break
			}
		}
	}
	return float64(good.Load()) / length.Seconds(), float64(sent) / float64(requests), nil
}
