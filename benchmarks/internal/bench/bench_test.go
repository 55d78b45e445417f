package bench_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/benchmarks/internal/bench"
)

// taking is a side whose trials take so long an item, in virtual time.
func taking(perItem time.Duration) bench.Side {
	return func(n int) bench.Trial {
		return bench.Trial{Run: func() error {
			time.Sleep(time.Duration(n) * perItem)
			return nil
		}}
	}
}

func pair(weir, baseline bench.Side, target float64) []bench.Case {
	return []bench.Case{{
		Row: "X1", What: "x", Against: "y", Figures: bench.PerItem(target), Items: 10, Weir: weir, Baseline: baseline,
	}}
}

func TestARowIsJudgedByItsRatio(t *testing.T) {
	for _, c := range []struct {
		target float64
		met    bool
	}{{0.5, true}, {0.49, false}, {0, true}} {
		synctest.Test(t, func(t *testing.T) {
			results, rounds, err := bench.Run(pair(taking(time.Second), taking(2*time.Second), c.target), 7, time.Now().Add(time.Hour))
			if err != nil {
				t.Fatalf("Run() = %v, want nil", err)
			}
			if rounds != 7 || len(results) != 1 {
				t.Fatalf("got %d results of %d rounds, want 1 of 7", len(results), rounds)
			}
			if r := results[0]; r.Value != "0.50 x" || r.Met != c.met || r.Spread != "0.50..0.50" {
				t.Errorf("target %v: got %+v, want 0.50 x, met %v, without spread", c.target, r, c.met)
			}
			if bench.Met(results) != c.met {
				t.Errorf("target %v: Met() = %v, want %v", c.target, !c.met, c.met)
			}
		})
	}
}

func TestWhatIsAddedIsJudgedByTheDifference(t *testing.T) {
	for _, c := range []struct {
		extra float64
		met   bool
	}{{1e9, true}, {1e9 - 1, false}} {
		synctest.Test(t, func(t *testing.T) {
			cases := pair(taking(3*time.Second), taking(2*time.Second), 0)
			cases[0].Figures = []bench.Figure{{Unit: "ns/item", Extra: c.extra, Goal: 60}}
			results, _, err := bench.Run(cases, 7, time.Now().Add(time.Hour))
			if err != nil {
				t.Fatalf("Run() = %v, want nil", err)
			}
			if r := results[0]; r.Value != "+1000000000.0 ns/item" || r.Met != c.met || !strings.HasSuffix(r.Target, " ns/item, goal 60") {
				t.Errorf("extra %v: got %+v, want a second more, met %v, and the goal", c.extra, r, c.met)
			}
		})
	}
}

func TestTheIntervalIsThatOfTheMiddleHalf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		round := 0
		weir := func(n int) bench.Trial { // the rounds behind the warm-up take 1 to 8 seconds an item
			d := time.Duration(n) * time.Duration(round) * time.Second
			round++
			return bench.Trial{Run: func() error { time.Sleep(d); return nil }}
		}
		results, _, err := bench.Run(pair(weir, taking(time.Second), 0), 8, time.Now().Add(time.Hour))
		if err != nil {
			t.Fatalf("Run() = %v, want nil", err)
		}
		if r := results[0]; r.Interval != "3.00..7.00" || r.Spread != "1.00..8.00" {
			t.Errorf("got the quartiles %q and the spread %q, want 3.00..7.00 and 1.00..8.00", r.Interval, r.Spread)
		}
	})
}

func TestProcessorTimeLeavesOutWaiting(t *testing.T) {
	x := uint64(1)
	busy := func(int) bench.Trial {
		return bench.Trial{Run: func() error {
			for range 20_000_000 {
				x ^= x << 13
				x ^= x >> 7
				x ^= x << 17
			}
			return nil
		}}
	}
	cases := pair(taking(time.Millisecond), busy, 0.5)
	cases[0].Figures = []bench.Figure{{Name: "cpu", Unit: "ns/item", Target: 0.5, CPU: true}}
	results, _, err := bench.Run(cases, 7, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatalf("Run() = %v, want nil", err)
	}
	if r := results[0]; r.Row != "X1 cpu" || !r.Met {
		t.Errorf("got %+v, want a sleep to take less than half of what a loop takes", r)
	}
}

