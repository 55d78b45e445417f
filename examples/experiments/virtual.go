package main

import (
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// inVirtualTime calls fn, inside which [bubble] works, and returns what it returns. Virtual time comes from testing/synctest, which
// asks for a test: package testing can run one in any program.
func inVirtualTime(fn func() int) (code int) {
	os.Args = os.Args[:1] // what is left is read as flags of a test
	testing.Main(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "experiments", F: func(t *testing.T) {
		bubble = inBubble(t)
		os.Exit(fn())
	}}}, nil, nil)
	return 1
}

// bubble runs fn with a clock that stands still while anybody has something to do.
var bubble func(fn func())

func inBubble(t *testing.T) func(fn func()) {
	return func(fn func()) { synctest.Test(t, func(*testing.T) { fn() }) }
}

// realTime is the clock on the wall. It is read outside of bubbles only.
func realTime() time.Time { return time.Now() }
