package bench

import (
	"fmt"
	"slices"
	"strings"
)

// Result is a row of the table.
type Result struct {
	Row      string
	What     string
	Against  string
	Value    string // "0.12 x"
	Target   string // "<= 0.15"; "none" where the row is only reported
	Met      bool
	Interval string // "0.12..0.13": the quartiles; "" where there are too few values
	Spread   string // "0.11..0.14": the least and the greatest value
	Weir     string // absolute figures
	Baseline string
	Allocs   string // per item; "" where they are not counted
}

// results judges the figures of a case.
func (s *series) results(c *Case) []Result {
	results := make([]Result, len(c.Figures))
	for i, f := range c.Figures {
		ratio := Median(s.ratios[i])
		judged, value := ratio, f.value(ratio)
		if f.Noisy {
			judged = Quantile(slices.Sorted(slices.Values(s.ratios[i])), 0.25)
			value += fmt.Sprintf(", quartile %.2f", judged)
		}
		r := &results[i]
		*r = Result{
			Row: strings.TrimSpace(c.Row + " " + f.Name), What: c.What, Against: c.Against,
			Value: value, Target: "none",
			Met:      f.met(judged),
			Interval: interval(s.ratios[i]),
			Spread:   fmt.Sprintf("%.2f..%.2f", slices.Min(s.ratios[i]), slices.Max(s.ratios[i])),
			Weir:     absolute(Median(s.weir[i]), f.Unit),
			Baseline: absolute(Median(s.baseline[i]), f.Unit),
		}
		if f.Target > 0 {
			r.Target = fmt.Sprintf("<= %.2f", f.Target)
		}
		if f.Extra > 0 {
			r.Target = fmt.Sprintf("<= %+.0f %s", f.Extra, f.Unit)
		}
		if f.Goal > 0 {
			r.Target += ", goal " + strings.TrimSuffix(fmt.Sprintf("%.2f", f.Goal), ".00")
		}
		if c.AllocItems > 0 {
			r.Allocs = fmt.Sprintf("%.4f", s.allocs)
			r.Met = r.Met && (!c.NoAllocs || s.allocs == 0) && (c.MaxAllocs == 0 || s.allocs <= c.MaxAllocs)
		}
	}
	return results
}

// interval is the middle half of vs.
func interval(vs []float64) string {
	vs = slices.Sorted(slices.Values(vs))
	return fmt.Sprintf("%.2f..%.2f", Quantile(vs, 0.25), Quantile(vs, 0.75))
}

// absolute is a figure with its unit, in three digits.
func absolute(v float64, unit string) string {
	switch {
	case v < 10:
		return fmt.Sprintf("%.2f %s", v, unit)
	case v < 100:
		return fmt.Sprintf("%.1f %s", v, unit)
	default:
		return fmt.Sprintf("%.0f %s", v, unit)
	}
}

// String is the line that is printed.
func (r Result) String() string {
	line := fmt.Sprintf("%-14s %s (target %s) %s", r.Row, r.Value, strings.TrimPrefix(r.Target, "<= "), r.verdict("MISSED"))
	if r.Allocs != "" {
		line += ", " + r.Allocs + " allocs"
	}
	return fmt.Sprintf("%-60s %-14s %-14s weir %s, baseline %s", line, r.Interval, r.Spread, r.Weir, r.Baseline)
}

// verdict is "met", or what stands for a miss.
func (r Result) verdict(missed string) string {
	switch {
	case !r.Met:
		return missed
	case r.Target == "none":
		return "reported"
	default:
		return "met"
	}
}

// Met reports whether all results are.
func Met(results []Result) bool {
	return !slices.ContainsFunc(results, func(r Result) bool { return !r.Met })
}
