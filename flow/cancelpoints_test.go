package flow_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

var (
	cancelPoints = flag.Int("cancelpoints", 240, "how many points TestCancelPoints cancels at")
	cancelPoint  = flag.String("cancelpoint", "", "the one point that TestCancelPoints cancels at, as SEED/EVENT")
)

// How many points each graph is cancelled at, and within what time a run must have ended.
const (
	pointsPerGraph = 8
	mostLate       = 100 * time.Millisecond
)

// cancelledGraph is a random graph that is run to its end once, to see how much happens in it, and then is cancelled at some of what
// happened. It is drawn from its seed.
type cancelledGraph struct {
	seed int
	s    *scenario
}

// newCancelledGraph draws a graph whose messages have claims.
func newCancelledGraph(seed int) cancelledGraph {
	s := rapid.Custom(func(rt *rapid.T) *scenario { return drawScenario(rt, "cancel") }).Example(seed)
	if !slices.Contains([]string{"items", "inlet", "member", "openat"}, s.source) {
		s.source = "items"
	}
	return cancelledGraph{seed, s}
}

// events returns how many things happen in a run that nobody disturbs: calls of user code, pulls, and settlements.
func (g cancelledGraph) events(t *testing.T) (n int64, err error) {
	t.Helper()
	s := *g.s
	s.fault, s.ops = "none", redraw(s.ops)
	return n, bubble(t, func(ctx context.Context) error {
		w := newWorld(&s)
		err := w.run(ctx)
		n = w.events.Load()
		return err
	})
}

// cancelAt runs the graph and cancels its context in the middle of an event. It reports whether it got there, and what is wrong: a
// message that was lost, one that was not settled once, a goroutine that is left, a run that was slow to end.
func (g cancelledGraph) cancelAt(t *testing.T, event int64) (reached bool, err error) {
	t.Helper()
	s := *g.s
	s.ops, s.at = redraw(s.ops), stuckAfter
	var at atomic.Int64
	err = bubble(t, func(ctx context.Context) error {
		w := newWorld(&s)
		w.onEvent = func(n int64) {
			if n == event {
				at.Store(int64(time.Since(w.began)) + 1)
				w.cancel(errCancel)
			}
		}
		err := w.run(ctx)
		reached = at.Load() > 0
		if late := w.ended - time.Duration(at.Load()-1); reached && late > mostLate {
			err = errors.Join(err, fmt.Errorf("the run ended %v after it was cancelled", late))
		}
		return err
	})
	return reached, err
}

// bubble runs fn in virtual time. A goroutine that is left over is an error, so that there is a seed to it.
func bubble(t *testing.T, fn func(context.Context) error) (err error) {
	t.Helper()
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the bubble failed: %v", v)
		}
	}()
	synctest.Test(t, func(t *testing.T) { err = fn(context.WithoutCancel(t.Context())) })
	return err
}

// report fails the test with what repeats the failure.
func (g cancelledGraph) report(t *testing.T, event int64, err error) {
	t.Helper()
	t.Fatalf("%s\ncancelled at event %d: %s\nto repeat it:\n\tgo test -race ./flow -run '^TestCancelPoints$' -count=1 -cancelpoint %d/%d",
		g.s, event, strings.TrimSpace(err.Error()), g.seed, event)
}

// TestCancelPoints cancels random graphs at random events: in the middle of a call of user code, a pull, a push, or a settlement. The
// brokers' own accounts are the judge: nothing lost, each message settled once; no goroutine is left, and the run ends within 100 ms of
// virtual time. -cancelpoints 10000 is the long run; a failure prints the command that repeats it.
func TestCancelPoints(t *testing.T) {
	if *cancelPoint != "" {
		var seed int
		var event int64
		if _, err := fmt.Sscanf(*cancelPoint, "%d/%d", &seed, &event); err != nil {
			t.Fatalf("-cancelpoint %q is not SEED/EVENT", *cancelPoint)
		}
		g := newCancelledGraph(seed)
		for range 20 { // the goroutines of a run may take turns in another order
			_, err := g.cancelAt(t, event)
			if event == 0 { // it was not cancelled
				_, err = g.events(t)
			}
			if err != nil {
				g.report(t, event, err)
			}
		}
		return
	}
	reached, tried := 0, 0
	for reached < *cancelPoints {
		g := newCancelledGraph(rand.IntN(1 << 31))
		events, err := g.events(t)
		if err != nil {
			g.report(t, 0, err)
		}
		for range min(pointsPerGraph, events) {
			event := 1 + rand.Int64N(events)
			there, err := g.cancelAt(t, event)
			if err != nil {
				g.report(t, event, err)
			}
			if tried++; there {
				reached++
			}
		}
	}
	t.Logf("%d points reached, %d tried", reached, tried)
	if reached < tried*9/10 {
		t.Errorf("%d of %d points were reached, want nine in ten: the graphs are not what they were", reached, tried)
	}
}
