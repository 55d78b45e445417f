package brokertest

import (
	"errors"
	"slices"
	"strconv"
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
	return tw.found(t, checks[i]), checks[i]
}

// found runs a check on a twin.
func (tw twin) found(t *testing.T, c check) []error {
	t.Helper()
	errs, lacks := c.run(t, Adapter{
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
	return errs
}

// byNumber are twins that break what one number is about, and nothing else that has a number.
var byNumber = []struct {
	number, check, breaks string
	also                  []string // numbers which depend on that
}{
	{"31", "ack after success only", "takes the first acknowledgement for one of all", nil},
	{"32", "kill and resume", "keeps acknowledgements for later", nil},
	{"33", "down at start", "fails at once", nil},
	{"34", "restart", "takes it for an error", nil},
	{"35", "ack while down is not counted", "forgets it", nil},
	{"36", "deleted stream", "takes it for the end", nil},
	{"37", "keep-alive during long work", "gives no sign of life", []string{"38"}}, // of the dead letter
	{"38", "poison: one dead letter", "fails what is terminated", nil},
	{"39", "nak always delayed", "ignores the delay", nil},
	{"40", "oversize", "sends nothing with it", nil},
	{"41", "stable identity", "has its own", nil},
	{"42", "a drain that runs out of time", "gives it back later", nil},
	{"43", "in-flight limit large enough for the graph", "hands out one less than its limit", nil},
}

// TestTwinsAreFoundByTheirNumber runs all numbered checks on a twin for each number: the others find nothing in it.
func TestTwinsAreFoundByTheirNumber(t *testing.T) {
	for i, n := range byNumber {
		if n.number != strconv.Itoa(31+i) {
			t.Fatalf("number %s at place %d", n.number, 31+i)
		}
		t.Run(n.number+" "+n.check+": "+n.breaks, func(t *testing.T) {
			at := slices.IndexFunc(twins, func(tw twin) bool { return tw.check == n.number+" "+n.check && tw.breaks == n.breaks })
			by := map[string][]error{}
			for _, c := range checks {
				if _, err := strconv.Atoi(c.rule); err == nil {
					by[c.rule] = append(by[c.rule], twins[at].found(t, c)...)
				}
			}
			for number, errs := range by {
				want := number == n.number || slices.Contains(n.also, number)
				switch {
				case len(errs) > 0 && !want:
					t.Errorf("found by %s as well: %v", number, errs[0])
				case len(errs) == 0 && want:
					t.Errorf("not found by %s", number)
				case want:
					t.Log(errs[0])
				}
			}
		})
	}
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
