package stagetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

const patience = 10 * time.Second // for a call that should not wait at all

var errCause = errors.New("stagetest: the context was cancelled")

// check is one subtest. run returns what it has found.
type check struct {
	rule, name string
	lacks      string // the option that is missing, "" if nothing is
	run        func(t *testing.T) []error
}

func (c check) report(t *testing.T) {
	t.Helper()
	for _, err := range c.run(t) {
		if l, ok := errors.AsType[lacking](err); ok {
			t.Skip(l)
		}
		t.Error(err)
	}
}

// lacking is what a check returns that needs more than the part has.
type lacking string

func (l lacking) Error() string { return "needs " + string(l) }

// runChecks makes a subtest of each check.
func runChecks(t *testing.T, checks []check, bubble bool, skip map[string]string) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.rule+" "+c.name, func(t *testing.T) {
			if why, ok := skip[c.rule]; ok {
				t.Skipf("left out by the options: %s", why)
			}
			if c.lacks != "" {
				t.Skipf("needs the option %s", c.lacks)
			}
			inBubble(t, bubble, c.report)
		})
	}
}

func inBubble(t *testing.T, bubble bool, fn func(t *testing.T)) {
	t.Helper()
	if bubble {
		synctest.Test(t, fn)
		return
	}
	fn(t)
}

// checkSkips finds rules that nobody checks, and reasons that are not given.
func checkSkips(t *testing.T, checks []check, skip map[string]string) {
	t.Helper()
	known := make(map[string]bool)
	for _, c := range checks {
		known[c.rule] = true
	}
	for rule, why := range skip {
		if !known[rule] {
			t.Errorf("Skip names the rule %q, which the kit does not have", rule)
		}
		if why == "" {
			t.Errorf("Skip of %s needs a reason", rule)
		}
	}
}

// outcome is how a call of foreign code went.
type outcome struct {
	n        int
	err      error
	hung     bool
	panicked error // nil if the call returned
	took     time.Duration
}

// unexpected describes a call that did not return.
func (o outcome) unexpected() string {
	switch {
	case o.hung:
		return fmt.Sprintf("did not return within %v", patience)
	case o.panicked != nil:
		return o.panicked.Error()
	default:
		return ""
	}
}

// call runs fn in a goroutine of its own and waits for it.
func call(fn func() (int, error)) outcome { return await(start(fn)) }

// start runs fn in a goroutine of its own.
func start(fn func() (int, error)) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		began := time.Now()
		o := outcome{panicked: errors.New("ended its goroutine with runtime.Goexit")}
		defer func() {
			if v := recover(); v != nil {
				o.panicked = fmt.Errorf("panicked: %v\n%s", v, debug.Stack())
			}
			o.took = time.Since(began)
			done <- o
		}()
		n, err := fn()
		o = outcome{n: n, err: err}
	}()
	return done
}

func await(done <-chan outcome) outcome {
	select {
	case o := <-done:
		return o
	case <-time.After(patience):
		return outcome{hung: true, took: patience}
	}
}

// ending is how long a run may take to its end.
func ending(bubble bool) time.Duration {
	if bubble {
		return 10 * time.Minute
	}
	return patience
}

// within reports whether done is closed within limit.
func within(limit time.Duration, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-time.After(limit):
		return false
	}
}

// settle lets started calls get to where they wait.
func settle(bubble bool) {
	if bubble {
		synctest.Wait()
		return
	}
	time.Sleep(20 * time.Millisecond)
}

// prompt is how long a call may take after its context is done. Real clocks on busy machines get more than the rule says.
func prompt(bubble bool) time.Duration {
	if bubble {
		return 100 * time.Millisecond
	}
	return time.Second
}

// cancelled returns a context that is done with errCause.
func cancelled(parent context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(parent)
	cancel(errCause)
	return ctx
}

// closeTwice closes a part that can be closed, and reports what goes wrong.
func closeTwice(part any) error {
	c, ok := part.(io.Closer)
	if !ok {
		return nil
	}
	for _, which := range []string{"first", "second"} {
		o := call(func() (int, error) { return 0, c.Close() })
		if s := o.unexpected(); s != "" {
			return fmt.Errorf("the %s Close %s", which, s)
		}
		if o.err != nil {
			return fmt.Errorf("the %s Close returned %w", which, o.err)
		}
	}
	return nil
}
