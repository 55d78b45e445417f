package bench

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"
)

// MinRounds is the least number of rounds whose medians mean something.
const MinRounds = 7

// series are the figures of a case, a slice of rounds for each.
type series struct {
	weir, baseline, ratios [][]float64
	allocs                 float64
}

// Run measures cases in rounds: as many as wanted, fewer, but at least MinRounds, if the deadline comes first. It returns a
// result for each figure, and how many rounds they are from.
func Run(cases []Case, rounds int, deadline time.Time) ([]Result, int, error) {
	all := make([]series, len(cases))
	for i := range cases {
		n := len(cases[i].Figures)
		all[i] = series{make([][]float64, n), make([][]float64, n), make([][]float64, n), 0}
	}
	done := 0
	var longest time.Duration
	for round := range rounds + 1 {
		began := time.Now()
		if began.Add(longest).After(deadline) {
			break
		}
		for i := range cases {
			if err := all[i].round(&cases[i], round); err != nil {
				return nil, done, err
			}
		}
		longest = max(longest, time.Since(began))
		done = round
	}
	if done < min(MinRounds, rounds) {
		return nil, done, fmt.Errorf("only %d rounds in the time given, at least %d are needed: choose fewer rows or more time", done, MinRounds)
	}
	var results []Result
	for i := range cases {
		if err := all[i].countAllocs(&cases[i]); err != nil {
			return nil, done, err
		}
		results = append(results, all[i].results(&cases[i])...)
	}
	return results, done, nil
}

// round runs both sides once, and keeps the figures unless it is the first round.
func (s *series) round(c *Case, round int) (err error) {
	stop, err := c.setup(c.Items)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	var figures [2][]float64
	sides := [2]Side{c.Weir, c.Baseline}
	for k := range sides {
		k ^= round & 1
		runtime.GC() // so that no side clears up behind the other
		if figures[k], err = sides[k].do(c.Items, c.Figures); err != nil {
			return fmt.Errorf("%s: %s: %w", c.Row, [2]string{"weir", "baseline"}[k], err)
		}
	}
	if round == 0 {
		return nil
	}
	for i, f := range c.Figures {
		s.weir[i] = append(s.weir[i], figures[0][i])
		s.baseline[i] = append(s.baseline[i], figures[1][i])
		s.ratios[i] = append(s.ratios[i], f.compare(figures[0][i], figures[1][i]))
	}
	return nil
}

// countAllocs counts the allocations of weir's side: the least of three runs, because the runtime allocates now and then, too.
func (s *series) countAllocs(c *Case) (err error) {
	if c.AllocItems == 0 {
		return nil
	}
	stop, err := c.setup(c.AllocItems)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	s.allocs = math.Inf(1)
	for range 3 {
		n, err := mallocs(c.Weir(c.AllocItems))
		if err != nil {
			return fmt.Errorf("%s: weir: %w", c.Row, err)
		}
		s.allocs = min(s.allocs, math.Round(1e4*float64(n)/float64(c.AllocItems))/1e4)
	}
	return nil
}

// mallocs returns how many objects the run of a trial allocates.
func mallocs(t Trial) (n uint64, err error) {
	defer func() { err = errors.Join(err, t.close()) }()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err = t.Run()
	runtime.ReadMemStats(&after)
	if err == nil && t.Verify != nil {
		err = t.Verify()
	}
	return after.Mallocs - before.Mallocs, err
}
