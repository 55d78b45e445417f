package sizing

// Target is the depth from which on an edge has a standing queue: more than keeps the workers busy. It is the soft limit, at
// which to look, as the capacity is the hard one, at which to refuse.
//
//	Formula: concurrency / 2, rounded up
//	Limits:  for a depth that stays, not for one moment: a burst goes beyond it and comes back. Half a place for each worker
//	         drains in half a service time, so a queue that never falls below it gives nothing but latency
//	Errors:  concurrency not 1 to MaxConcurrency
//	Source:  good and bad queues, Nichols and Jacobson 2012, "Controlling Queue Delay"
func Target(concurrency int) (int, error) {
	if err := workers("concurrency", concurrency); err != nil {
		return 0, err
	}
	return target(concurrency), nil
}

func target(concurrency int) int { return (concurrency + 1) / 2 }
