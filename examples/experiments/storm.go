package main

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/flow"
)

// Clients of N7 give up after a second and come again at once.
const patience = time.Second

// storm is N7: 1,200 new requests a second for a server that does 1,000, exponential, from clients that come again.
func storm(r *report, s scale) error {
	length := time.Duration(s.items(30, 120, 120)) * time.Second
	goodput, amplification := endlessStorm(newDice(s.seed), length)
	r.most("no bound: goodput at the end", "%", 1, 100*goodput)
	if s.size != tiny {
		r.least("no bound: attempts for each request after a minute", "", 20, amplification)
	}
	for _, c := range []struct {
		bound int
		judge func(what string, goodput, amplification float64)
	}{
		{250, func(what string, goodput, amplification float64) {
			r.least(what+": goodput", "%", 95, 100*goodput)
			r.most(what+": attempts for each request", "", 1.1, amplification)
		}},
		{1000, func(what string, goodput, amplification float64) {
			r.near(what+", as long as clients wait: goodput", "%", 53, 100*goodput, float64(s.items(30, 15, 15)))
			r.most(what+": attempts for each request", "", 1.1, amplification)
		}},
	} {
		goodput, amplification, err := boundedStorm(newDice(s.seed), length, c.bound)
		if err != nil {
			return err
		}
		c.judge("bound "+number(float64(c.bound))+", a tenth of retries", goodput, amplification)
	}
	return nil
}

// endlessStorm is the server without a bound, outside the engine. Clients come again for ever. Goodput is that of the last sixth, as a share
// of what could be done.
func endlessStorm(d dice, length time.Duration) (goodput, amplification float64) {
	const rate, service = 1200, 0.001
	var (
		end           = length.Seconds()
		b             backlog
		again         []float64 // when those that wait give up, in order
		next          = d.ExpFloat64() / rate
		fresh, sent   = 0, 0
		good, minutes = 0, 0.0
	)
	for b.now < end {
		at := next
		if len(again) > 0 && again[0] < next {
			at, again = again[0], again[1:]
		} else {
			next += d.ExpFloat64() / rate
			fresh++
		}
		sent++
		took := d.ExpFloat64() * service
		wait := b.arrive(at-b.now, took)
		switch {
		case wait+took > patience.Seconds():
			again = append(again, at+patience.Seconds())
		case at > end*5/6:
			good++
		}
		if minutes == 0 && at > 60 {
			minutes, sent, fresh = at, 0, 0 // from now on
		}
	}
	return float64(good) / (end / 6 / service), float64(sent) / float64(max(fresh, 1))
}

// crowd is the clients of a bounded server. They have a budget of retries, and go away when it is used up.
type crowd struct {
	server *instance
	budget *flow.Budget
	draw   func() time.Duration

	waiting chan job // until they give up, in order
	sent    int
	good    atomic.Int64
	since   time.Time // when good begins to count

	mu     sync.Mutex
	served map[time.Time]bool // by when the attempt was made
}

func boundedStorm(d dice, length time.Duration, bound int) (goodput, amplification float64, err error) {
	bubble(func() { goodput, amplification, err = runStorm(d, length, bound) })
	return goodput, amplification, err
}

func runStorm(d dice, length time.Duration, bound int) (goodput, amplification float64, err error) {
	const rate, service = 1200, time.Millisecond
	budget, err := flow.NewBudget(flow.BudgetConfig{})
	if err != nil {
		return 0, 0, err
	}
	services := newDice(d.Uint64()) // they are drawn by another goroutine than the gaps
	c := &crowd{
		budget: budget, draw: services.exponential(service), waiting: make(chan job, 2*rate), served: map[time.Time]bool{},
		since: time.Now().Add(length / 6),
	}
	if c.server, err = newInstance(rejecting(bound), 1, c.done); err != nil {
		return 0, 0, err
	}
	fresh := make(chan struct{})
	go func() {
		defer close(fresh)
		gap := d.poisson(rate)
		for end := time.Now().Add(length); time.Now().Before(end); {
			time.Sleep(gap(0))
			fresh <- struct{}{}
		}
	}()
	requests := c.live(fresh)
	c.server.stop()
	return float64(c.good.Load()) / ((length * 5 / 6).Seconds() / service.Seconds()), float64(c.sent) / float64(requests), nil
}

// live does what clients do until no new ones come, and returns how many there were.
func (c *crowd) live(fresh <-chan struct{}) (requests int) {
	var impatient <-chan time.Time
	var head job
	for {
		if impatient == nil && len(c.waiting) > 0 {
			head = <-c.waiting
			impatient = time.After(time.Until(head.at.Add(patience)))
		}
		select {
		case _, ok := <-fresh:
			if !ok {
				return requests
			}
			requests++
			c.budget.Request()
			c.try()
		case <-impatient:
			impatient = nil
			if !c.answered(head) && c.budget.Retry() {
				c.try()
			}
		}
	}
}

// try makes an attempt, and others at once as long as it is refused and the budget allows them.
func (c *crowd) try() {
	for {
		j := job{at: time.Now(), service: c.draw()}
		c.sent++
		if c.server.offer(j) {
			c.waiting <- j
			return
		}
		if !c.budget.Retry() {
			return
		}
	}
}

// done notes an answer. It is good if its client still waits.
func (c *crowd) done(j job) {
	if time.Since(j.at) > patience {
		return
	}
	c.mu.Lock()
	c.served[j.at] = true
	c.mu.Unlock()
	if time.Now().After(c.since) {
		c.good.Add(1)
	}
}

func (c *crowd) answered(j job) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	yes := c.served[j.at]
	delete(c.served, j.at)
	return yes
}
