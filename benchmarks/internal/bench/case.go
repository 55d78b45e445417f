package bench

import (
	"fmt"
	"time"
)

// Case is a workload, done in two ways.
type Case struct {
	Row      string // "P1"
	What     string // the workload, in a line
	Against  string // the baseline, in a line
	Figures  []Figure
	Items    int  // of one trial
	NoAllocs bool // 0.0000 allocations per item are required
	// MaxAllocs is the most allocations per item; 0: no limit, or none at all with NoAllocs.
	MaxAllocs float64
	// AllocItems is how many items the allocations are counted over; 0: they are not counted. What a run allocates once is
	// spread over them, so 0.0000 takes about four million.
	AllocItems int

	Weir, Baseline Side
}

// Figure is what a trial measures, and how far weir's may be from the baseline's.
type Figure struct {
	Name   string // "p99"; "" where there is one only
	Unit   string
	Target float64 // most that the ratio may be; 0: it is only reported
	// Extra, in place of Target, is how much the figure may exceed the baseline's, in its unit: for what is added to something
	// else, whatever that costs.
	Extra float64
	// Noisy says that two runs of the same code may differ by half: the figure is a tail latency, or needs both cores for itself.
	// Equals would miss a target of 1 every other time, so it is missed if three rounds of four exceed it.
	Noisy bool
}

// PerItem is the figure of most cases: the time of an item.
func PerItem(target float64) []Figure { return []Figure{{Unit: "ns/item", Target: target}} }

// PerNoisyItem is [PerItem] for work that competes for the cores with whatever else the machine does.
func PerNoisyItem(target float64) []Figure {
	return []Figure{{Unit: "ns/item", Target: target, Noisy: true}}
}

// compare returns what is judged: the ratio of weir's figure to the baseline's, or what it has on top.
func (f Figure) compare(weir, baseline float64) float64 {
	if f.Extra > 0 {
		return weir - baseline
	}
	return weir / baseline
}

// value is what compare gave, with what it is.
func (f Figure) value(v float64) string {
	if f.Extra > 0 {
		return fmt.Sprintf("%+.1f %s", v, f.Unit)
	}
	return fmt.Sprintf("%.2f x", v)
}

// met reports whether v is within the target.
func (f Figure) met(v float64) bool {
	if f.Extra > 0 {
		return v <= f.Extra
	}
	return f.Target == 0 || v <= f.Target
}

// Side prepares a trial over n items.
type Side func(n int) Trial

// Trial is one run of a side.
type Trial struct {
	Run    func() error // what is timed
	Verify func() error // what was wrong with the result; nil: Run has said it
	// Figures returns what was measured, one for each Figure of the case; nil: the time of an item.
	Figures func() []float64
}

// do runs a trial over n items and returns its figures.
func (s Side) do(n int) ([]float64, error) {
	t := s(n)
	began := time.Now()
	err := t.Run()
	took := time.Since(began)
	if err == nil && t.Verify != nil {
		err = t.Verify()
	}
	if err != nil {
		return nil, err
	}
	if t.Figures != nil {
		return t.Figures(), nil
	}
	return []float64{float64(took.Nanoseconds()) / float64(n)}, nil
}

// Try runs both sides once over n items, without measuring, and returns what was wrong.
func (c *Case) Try(n int) error {
	if _, err := c.Weir.do(n); err != nil {
		return fmt.Errorf("%s: weir: %w", c.Row, err)
	}
	if _, err := c.Baseline.do(n); err != nil {
		return fmt.Errorf("%s: baseline: %w", c.Row, err)
	}
	return nil
}
