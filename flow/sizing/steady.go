package sizing

import "time"

// Steady is what a queue looks like in the long run, while the load stays as it is. All numbers are means.
type Steady struct {
	Wait        time.Duration // of an item that was let in, until a worker takes it
	Stay        time.Duration // Wait and service
	Items       float64       // inside: waiting and worked on
	Throughput  float64       // finished items per second
	Utilization float64       // share of the workers' time that they are busy
	Refused     float64       // share of the offered items that found it full
}

// erlang is the state of concurrency workers without any place to wait: the probability that all are busy (Erlang's B formula),
// and how many are on average. The recursion is over 1 / B, which never overflows to something wrong: a B of 0 is one below 1e-308.
func erlang(offered float64, concurrency int) (allBusy, busy float64) {
	inverse, before := 1.0, 1.0
	for n := 1; n <= concurrency; n++ {
		inverse, before = 1+inverse*float64(n)/offered, inverse
	}
	allBusy = 1 / inverse
	if allBusy < 0.5 {
		return allBusy, offered * (1 - allBusy)
	}
	return allBusy, float64(concurrency) * before / inverse // the same, where 1 - allBusy would have no digits left
}
