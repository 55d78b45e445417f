package admission_test

import (
	"context"
	"errors"
	"time"

	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/stage"
)

// checker is a test, also one of rapid.
type checker interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// refusal returns the refusal that err must be.
func refusal(t checker, err error) *admission.Refusal {
	t.Helper()
	r, ok := errors.AsType[*admission.Refusal](err)
	if !ok {
		t.Fatalf("got %v, want a refusal", err)
	}
	return r
}

// wantReason checks why err refuses.
func wantReason(t checker, err error, why admission.Reason) {
	t.Helper()
	if r := refusal(t, err); r.Reason != why {
		t.Fatalf("refused for %v, want %v", r.Reason, why)
	}
}

// with returns a context with metadata.
func with(m stage.Meta) context.Context {
	return stage.WithMeta(context.Background(), m)
}

// of returns a context with a class.
func of(c stage.Criticality) context.Context { return with(stage.Meta{Criticality: c}) }

// admit lets n in, who must be.
func admit(ctx context.Context, t checker, g *admission.Gate, n int) []admission.Permit {
	t.Helper()
	permits := make([]admission.Permit, n)
	for i := range permits {
		p, err := g.Admit(ctx)
		if err != nil {
			t.Fatalf("number %d is not let in: %v", i+1, err)
		}
		permits[i] = p
	}
	return permits
}

func release(permits ...admission.Permit) {
	for _, p := range permits {
		p.Release()
	}
}

// work sends n through the gate, one after the other, each of which takes d.
func work(t checker, g *admission.Gate, n int, d time.Duration) {
	t.Helper()
	for range n {
		p := admit(context.Background(), t, g, 1)
		time.Sleep(d)
		release(p...)
	}
}

func equal[T comparable](t checker, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}
