// Command bench measures weir against what one would write without it, and fails where a target is missed.
//
//	go run ./benchmarks/cmd/bench                       every row
//	go run ./benchmarks/cmd/bench -rows P1,P2 -rounds 21
//	go run ./benchmarks/cmd/bench -write benchmarks/RESULTS.md
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/weir-go/weir/benchmarks/internal/bench"
	"github.com/weir-go/weir/benchmarks/internal/cases"
)

func main() {
	cases.Memory().Child()
	rounds := flag.Int("rounds", 9, "rounds to measure, at least 7; one more to warm up")
	rows := flag.String("rows", "", "rows to measure, such as P1,P2; all of them by default")
	within := flag.Duration("within", 150*time.Second, "time for all rounds: what does not fit is left out, down to 7 rounds")
	write := flag.String("write", "", "file to write the table to; only for a run of all rows")
	flag.Parse()
	met, err := run(*rounds, *rows, *within, *write)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if !met {
		os.Exit(1)
	}
}

// run measures the rows and prints them. It reports whether all targets are met.
func run(rounds int, rows string, within time.Duration, write string) (met bool, err error) {
	if rounds < bench.MinRounds {
		return false, fmt.Errorf("-rounds must be >= %d, got %d", bench.MinRounds, rounds)
	}
	if rows != "" && write != "" {
		return false, errors.New("-write is for a run of all rows")
	}
	chosen, memory, err := choose(rows)
	if err != nil {
		return false, err
	}
	fmt.Println(bench.Machine())
	results, done, err := bench.Run(chosen, rounds, time.Now().Add(within))
	if err != nil {
		return false, err
	}
	if memory {
		r, err := cases.Memory().Measure(3)
		switch {
		case errors.Is(err, bench.ErrNoPeak):
			fmt.Printf("%s is not measured: %v\n", cases.Memory().Row, err)
		case err != nil:
			return false, err
		default:
			results = append(results, r)
		}
	}
	for _, r := range results {
		fmt.Println(r)
	}
	fmt.Printf("medians of %d rounds; behind them their quartiles, their least and greatest value, and the absolute figures\n", done)
	if write != "" {
		err = os.WriteFile(write, []byte(bench.Markdown(results, done, time.Now())), 0o644)
	}
	return bench.Met(results), err
}

// choose returns the cases of the rows, and whether the memory row is one of them.
func choose(rows string) (chosen []bench.Case, memory bool, err error) {
	all := cases.All()
	if rows == "" {
		return all, true, nil
	}
	for want := range strings.SplitSeq(rows, ",") {
		found := false
		for _, c := range all {
			// "P3" is both of its variants.
			if row, _, _ := strings.Cut(c.Row, " "); want == row || want == c.Row {
				chosen, found = append(chosen, c), true
			}
		}
		if want == cases.Memory().Row {
			memory, found = true, true
		}
		if !found {
			return nil, false, fmt.Errorf("there is no row %q; the rows are %s", want, names(all))
		}
	}
	return chosen, memory, nil
}

func names(all []bench.Case) string {
	var rows []string
	for _, c := range all {
		row, _, _ := strings.Cut(c.Row, " ")
		rows = append(rows, row)
	}
	return strings.Join(append(slices.Compact(rows), cases.Memory().Row), ", ")
}
