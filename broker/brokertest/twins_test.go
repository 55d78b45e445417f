package brokertest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weir-go/weir/broker/memory"
)

var errBoom = errors.New("boom")

// twin is package memory with one thing broken, and the check that must find it.
type twin struct {
	check, breaks string
	change        func(s *memory.Stream, c Config, h *Stream)
}

var twins = slices.Concat(fetchTwins, settleTwins, sendTwins, faultTwins)

// findings runs the check of a twin.
func (tw twin) findings(t *testing.T) (errs []error, c check) {
	t.Helper()
	i := slices.IndexFunc(checks, func(c check) bool { return c.rule+" "+c.name == tw.check })
	if i < 0 {
		t.Fatalf("there is no check %q", tw.check)
	}
	errs, lacks := checks[i].run(t, Adapter{
		Features: Features{Bubble: true, DropsOldest: true, Bytes: true},
		New: func(t *testing.T, c Config) Stream {
			t.Helper()
			s := newMemory(c)
			h := hooks(s, c)
			tw.change(s, c, &h)
			return h
		},
	})
	if lacks != "" {
		t.Fatalf("the check was skipped: it needs %s", lacks)
	}
	return errs, checks[i]
}

// TestTwins lists each twin under the check that must find it. The original, of which nothing is to be found, comes first.
func TestTwins(t *testing.T) {
	t.Run("none: keeps every rule", func(t *testing.T) { Test(t, inMemory(true)) })
	for _, tw := range twins {
		t.Run(tw.check+": "+tw.breaks, func(t *testing.T) {
			errs, c := tw.findings(t)
			if len(errs) == 0 {
				t.Fatal("the kit has not found it")
			}
			t.Log(errs[0])
			quotes := func(err error) bool { return strings.Contains(err.Error(), rules[c.rule]) }
			if !slices.ContainsFunc(errs, quotes) {
				t.Fatalf("no finding quotes rule %s: %v", c.rule, errs)
			}
		})
	}
}

func TestEveryCheckHasATwin(t *testing.T) {
	for _, c := range checks {
		if !slices.ContainsFunc(twins, func(tw twin) bool { return tw.check == c.rule+" "+c.name }) {
			t.Errorf("no twin for the check %s %s", c.rule, c.name)
		}
	}
}