func TestEachRoundIsSetUpAndEachTrialClosed(t *testing.T) {
	var log []string
	side := func(name string) bench.Side {
		return func(int) bench.Trial {
			return bench.Trial{
				Run:   func() error { return nil },
				Close: func() error { log = append(log, name); return nil },
			}
		}
	}
	cases := pair(side("w"), side("b"), 0)
	cases[0].AllocItems = 3
	cases[0].Setup = func(n int) (func() error, error) {
		log = append(log, fmt.Sprint("(", n))
		return func() error { log = append(log, ")"); return nil }, nil
	}
	if _, _, err := bench.Run(cases, 7, time.Now().Add(time.Hour)); err != nil {
		t.Fatalf("Run() = %v, want nil", err)
	}
	if want := strings.Repeat("(10wb)(10bw)", 4) + "(3www)"; strings.Join(log, "") != want {
		t.Errorf("got %q, want %q", strings.Join(log, ""), want)
	}
}

func TestWhatCanNotBePreparedOrClosedFailsTheBenchmark(t *testing.T) {
	wrong := errors.New("no server")
	ok := func() error { return nil }
	fails := func() error { return wrong }
	for name, change := range map[string]func(*bench.Case){
		"setup": func(c *bench.Case) { c.Setup = func(int) (func() error, error) { return nil, wrong } },
		"stop":  func(c *bench.Case) { c.Setup = func(int) (func() error, error) { return fails, nil } },
		"close": func(c *bench.Case) {
			c.Weir = func(int) bench.Trial { return bench.Trial{Run: ok, Close: fails} }
		},
	} {
		cases := pair(taking(0), taking(0), 0)
		change(&cases[0])
		if _, _, err := bench.Run(cases, 7, time.Now().Add(time.Hour)); !errors.Is(err, wrong) {
			t.Errorf("%s: Run() = %v, want %v", name, err, wrong)
		}
		if err := cases[0].Try(1); !errors.Is(err, wrong) {
			t.Errorf("%s: Try() = %v, want %v", name, err, wrong)
		}
	}
}

func TestTheWarmUpRoundDoesNotCountAndTheSidesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		side := func(name string) bench.Side {
			return func(int) bench.Trial {
				return bench.Trial{Run: func() error {
					order = append(order, name)
					if len(order) <= 2 {
						time.Sleep(time.Hour) // a cold start
					}
					time.Sleep(time.Second)
					return nil
				}}
			}
		}
		results, _, err := bench.Run(pair(side("w"), side("b"), 1), 7, time.Now().Add(24*time.Hour))
		if err != nil {
			t.Fatalf("Run() = %v, want nil", err)
		}
		if got, want := strings.Join(order[:6], ""), "wbbwwb"; got != want || len(order) != 16 {
			t.Errorf("the trials were %q and %d in all, want %q and 16", got, len(order), want)
		}
		if got, want := results[0].Weir, "100000000 ns/item"; got != want {
			t.Errorf("weir took %q, want %q", got, want)
		}
	})
}

func TestTheDeadlineShortensARunButNotBelowTheLeastNumberOfRounds(t *testing.T) {
	for _, c := range []struct {
		seconds int
		rounds  int // 0: an error
	}{{1000, 20}, {10 * 20, 9}, {4 * 20, 0}} {
		synctest.Test(t, func(t *testing.T) {
			within := time.Duration(c.seconds) * time.Second
			_, rounds, err := bench.Run(pair(taking(time.Second), taking(time.Second), 1), 20, time.Now().Add(within))
			if (err != nil) != (c.rounds == 0) || err == nil && rounds != c.rounds {
				t.Errorf("within %v: got %d rounds and error %v, want %d", within, rounds, err, c.rounds)
			}
		})
	}
}

func TestALostItemFailsTheBenchmark(t *testing.T) {
	lost := errors.New("an item is missing")
	bad := func(int) bench.Trial {
		return bench.Trial{Run: func() error { return nil }, Verify: func() error { return lost }}
	}
	for name, cases := range map[string][]bench.Case{"weir": pair(bad, taking(0), 1), "baseline": pair(taking(0), bad, 1)} {
		_, _, err := bench.Run(cases, 7, time.Now().Add(time.Hour))
		if !errors.Is(err, lost) || !strings.Contains(err.Error(), "X1: "+name) {
			t.Errorf("Run() = %v, want an error of X1: %s", err, name)
		}
	}
}

