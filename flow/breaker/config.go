package breaker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/weir-go/weir/stage"
)

// Config are the settings of a [Breaker]. The zero value is ready for use.
type Config struct {
	// InARow is how many calls fail one after the other before it opens; 0 means 5. Where all of them are for the same item, they
	// count as one call here and for Ratio: one item that always fails does not open it.
	InARow int

	// Ratio is which part of the calls of the last Window must have failed before it opens, above 0 and at most 1, where there were at least
	// MinCalls; 0 means 0.5.
	Ratio    float64
	MinCalls int           // 0 means 20
	Window   time.Duration // at least 10 ms; 0 means 10 s

	// OpenFor is how long it stays open before it lets a probe through, and so how long it takes at most to notice that the dependency
	// is back; 0 means 500 ms.
	OpenFor time.Duration
	Probes  int // how many calls must go well then, one after the other or at the same time, until it closes; 0 means 1

	// Failed says whether an error is a fault of the dependency; nil means [Failed]. It is not asked about calls that were cut off. It may
	// be called by many goroutines at the same time.
	Failed func(err error) bool
}

// windowParts is into how many parts the window is divided: it moves on by one at a time.
const windowParts = 10

// validate fills in the defaults, and returns what is out of range.
func (c *Config) validate() error {
	orElse(&c.InARow, 5)
	orElse(&c.Ratio, 0.5)
	orElse(&c.MinCalls, 20)
	orElse(&c.Window, 10*time.Second)
	orElse(&c.OpenFor, 500*time.Millisecond)
	orElse(&c.Probes, 1)
	if c.Failed == nil {
		c.Failed = Failed
	}
	var errs []error
	check := func(ok bool, what, want string, got any) {
		if !ok {
			errs = append(errs, fmt.Errorf("breaker: %s must be %s, got %v", what, want, got))
		}
	}
	check(c.InARow >= 1 && c.InARow <= math.MaxInt32, "InARow", "1 to 2147483647", c.InARow)
	check(c.Ratio > 0 && c.Ratio <= 1, "Ratio", "above 0 and at most 1", c.Ratio)
	check(c.MinCalls >= 1 && c.MinCalls <= math.MaxInt32, "MinCalls", "1 to 2147483647", c.MinCalls)
	check(c.Window >= 10*time.Millisecond, "Window", ">= 10ms", c.Window)
	check(c.OpenFor > 0, "OpenFor", "> 0", c.OpenFor)
	check(c.Probes >= 1 && c.Probes <= math.MaxInt32, "Probes", "1 to 2147483647", c.Probes)
	return errors.Join(errs...)
}

func orElse[T comparable](v *T, preset T) {
	var zero T
	if *v == zero {
		*v = preset
	}
}

// Failed reports whether err is a fault of the dependency: every error is, but for those that are about the item. These are marked with
// backoff.Permanent, or are a *[stage.BatchError], in which the dependency says which items of many it did not take. It has answered
// then, and so the call counts as one that has gone well.
func Failed(err error) bool {
	if err == nil {
		return false
	}
	_, permanent := errors.AsType[*backoff.PermanentError](err)
	_, partly := errors.AsType[*stage.BatchError](err)
	return !permanent && !partly
}

// cutOff reports whether err says nothing about the dependency.
func cutOff(err error) bool { return errors.Is(err, context.Canceled) }
