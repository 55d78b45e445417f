package bench

import (
	"errors"
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

	// Setup, where there is one, prepares what both sides of a round share, such as a server, for trials over n items. It is not
	// measured, and stop undoes it.
	Setup func(n int) (stop func() error, err error)

	Weir, Baseline Side
}

// Figure is what a trial measures, and how far weir's may be from the baseline's.
type Figure struct {
	Name   string // "p99"; "" where there is one only
	Unit   string
	Target float64 // most that the ratio may be; 0: it is only reported
	Goal   float64 // what the ratio, or the excess, should be: it is shown beside the target, which leaves room for noise; 0: none
	// CPU says that the figure is the processor time of the whole process, not the time that has passed: what others do on the
	// machine is hardly in it, what a server in the process does is.
	CPU bool
	// Extra, in place of Target, is how much the figure may exceed the baseline's, in its unit: for what is added to something
	// else, whatever that costs.
	Extra float64
	// Noisy says that two runs of the same code may differ by half: the figure is a tail latency, or needs both cores for itself.
	// Equals would miss a target of 1 every other time, so it is missed if three rounds of four exceed it.
	Noisy bool
}

// PerItem is the figure of most cases: the time of an item.
func PerItem(target float64) []Figure { return []Figure{{Unit: "ns/item", Target: target}} }

// PerItemAndCPU is [PerNoisyItem] with a goal, and the same in processor time, which is judged by its median.
func PerItemAndCPU(goal, target float64) []Figure {
	return []Figure{
		{Unit: "ns/item", Goal: goal, Target: target, Noisy: true},
		{Name: "cpu", Unit: "ns/item", Goal: goal, Target: target, CPU: true},
	}
}

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
	Close  func() error // lets go of what the trial holds, in any case; nil: nothing
	// Figures returns what was measured, one for each Figure of the case; nil: the time of an item.
	Figures func() []float64
}

// do runs a trial over n items and returns what the figures are.
func (s Side) do(n int, figures []Figure) (measured []float64, err error) {
	t := s(n)
	defer func() { err = errors.Join(err, t.close()) }()
	began, spent := time.Now(), cpuTime()
	err = t.Run()
	took, spent := time.Since(began), cpuTime()-spent
	if err == nil && t.Verify != nil {
		err = t.Verify()
	}
	if err != nil {
		return nil, err
	}
	if t.Figures != nil {
		return t.Figures(), nil
	}
	for _, f := range figures {
		d := took
		if f.CPU {
			d = spent
		}
		measured = append(measured, float64(d.Nanoseconds())/float64(n))
	}
	return measured, nil
}

func (t *Trial) close() error {
	if t.Close == nil {
		return nil
	}
	return t.Close()
}

// setup prepares the case for trials over n items.
func (c *Case) setup(n int) (stop func() error, err error) {
	if c.Setup == nil {
		return func() error { return nil }, nil
	}
	if stop, err = c.Setup(n); err != nil {
		return nil, fmt.Errorf("%s: setup: %w", c.Row, err)
	}
	return stop, nil
}

// Try runs both sides once over n items, without measuring, and returns what was wrong.
func (c *Case) Try(n int) (err error) {
	stop, err := c.setup(n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if _, err := c.Weir.do(n, c.Figures); err != nil {
		return fmt.Errorf("%s: weir: %w", c.Row, err)
	}
	if _, err := c.Baseline.do(n, c.Figures); err != nil {
		return fmt.Errorf("%s: baseline: %w", c.Row, err)
	}
	return nil
}
