package sizing

import (
	"errors"
	"time"
)

// Unbounded is the steady state of a queue that refuses nobody: how long items wait although the workers could do it all,
// because neither arrivals nor service times are even.
//
//	Formula: mean wait = C x service / (concurrency x (1 - utilization)) x (1 + cv²) / 2
//	         C, the probability to wait, = B / (1 - utilization x (1 - B)), with B of Erlang's B formula
//	         for one worker and cv 1: stay = service / (1 - utilization)
//	Units:   rate in items per second; cv is the standard deviation of service times by their mean: 0 constant, 1 exponential
//	Limits:  arrivals are independent of each other (Poisson), as those of many users are. Exact for one worker and for
//	         cv 1 (M/G/1, M/M/c), within some per cent for several workers and another cv. It takes some 1 / (1 - utilization)²
//	         service times to become true. Edges are bounded: this is for one that is hardly ever full; Bounded is for others
//	Errors:  rate not > 0 or not finite, service <= 0, concurrency not 1 to MaxConcurrency, cv negative or not finite;
//	         ErrOverload where utilization >= 1, because there is no steady state
//	Source:  Erlang 1917; Pollaczek 1930 and Khinchine 1932 for cv; Lee and Longton 1959, "Queueing Processes Associated with
//	         Airline Passenger Check-in", for both together
func Unbounded(rate float64, service time.Duration, concurrency int, cv float64) (Steady, error) {
	err := errors.Join(positive("rate", rate), longer("service", service), workers("concurrency", concurrency), notNegative("cv", cv))
	if err == nil && utilization(rate, service, concurrency) >= 1 {
		err = ErrOverload
	}
	if err != nil {
		return Steady{}, err
	}
	load := utilization(rate, service, concurrency)
	allBusy, _ := erlang(erlangs(rate, service), concurrency)
	mustWait := allBusy / (1 - load*(1-allBusy))
	uneven := number((1 + cv*cv) / 2)
	wait := mustWait * service.Seconds() / (float64(concurrency) * (1 - load)) * uneven
	return Steady{
		Wait:        seconds(wait),
		Stay:        seconds(wait + service.Seconds()),
		Items:       number(rate * (wait + service.Seconds())),
		Throughput:  rate,
		Utilization: load,
	}, nil
}