func TestAllocationsAreCountedToFourDecimals(t *testing.T) {
	var keep []*int
	side := func(n int) bench.Trial {
		return bench.Trial{Run: func() error {
			for i := range n / 2 {
				keep = append(keep[:0], new(i))
			}
			return nil
		}}
	}
	cases := pair(side, side, 100)
	cases[0].AllocItems, cases[0].NoAllocs = 1_000_000, true
	results, _, err := bench.Run(cases, 7, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatalf("Run() = %v, want nil", err)
	}
	if r := results[0]; r.Allocs != "0.5000" || r.Met {
		t.Errorf("got %s allocations, met %v, want 0.5000 and a miss", r.Allocs, r.Met)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := bench.Median(c.in); got != c.want {
			t.Errorf("Median(%v) = %v, want %v", c.in, got, c.want)
		}
	}
}

func TestQuantile(t *testing.T) {
	vs := make([]int, 100)
	for i := range vs {
		vs[i] = i
	}
	for q, want := range map[float64]int{0: 0, 0.5: 50, 0.99: 99, 1: 99} {
		if got := bench.Quantile(vs, q); got != want {
			t.Errorf("Quantile(0..99, %v) = %v, want %v", q, got, want)
		}
	}
}

func TestLinesAndTable(t *testing.T) {
	met := bench.Result{
		Row: "P1", What: "hop", Against: "channels", Value: "0.12 x", Target: "<= 0.15", Met: true,
		Interval: "0.12..0.13", Spread: "0.11..0.14", Weir: "28.1 ns/item", Baseline: "232 ns/item", Allocs: "0.0000",
	}
	missed, reported := met, met
	missed.Met, reported.Target = false, "none"
	if got, want := met.String(), "P1             0.12 x (target 0.15) met, 0.0000 allocs"; !strings.HasPrefix(got, want) {
		t.Errorf("String() = %q, want it to begin with %q", got, want)
	}
	for _, want := range []string{"0.11..0.14", "0.12..0.13", "28.1 ns/item", "232 ns/item"} {
		if !strings.Contains(met.String(), want) {
			t.Errorf("String() = %q, want %q in it", met.String(), want)
		}
	}
	table := bench.Markdown([]bench.Result{met, missed, reported}, 9, time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC))
	for _, want := range []string{
		"2027-01-02", "Medians of 9 interleaved rounds", bench.Machine(),
		"| P1 | hop | channels | 0.12 x | <= 0.15 | met | 0.12..0.13 | 0.11..0.14 | 28.1 ns/item | 232 ns/item | 0.0000 |",
		"| 0.12 x | <= 0.15 | **missed** |", "| 0.12 x | none | reported |",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	if results := []bench.Result{met, missed}; bench.Met(results) || !bench.Met(results[:1]) {
		t.Errorf("Met() = %v with a miss, %v without, want false and true", bench.Met(results), bench.Met(results[:1]))
	}
}

func TestATailIsMissedIfMostRoundsExceedTheTarget(t *testing.T) {
	for _, c := range []struct {
		low int // rounds below the target
		met bool
	}{{0, false}, {2, false}, {3, true}, {9, true}} {
		round := -1
		weir := func(int) bench.Trial {
			return bench.Trial{Run: func() error { round++; return nil }, Figures: func() []float64 {
				if round <= c.low {
					return []float64{9}
				}
				return []float64{11}
			}}
		}
		baseline := func(int) bench.Trial {
			return bench.Trial{Run: func() error { return nil }, Figures: func() []float64 { return []float64{10} }}
		}
		cases := pair(weir, baseline, 1)
		cases[0].Figures[0].Noisy = true
		results, _, err := bench.Run(cases, 9, time.Now().Add(time.Hour))
		if err != nil {
			t.Fatalf("Run() = %v, want nil", err)
		}
		if results[0].Met != c.met {
			t.Errorf("with %d of 9 rounds below the target: met is %v, want %v", c.low, results[0].Met, c.met)
		}
	}
}

func TestATrialHasAFigureForEachOfTheCase(t *testing.T) {
	side := func(p50, p99 float64) bench.Side {
		return func(int) bench.Trial {
			return bench.Trial{Run: func() error { return nil }, Figures: func() []float64 { return []float64{p50, p99} }}
		}
	}
	cases := pair(side(10, 90), side(20, 60), 0)
	cases[0].Figures = []bench.Figure{{Name: "p50", Unit: "us", Target: 1}, {Name: "p99", Unit: "us", Target: 1}}
	results, _, err := bench.Run(cases, 7, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatalf("Run() = %v, want nil", err)
	}
	var got []string
	for _, r := range results {
		got = append(got, r.Row+" "+r.Value)
	}
	if want := []string{"X1 p50 0.50 x", "X1 p99 1.50 x"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
