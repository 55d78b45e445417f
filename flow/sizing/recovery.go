package sizing

import (
	"errors"
	"time"
)

// Recovery is how long a backlog takes to clear.
//
//	Formula: backlog / (throughput - rate)
//	Units:   throughput and rate, that of new arrivals, in items per second
//	Limits:  means: within a few per cent for a backlog of thousands, a guess for one of ten
//	Errors:  backlog < 0; throughput or rate not > 0 or not finite; ErrOverload where rate >= throughput, because it never ends
//	Source:  the fluid picture of queues, Newell 1971, "Applications of Queueing Theory"
func Recovery(backlog int, throughput, rate float64) (time.Duration, error) {
	err := errors.Join(notBelow("backlog", backlog, 0), positive("throughput", throughput), positive("rate", rate))
	if err == nil && rate >= throughput {
		err = ErrOverload
	}
	if err != nil {
		return 0, err
	}
	return seconds(float64(backlog) / (throughput - rate)), nil
}
