package flow

import (
	"fmt"
	"slices"
	"time"

	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/internal/histogram"
	"github.com/weir-go/weir/internal/queue"
)

// Stats is what a run has measured, at one moment or at its end.
type Stats struct {
	Elapsed time.Duration
	Stages  []StageStats
	Edges   []EdgeStats
}

// StageStats is what a stage has measured. Busy, Idle and Backpressured are shares of the time of its goroutines, and add up to
// 1. For stages that share a goroutine the busy time is divided by sampled chunks; waiting for a neighbour is idle. Waiting
// for room is never busy. A source is busy while it is asked, whether it works or waits.
type StageStats struct {
	Name            string
	Op              string
	In, Out         int64 // items
	Skipped, Failed int64 // as in a Report

	Retried        int64 // calls that repeated one because of Retry
	OverBudget     int64 // those that were not made because of the RetryBudget
	BreakerRefused int64 // calls that were not made because of the Breaker
	LimitRefused   int64 // calls that were not made because of the Limit

	Busy, Idle, Backpressured float64
	Workers                   int
	Groups                    int // of a GroupBy: how many are open; beside Workers

	source bool
}

// Histogram counts durations in buckets that can be added up over edges and processes; a quantile is at most 1/8 too high.
type Histogram = histogram.Histogram

// EdgeStats is what an edge has measured. In = Out + Dropped + Depth at every instant; after the end of the run Depth is what
// was given back.
type EdgeStats struct {
	Name     string
	Capacity int
	OnFull   Policy
	From, To []string // stages

	Depth, MaxDepth int
	In, Out         int64
	Dropped         DropCounts
	Refused         int64 // offers that failed with a *FullError; not part of In
	Oversize        int64 // items heavier than MaxWeight that passed alone

	Blocked       time.Duration // how long at least one producer waited for room
	Starved       time.Duration // how long at least one consumer waited for an item
	Sojourn       Histogram     // how long items waited
	MinSojourn    time.Duration // the least wait of the oldest item in the last 100 ms: a burst lets it return to zero, a standing queue does not
	EstimatedWait time.Duration // of an item that would arrive now

	EdgeSignals

	maxWait time.Duration
}

// DropCounts counts dropped items by [DropReason].
type DropCounts [queue.Reasons]int64

// Total returns the sum over all reasons.
func (d DropCounts) Total() (n int64) {
	for _, k := range d {
		n += k
	}
	return n
}

// Stats returns what has been measured so far. It may be called at any time, also after the end, and does not slow the run.
func (r *Run) Stats() Stats {
	s := Stats{Elapsed: r.run.Elapsed()}
	for _, st := range r.run.Stages {
		sh := r.run.Shares(st)
		groups, _ := st.Groups()
		s.Stages = append(s.Stages, StageStats{
			Name: st.Name, Op: st.Op, In: st.In.Load(), Out: st.Out.Load(), Skipped: st.Skipped.Load(), Failed: st.Failed.Load(),
			Retried: st.Retried.Load(), OverBudget: st.OverBudget.Load(),
			BreakerRefused: st.BreakerRefused.Load(), LimitRefused: st.LimitRefused.Load(),
			Busy: sh.Busy, Idle: sh.Idle, Backpressured: sh.Backpressured, Workers: len(st.Workers), Groups: groups,
			source: st.Kind == engine.Source,
		})
	}
	for _, e := range r.run.Edges {
		s.Edges = append(s.Edges, edgeStats(e))
	}
	return s
}

func edgeStats(e engine.Edge) EdgeStats {
	info, q := e.Info(), e.Stats()
	return EdgeStats{
		Name: info.Name, Capacity: info.Capacity, OnFull: info.OnFull, From: info.From, To: info.To,
		Depth: q.Depth, MaxDepth: q.MaxDepth, In: q.In, Out: q.Out, Dropped: DropCounts(q.Dropped),
		Refused: q.Refused, Oversize: q.Oversize, Blocked: q.Blocked, Starved: q.Starved,
		Sojourn: q.Sojourn, MinSojourn: q.MinSojourn, EstimatedWait: q.EstimatedWait,
		EdgeSignals: edgeSignals(&info, &q), maxWait: info.MaxWait,
	}
}

// Bottleneck is the stage that sets the pace.
type Bottleneck struct {
	Stage string
	Why   string // a sentence
}

// Bottleneck names the stage that sets the pace, the busiest one, and says why. It is the source if nothing else is busy for
// half of the time and the source is waited for. Without any stage it is empty.
func (s Stats) Bottleneck() Bottleneck {
	var worst, source *StageStats
	for i := range s.Stages {
		st := &s.Stages[i]
		switch {
		case st.source:
			if source == nil || st.Busy > source.Busy {
				source = st
			}
		case worst == nil || st.Busy > worst.Busy:
			worst = st
		}
	}
	switch {
	case worst == nil && source == nil:
		return Bottleneck{}
	case worst == nil || source != nil && worst.Busy < 0.5 && source.Busy > worst.Busy:
		return Bottleneck{source.Name, fmt.Sprintf("%s is the bottleneck: the pipeline waits for it %s of the time, and no stage behind it is busier than %s",
			source.Name, percent(source.Busy), percent(busiest(worst)))}
	}
	why := fmt.Sprintf("%s is the bottleneck: it is busy %s of the time", worst.Name, percent(worst.Busy))
	if e := s.before(worst.Name); e != nil {
		why += fmt.Sprintf(", and the edge %s in front of it made its producers wait %s of the time", e.Name, percent(s.share(e.Blocked)))
		if n := e.Dropped.Total(); n > 0 {
			why += fmt.Sprintf(" and dropped %d of %d items", n, e.In)
		}
	}
	return Bottleneck{worst.Name, why}
}

func busiest(st *StageStats) float64 {
	if st == nil {
		return 0
	}
	return st.Busy
}

// before returns the edge that feeds the goroutine of a stage, if it is the stage's own.
func (s Stats) before(stage string) *EdgeStats {
	for i := range s.Edges {
		if slices.Contains(s.Edges[i].To, stage) {
			return &s.Edges[i]
		}
	}
	return nil
}

func (s Stats) share(d time.Duration) float64 {
	if s.Elapsed <= 0 {
		return 0
	}
	return min(float64(d)/float64(s.Elapsed), 1)
}

func percent(f float64) string { return fmt.Sprintf("%.0f %%", 100*f) }
