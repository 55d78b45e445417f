package sizing

import "errors"

// ForCallers is the most items that ever wait where each of a number of callers has one item under way at a time. A larger
// bound is never reached, and so refuses nobody.
//
//	Formula: callers - concurrency, and 0 if there are no more callers than workers
//	Limits:  for callers that wait for their answer. A caller that gives up and tries again leaves an item behind, and counts
//	         twice. The longest wait is that of Wait(callers - concurrency, ...)
//	Errors:  callers < 1, concurrency not 1 to MaxConcurrency
//	Source:  closed queueing networks, Denning and Buzen 1978, "The Operational Analysis of Queueing Network Models"
func ForCallers(callers, concurrency int) (int, error) {
	if err := errors.Join(notBelow("callers", callers, 1), workers("concurrency", concurrency)); err != nil {
		return 0, err
	}
	return forCallers(callers, concurrency), nil
}

func forCallers(callers, concurrency int) int { return min(max(0, callers-concurrency), MaxItems) }
