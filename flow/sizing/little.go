package sizing

import (
	"errors"
	"time"
)

// Little is the mean number of items in a system from how many come in and how long each stays. Whatever the arrivals, the
// service times and the order are like, it holds; so where the three were measured and it does not, a measurement is wrong.
//
//	Formula: L = rate x stay
//	Units:   rate in items per second that come in (not: are refused at the door); stay is the mean, in the same part of the
//	         system as L: waiting time for those that wait, waiting and service for all that are inside
//	Limits:  means over a time that is long beside stay, with about as many inside at its end as at its beginning
//	Errors:  rate not > 0 or not finite, stay < 0
//	Source:  Little 1961, "A Proof for the Queuing Formula: L = λW"
func Little(rate float64, stay time.Duration) (float64, error) {
	if err := errors.Join(positive("rate", rate), notShorter("stay", stay)); err != nil {
		return 0, err
	}
	return number(rate * stay.Seconds()), nil
}
