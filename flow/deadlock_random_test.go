package flow_test

import (
	"flag"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
)

// lastMoves is how long other workers of the same operators may go on when those in a circle wait.
const lastMoves = 10 * time.Millisecond

var knotGraphs = flag.Int("knots", 60, "how many random graphs that may stand still are run")

// deadlocksIn returns all deadlocks that err tells of.
func deadlocksIn(err error) (all []*flow.DeadlockError) {
	if e, ok := err.(*flow.DeadlockError); ok { //nolint:errorlint // it looks at every error, also at joined ones
		return []*flow.DeadlockError{e}
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			all = append(all, deadlocksIn(e)...)
		}
	}
	return all
}

// circle is how the model tells of a deadlock.
func circle(e *flow.DeadlockError) (all []string) {
	for _, h := range e.Hops {
		all = append(all, h.Waits+" "+h.Edge)
	}
	return all
}

var laneNumber = regexp.MustCompile(`\.lane\.\d+$`)

// sortedCircles turns each circle so that its least hop comes first, and sorts them. All lanes of an operator are one.
func sortedCircles(all [][]string) [][]string {
	for i, c := range all {
		for k := range c {
			c[k] = laneNumber.ReplaceAllString(c[k], ".lane")
		}
		all[i] = turned(c, slices.Min(c))
	}
	slices.SortFunc(all, slices.Compare)
	return all
}

// Random diamonds inside diamonds, of batches, skips, workers and small edges. Whether one stands still, and who waits for whom then, is what
// a model of it says, which moves numbers one by one and knows nothing of goroutines. The run must say the same, with the second
// look behind the moment from which nothing moves, and nothing where the model goes on. The model is one of lanes that get a single key:
// with others a graph may go on, or stand still elsewhere. -knots is the number of graphs, -sketch the seed of the first.
func TestRandomGraphsThatStandStillSaySo(t *testing.T) {
	first := firstSketch()
	stuck, circles := 0, 0
	for i := range *knotGraphs {
		seed := first + uint64(i)
		s := newSketch(seed, allDear, nil)
		want := sortedCircles(flow.ModelKnots(s.pipeline(), false))
		synctest.Test(t, func(t *testing.T) {
			err := flow.Trusting(newSketch(seed, allDear, nil).pipeline()).Run(t.Context())
			found := deadlocksIn(err)
			if (err == nil) != (len(found) == 0) {
				t.Fatalf("seed %d: got error %v", seed, err)
			}
			var got [][]string
			for _, e := range found {
				got = append(got, circle(e))
				latest := slices.MinFunc(e.Hops, func(a, b flow.DeadlockHop) int { return int(a.For - b.For) })
				if latest.For > 2*time.Second+lastMoves {
					t.Errorf("seed %d: found %v after nothing moved any more\n%v", seed, latest.For, e)
				}
			}
			if s.spread && len(want) > 0 {
				return
			}
			if (len(got) == 0) != (len(want) == 0) {
				t.Fatalf("seed %d: circles\n%q, want\n%q\n%v", seed, got, want, err)
			}
			for _, c := range sortedCircles(got) { // perhaps not all: one that stands still may keep the items from another part
				if !slices.ContainsFunc(want, func(w []string) bool { return slices.Equal(w, c) }) {
					t.Fatalf("seed %d: circle\n%q, want one of\n%q\n%v", seed, c, want, err)
				}
			}
		})
		if len(want) > 0 {
			stuck++
		}
		circles += len(want)
	}
	t.Logf("%d of %d stood still, with %d circles", stuck, *knotGraphs, circles)
	if n := *knotGraphs; stuck < n/20 || stuck > n*9/10 {
		t.Error("the graphs are too much alike to say anything")
	}
}
