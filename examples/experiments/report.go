package main

import (
	"fmt"
	"io"
	"math"
	"time"
)

// report prints a line for each figure, and remembers whether all were as expected.
type report struct {
	w    io.Writer
	name string // of the experiment
	bad  int
	all  int
}

// title says what comes.
func (r *report) title(about string) { r.print("%s %s\n", r.name, about) }

// print writes to the terminal, about whose errors there is nothing to be done.
func (r *report) print(format string, args ...any) { _, _ = fmt.Fprintf(r.w, format, args...) }

// near compares a figure that may be off by some amount.
func (r *report) near(what, unit string, want, got, off float64) {
	r.line(what, quantity(want, unit), quantity(got, unit)+" +-"+number(off), math.Abs(got-want) <= off)
}

// stay is near for times.
func (r *report) stay(what string, want, got, off time.Duration) {
	r.near(what, "ms", millis(want), millis(got), millis(off))
}

// most checks that a figure is not above a limit.
func (r *report) most(what, unit string, limit, got float64) {
	r.line(what, "<= "+quantity(limit, unit), quantity(got, unit), got <= limit)
}

// least checks that a figure is not below a limit.
func (r *report) least(what, unit string, limit, got float64) {
	r.line(what, ">= "+quantity(limit, unit), quantity(got, unit), got >= limit)
}

func (r *report) line(what, want, got string, ok bool) {
	verdict := "ok"
	r.all++
	if !ok {
		verdict = "OUT"
		r.bad++
	}
	r.print("%s %s expected %s measured %s %s\n", r.name, what, want, got, verdict)
}

// status sums up, and returns the exit code.
func (r *report) status() int {
	if r.bad > 0 {
		r.print("%d of %d figures are out\n", r.bad, r.all)
		return 1
	}
	r.print("%d figures, all as expected\n", r.all)
	return 0
}

func millis(d time.Duration) float64 { return float64(d) / 1e6 }

// quantity prints a number and its unit.
func quantity(v float64, unit string) string { return number(v) + unit }

// number prints four digits, and all of those before the point.
func number(v float64) string {
	if math.Abs(v) >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}
