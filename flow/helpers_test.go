package flow_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// ints returns 0 to n-1.
func ints(n int) []int {
	vs := make([]int, n)
	for i := range vs {
		vs[i] = i
	}
	return vs
}

// twice and the like are steps that tests share.
func twice(i int) int { return 2 * i }

func even(i int) bool { return i%2 == 0 }

// same is a function for TryMap and Parallel that does nothing.
func same(_ context.Context, i int) (int, error) { return i, nil }

// must fails the test if err is not nil.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("got error %v, want none", err)
	}
}

// wantError fails the test unless err is target.
func wantError(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("got error %v, want %v", err, target)
	}
}

// wantStage fails the test unless err is an error of the stage name, and returns the stack in it.
func wantStage(t *testing.T, err error, name string) []byte {
	t.Helper()
	e, ok := errors.AsType[*stage.Error](err)
	if !ok || e.Stage != name {
		t.Fatalf("got error %v, want a *stage.Error of %q", err, name)
	}
	return e.Stack
}

// equal fails the test unless got is want.
func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s = %v, want %v", what, got, want)
	}
}

// equalSlices fails the test unless got is want.
func equalSlices[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s = %s, want %s", what, brief(got), brief(want))
	}
}

func brief[T any](vs []T) string {
	if len(vs) <= 40 {
		return fmt.Sprint(vs)
	}
	return fmt.Sprintf("%v... (%d)", vs[:40], len(vs))
}

// start starts p, or fails the test, at whose end the run is stopped: a bubble says nothing of use about a test that failed
// while goroutines were left.
func start(t *testing.T, p flow.Pipeline) *flow.Run {
	t.Helper()
	r, err := p.Start(context.WithoutCancel(t.Context()))
	must(t, err)
	t.Cleanup(func() {
		r.Stop()
		_ = r.Wait()
	})
	return r
}

// stopped stops r and fails the test unless that is what Wait says.
func stopped(t *testing.T, r *flow.Run) {
	t.Helper()
	r.Stop()
	wantError(t, r.Wait(), flow.ErrStopped)
}

// nap waits for d, or less if ctx ends.
func nap(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// edgeStats returns the figures of the edge called name.
func edgeStats(t *testing.T, r *flow.Run, name string) flow.EdgeStats {
	t.Helper()
	s := r.Stats()
	i := slices.IndexFunc(s.Edges, func(e flow.EdgeStats) bool { return e.Name == name })
	if i < 0 {
		t.Fatalf("no edge is called %q in %+v", name, s.Edges)
	}
	return s.Edges[i]
}

// stageStats returns the figures of the stage called name.
func stageStats(t *testing.T, r *flow.Run, name string) flow.StageStats {
	t.Helper()
	s := r.Stats()
	i := slices.IndexFunc(s.Stages, func(e flow.StageStats) bool { return e.Name == name })
	if i < 0 {
		t.Fatalf("no stage is called %q in %+v", name, s.Stages)
	}
	return s.Stages[i]
}

// seen is what a sink has got, with the time at which it came.
type seen[T any] struct {
	mu    sync.Mutex
	began time.Time
	vs    []T
	at    []time.Duration
}

func newSeen[T any]() *seen[T] { return &seen[T]{began: time.Now()} }

func (s *seen[T]) each(_ context.Context, v T) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vs = append(s.vs, v)
	s.at = append(s.at, time.Since(s.began))
	return nil
}

func (s *seen[T]) values() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.vs)
}

func (s *seen[T]) times() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.at)
}

// endless is a source of 0, 1, 2, ... that counts what it was asked for.
type endless struct {
	next  int
	pulls int
}

func (e *endless) Pull(ctx context.Context, dst []int) (int, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	e.pulls++
	for i := range dst {
		dst[i] = e.next
		e.next++
	}
	return len(dst), nil
}

// then is a source of vs that waits for the end of its context behind them.
func then[T any](vs ...T) stage.Source[T] {
	rest := vs
	return stage.SourceFunc(func(ctx context.Context, dst []T) (int, error) {
		if len(rest) > 0 {
			n := copy(dst, rest)
			rest = rest[n:]
			return n, nil
		}
		<-ctx.Done()
		return 0, context.Cause(ctx)
	})
}

// blocked is a source that waits for the end of its context.
func blocked(ctx context.Context, _ []int) (int, error) {
	<-ctx.Done()
	return 0, context.Cause(ctx)
}

// hang waits for the end of ctx.
func hang(ctx context.Context, _ int) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// trouble is one of the ways in which user code does not return.
type trouble struct {
	name string
	do   func()
	is   error // what the cause must be; nil: any panic
}

var errThrown = errors.New("thrown")

func troubles() []trouble {
	return []trouble{
		{"panic with a value", func() { panic("boom") }, nil},
		{"panic with an error", func() { panic(errThrown) }, errThrown},
		{"panic with nil", func() { panic(nil) }, nil},
		{"Goexit", runtime.Goexit, stage.ErrGoexit},
	}
}

// inBubble runs fn in a bubble with virtual time, which also fails when a goroutine is left over.
func inBubble(t *testing.T, name string, fn func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, fn) })
}
