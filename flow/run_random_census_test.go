package flow_test

import (
	"flag"
	"sync"
	"testing"
)

// census counts what random graphs were made of, and what happened in them. A nil one counts nothing.
type census struct {
	mu    sync.Mutex
	times map[string]int
}

func newCensus() *census { return &census{times: map[string]int{}} }

func (c *census) note(what string) {
	if c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.times[what]++
	}
}

// check fails the test unless everything that there is has occurred. Fewer graphs than usual are not checked, and those of one seed,
// which are the same for each fault.
func (c *census) check(t *testing.T) {
	t.Helper()
	if c.times["graph"] < 100*3*len(faults) || flag.Lookup("rapid.seed").Value.String() != "0" {
		return
	}
	want := []string{"look", "idle", "not idle", "beat", "conflated", "resumed", "left hub", "left subscriber", "nothing inside"}
	for _, kind := range kinds(allOperators()) {
		want = append(want, "operator "+kind)
	}
	for _, kind := range kinds(sourceKinds()) {
		want = append(want, "source "+kind)
	}
	for _, kind := range mainSinks("none") {
		want = append(want, "sink "+kind)
	}
	for _, what := range want {
		if c.times[what] == 0 {
			t.Errorf("%q did not occur in %d random graphs", what, c.times["graph"])
		}
	}
}
