package stage

import (
	"context"
	"fmt"
	"time"
)

// Ticker returns a source of the current time, every d.
//
//	Emits:       one time a call; the first d after the first Pull. Of the ticks that nobody waits for one is
//	             kept and the others are dropped.
//	Ends:        never; it is stopped by the context.
//	Errors:      d <= 0 is an error of the first Pull.
//	Ownership:   Close stops the ticker.
//	Concurrency: one caller at a time.
//	Cost:        one time.Ticker; no goroutine.
func Ticker(d time.Duration) Source[time.Time] {
	s := &tickerSource{every: d}
	if d <= 0 {
		s.err = fmt.Errorf("stage: Ticker: d must be > 0, got %v", d)
	}
	return s
}

type tickerSource struct {
	every  time.Duration
	ticker *time.Ticker // nil before the first Pull
	err    error
}

func (s *tickerSource) Pull(ctx context.Context, dst []time.Time) (int, error) {
	if ok, err := proceed(ctx, s.err, len(dst)); !ok {
		return 0, err
	}
	if s.ticker == nil {
		s.ticker = time.NewTicker(s.every)
	}
	select {
	case dst[0] = <-s.ticker.C:
		return 1, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// Close stops the ticker. Further calls do nothing.
func (s *tickerSource) Close() error {
	if s.err == nil {
		s.err = errClosed
	}
	if s.ticker != nil {
		s.ticker.Stop()
	}
	return nil
}
