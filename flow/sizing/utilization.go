package sizing

import (
	"errors"
	"strconv"
	"time"
)

// Where zones of utilization end.
const (
	normalTo  = 0.8
	warningTo = 0.95
)

// Utilization is how much of the workers' time the offered load takes. Above 1 more arrives than can be finished.
//
//	Formula: rate x service / concurrency
//	Units:   rate in items per second, offered: what is refused counts, or shedding would look like spare capacity
//	Limits:  says nothing about waiting by itself: that grows like 1 / (1 - utilization), see Unbounded
//	Errors:  rate not > 0 or not finite, service <= 0, concurrency not 1 to MaxConcurrency
//	Source:  the utilization law, Denning and Buzen 1978, "The Operational Analysis of Queueing Network Models"
func Utilization(rate float64, service time.Duration, concurrency int) (float64, error) {
	err := errors.Join(positive("rate", rate), longer("service", service), workers("concurrency", concurrency))
	if err != nil {
		return 0, err
	}
	return utilization(rate, service, concurrency), nil
}

func utilization(rate float64, service time.Duration, concurrency int) float64 {
	return number(erlangs(rate, service)) / float64(concurrency)
}

// ForRate is the smallest number of workers that the offered load keeps no busier than utilization.
//
//	Formula: rate x service / utilization, rounded up
//	Units:   rate in items per second; utilization above 0, to 1
//	Limits:  as Throughput: it takes for granted that one more worker works as fast as the others
//	Errors:  rate not > 0 or not finite, service <= 0, utilization not > 0 or above 1
//	Source:  Little 1961, "A Proof for the Queuing Formula: L = λW", for the workers that are busy
func ForRate(rate float64, service time.Duration, utilization float64) (int, error) {
	err := errors.Join(positive("rate", rate), longer("service", service))
	if !(utilization > 0 && utilization <= 1) { // also for NaN
		err = errors.Join(err, wrong("utilization", "> 0, and at most 1", utilization))
	}
	if err != nil {
		return 0, err
	}
	return forRate(rate, service, utilization), nil
}

func forRate(rate float64, service time.Duration, utilization float64) int {
	return max(1, atLeast(erlangs(rate, service)/utilization))
}

// erlangs is the offered load: how many workers it would keep busy if there were any number of them. It may be infinite, or 0.
func erlangs(rate float64, service time.Duration) float64 { return rate * service.Seconds() }

// Zone says what a utilization means for those who wait.
type Zone uint8

// The zones, from calm to hopeless.
const (
	ZoneNormal   Zone = iota // up to 0.8
	ZoneWarning              // above 0.8: waiting grows faster than load
	ZoneUnsteady             // above 0.95: no steady latency
)

// ZoneOf says in which zone a utilization is.
//
//	Formula: to 0.8 normal, to 0.95 warning, above that no steady latency
//	Limits:  thresholds of experience. One worker waits 5 service times in the mean at 0.8 and 20 at 0.95, if arrivals and
//	         service times are random; with many workers the same waits come later, and then faster
//	Errors:  a utilization that is negative or not finite
//	Source:  the knee of 1 / (1 - utilization), as in Unbounded
func ZoneOf(utilization float64) (Zone, error) {
	if err := notNegative("utilization", utilization); err != nil {
		return 0, err
	}
	return zoneOf(utilization), nil
}

func zoneOf(utilization float64) Zone {
	switch {
	case utilization <= normalTo:
		return ZoneNormal
	case utilization <= warningTo:
		return ZoneWarning
	default:
		return ZoneUnsteady
	}
}

// String is what a zone means, in words.
func (z Zone) String() string {
	switch z {
	case ZoneNormal:
		return "normal"
	case ZoneWarning:
		return "warning"
	case ZoneUnsteady:
		return "no steady latency"
	default:
		return "Zone(" + strconv.Itoa(int(z)) + ")"
	}
}
