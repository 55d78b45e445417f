package sizing

import (
	"errors"
	"math"
	"time"
)

// Bounded is the steady state of a system that holds at most k items and refuses whoever finds it full. It has one also under
// overload: then the bound, and nothing else, decides how long items wait.
//
//	Formula: with offered load a = rate x service and r = a / concurrency, the probability of n items inside is proportional
//	         to aⁿ / n! up to n = concurrency, and falls or grows by the factor r for each one more, up to n = k
//	         refused = p(k), items = sum of n x p(n), stay = items / (rate x (1 - refused))
//	         for one worker: refused = (1 - r) x rᵏ / (1 - rᵏ⁺¹), and 1 / (k + 1) where r = 1
//	Units:   rate in items per second, offered. k counts all that are inside, those that wait and those that are worked on: an
//	         edge of capacity n in front of c workers, each with one item in its hands, is k = n + c
//	Limits:  Poisson arrivals and exponential service times (M/M/c/K). Evener ones wait less and are refused less
//	Errors:  rate not > 0 or not finite, service <= 0, concurrency not 1 to MaxConcurrency, k < concurrency
//	Source:  Erlang 1917; the notation is Kendall's of 1953; Gross and Harris 1974, "Fundamentals of Queueing Theory"
func Bounded(rate float64, service time.Duration, concurrency, k int) (Steady, error) {
	err := errors.Join(positive("rate", rate), longer("service", service), workers("concurrency", concurrency),
		notBelow("k", k, max(1, concurrency)))
	if err != nil {
		return Steady{}, err
	}
	return bounded(rate, service, concurrency, k), nil
}

// bounded weighs three groups of states: somebody is idle or nobody waits, somebody waits, and, part of these, it is full.
// Under overload the weights are those by rⁿ of the full state, or they would overflow.
func bounded(rate float64, service time.Duration, concurrency, k int) Steady {
	c, places := float64(concurrency), float64(k-concurrency)
	offered := erlangs(rate, service)
	allBusy, busy := erlang(offered, concurrency)
	x := math.Log(offered / c)

	var calm, waiting, full float64
	if x <= 0 {
		calm, waiting, full = 1, offered/c*geometric(places, x), power(places, x)
	} else {
		calm, waiting, full = power(places, -x), geometric(places, -x), 1
	}
	total := calm + allBusy*waiting
	refused := allBusy * full / total
	working := (busy*calm + c*allBusy*waiting) / total
	queued := allBusy * (calm + waiting) / total * meanPlace(places, x)

	finished := rate * (1 - refused)
	if refused > 0.5 { // where next to everything is refused, 1 - refused has no digits left
		finished = working / service.Seconds()
	}
	wait := queued / finished
	return Steady{
		Wait:        seconds(wait),
		Stay:        seconds(wait + service.Seconds()),
		Items:       queued + working,
		Throughput:  finished,
		Utilization: working / c,
		Refused:     refused,
	}
}

// power is e^(n x), and 1 for n = 0 whatever x is.
func power(n, x float64) float64 {
	if n == 0 {
		return 1
	}
	return math.Exp(n * x)
}

// geometric is the sum of e^(i x) for 0 <= i < n; x <= 0.
func geometric(n, x float64) float64 {
	if n == 0 || x == 0 {
		return n
	}
	return math.Expm1(n*x) / math.Expm1(x)
}

// meanPlace is the mean of j from 0 to places where j has the weight e^(j x).
func meanPlace(places, x float64) float64 {
	if places == 0 {
		return 0
	}
	n := places + 1
	if math.Abs(n*x) >= 1 {
		return 1/math.Expm1(-x) - n/math.Expm1(-n*x)
	}
	// The textbook form above is a difference of two large numbers here. Without what they have in common it is this.
	return places/2 + n*bend(n*x) - bend(x)
}

// bend is coth(x/2)/2 - 1/x, for |x| < 1: by its series, because the difference cancels, too.
func bend(x float64) float64 {
	s := x * x
	return x * (1.0/12 - s*(1.0/720-s*(1.0/30240-s*(1.0/1209600-s*(1.0/47900160-s*691.0/1307674368000)))))
}
