package stagetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
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
	if !bubble {
		fn(t)
		return
	}
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		before := inThisBubble()
		t.Cleanup(func() { // behind all others
			if wrong := leftBehind(before); wrong != "" {
				t.Error(wrong)
			}
		})
		fn(t)
	})
}

// leftBehind describes the goroutines that the caller's bubble has not had before, "" if there are none. What synctest says of them is
// a panic that ends all tests.
func leftBehind(before map[string]string) string {
	synctest.Wait()
	left := since(before)
	if len(left) == 0 {
		return ""
	}
	return fmt.Sprintf("%d goroutines are left when the check is over, and synctest will panic. One of them:\n%s", len(left), left[0])
}

// inThisBubble returns the stacks of the caller's bubble, by goroutine. A dump of all goroutines begins with the caller.
func inThisBubble() map[string]string {
	buf := make([]byte, 1<<18)
	n := runtime.Stack(buf, true)
	for ; n == len(buf); n = runtime.Stack(buf, true) {
		buf = make([]byte, 2*len(buf))
	}
	dump := string(buf[:n])
	_, id, _ := strings.Cut(dump, "synctest bubble ")
	id, _, _ = strings.Cut(id, "]")
	stacks := make(map[string]string)
	for stack := range strings.SplitSeq(dump, "\n\n") {
		if head, _, _ := strings.Cut(stack, "\n"); strings.Contains(head, "synctest bubble "+id+"]") {
			name, _, _ := strings.Cut(head, " [")
			stacks[name] = stack
		}
	}
	return stacks
}

// since returns the stacks of the goroutines that the caller's bubble has now and had not before.
func since(before map[string]string) (stacks []string) {
	for name, stack := range inThisBubble() {
		if _, had := before[name]; !had {
			stacks = append(stacks, stack)
		}
	}
	return stacks
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
		return fmt.Sprintf("did not return within %v", o.took)
	case o.panicked != nil:
		return o.panicked.Error()
	default:
		return ""
	}
}

// call runs fn in a goroutine of its own and waits for it.
func call(fn func() (int, error)) outcome { return await(start(fn), patience) }

// callWaiting is call for what may wait for the outside.
func callWaiting(bubble bool, fn func() (int, error)) outcome {
	return await(start(fn), ending(bubble))
}

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

func await(done <-chan outcome, limit time.Duration) outcome {
	select {
	case o := <-done:
		return o
	case <-time.After(limit):
		return outcome{hung: true, took: limit}
	}
}

// ending is how long a run may take to its end, and a call that may wait. Virtual time costs nothing, and a part that asks somewhere once
// a minute is healthy.
func ending(bubble bool) time.Duration {
	if bubble {
		return 3 * time.Hour
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
