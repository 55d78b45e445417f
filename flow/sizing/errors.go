package sizing

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// ErrOverload says that there is no answer, because at least as much arrives as can be finished: what waits grows without end.
// The remedy is capacity or shedding, never a bigger bound.
var ErrOverload = errors.New("sizing: more arrives than can be finished")

// The checks below return nil, or what is wrong with the argument of that name; errors.Join puts them together.

func wrong(name, want string, got any) error {
	return fmt.Errorf("sizing: %s must be %s, got %v", name, want, got)
}

func positive(name string, x float64) error {
	if x > 0 && !math.IsInf(x, 1) { // false for NaN
		return nil
	}
	return wrong(name, "> 0 and finite", x)
}

func notNegative(name string, x float64) error {
	if x >= 0 && !math.IsInf(x, 1) {
		return nil
	}
	return wrong(name, ">= 0 and finite", x)
}

func longer(name string, d time.Duration) error {
	if d > 0 {
		return nil
	}
	return wrong(name, "> 0", d)
}

func notBelow(name string, n, least int) error {
	if n >= least {
		return nil
	}
	return wrong(name, fmt.Sprintf(">= %d", least), n)
}

func workers(name string, n int) error {
	if n >= 1 && n <= MaxConcurrency {
		return nil
	}
	return wrong(name, fmt.Sprintf("1 to %d", MaxConcurrency), n)
}

func notShorter(name string, d time.Duration) error {
	if d >= 0 {
		return nil
	}
	return wrong(name, ">= 0", d)
}
