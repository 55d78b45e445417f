// Package virtual gives a program the clock of testing/synctest: an hour passes as soon as everybody waits for it.
package virtual

import (
	"os"
	"testing"
	"testing/synctest"
)

// Bubble runs fn in virtual time, and waits until it and all goroutines it has started have ended. Its channels and timers must not leave it.
type Bubble func(fn func())

// Main runs a program in which there are bubbles, and exits with what it returns. A bubble belongs to a test, so the program is run as the
// one test of package testing, which wants no arguments of its own: read the command line before.
func Main(program func(Bubble) int) {
	os.Args = os.Args[:1]
	testing.Main(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "program", F: func(t *testing.T) {
		os.Exit(program(For(t)))
	}}}, nil, nil)
}

// For returns the bubbles of a test.
func For(t *testing.T) Bubble {
	t.Helper()
	return func(fn func()) {
		t.Helper()
		synctest.Test(t, func(*testing.T) { fn() })
	}
}
