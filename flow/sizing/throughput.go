package sizing

import (
	"errors"
	"time"
)

// Throughput is how many items a second the workers finish while all of them are busy. No depth in front of them raises it.
//
//	Formula: concurrency / service
//	Units:   items per second; service is the mean time of one item
//	Limits:  workers that get in each other's way (one connection, one lock, one CPU) have a longer service time together than
//	         alone. Concurrency comes from what is behind them: a pool of 20 connections is 20, however many goroutines there are
//	Errors:  concurrency not 1 to MaxConcurrency, service <= 0
//	Source:  the utilization law, Denning and Buzen 1978, "The Operational Analysis of Queueing Network Models"
func Throughput(concurrency int, service time.Duration) (float64, error) {
	if err := errors.Join(workers("concurrency", concurrency), longer("service", service)); err != nil {
		return 0, err
	}
	return throughput(concurrency, service), nil
}

func throughput(concurrency int, service time.Duration) float64 {
	return float64(concurrency) / service.Seconds()
}
