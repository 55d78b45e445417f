package engine

import (
	"sync/atomic"

	"github.com/weir-go/weir/internal/clock"
)

// Kind tells what a stage's time means.
type Kind uint8

// The kinds of stage.
const (
	Source Kind = iota
	Step
	Sink
)

// Stage is what the run knows of one stage: its name and its figures.
type Stage struct {
	Name string // given, or like "map#3"
	Op   string // the operator: "map"
	Kind Kind
	At   Origin // where it was written

	In, Out atomic.Int64 // items
	Skipped atomic.Int64 // let go by a decision
	Failed  atomic.Int64 // that ended the run, or are to be delivered again

	Retried        atomic.Int64 // calls that Retry has let repeat
	OverBudget     atomic.Int64 // and those that it would have, but for its budget
	BreakerRefused atomic.Int64 // calls not made, because of the breaker
	LimitRefused   atomic.Int64 // or of the limiter

	Workers []*Worker // that run it
	crew    crew      // goroutines of it that come and go; nil: there are none
	stacks  stacks
	sampled atomic.Int64
	pulling bool            // its time is the time spent in its source
	pulls   clock.Stopwatch // that time; a source has one worker
}

// Origin tells where in the program something was written.
type Origin interface{ Line() string }

// Count adds what went in and out of a chunk.
func (s *Stage) Count(in, out int) {
	if in > 0 {
		s.In.Add(int64(in))
	}
	if out > 0 {
		s.Out.Add(int64(out))
	}
}
