package sizing_test

import (
	"math"
	"time"
)

const ms = time.Millisecond

// tester is a test, or one round of a property.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// must is the result of a function whose arguments are right.
func must[T any](t tester) func(T, error) T {
	return func(got T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatalf("error %v, want none", err)
		}
		return got
	}
}

// near fails where got is further from want than the tolerance, in proportion.
func near(t tester, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*math.Abs(want) || math.IsNaN(got) {
		t.Errorf("%s = %v, want %v within %v of it", what, got, want, tolerance)
	}
}
