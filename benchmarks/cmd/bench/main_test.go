package main

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-go/weir/benchmarks/internal/bench"
	"github.com/weir-go/weir/benchmarks/internal/cases"
)

func TestMain(m *testing.M) {
	cases.Memory().Child() // the memory row runs this program again
	goleak.VerifyTestMain(m)
}

func TestRowsAreChosenByName(t *testing.T) {
	for _, c := range []struct {
		rows   string
		want   string
		memory bool
	}{
		{"P1", "P1 P1 watch", false},
		{"P2b,P1", "P2b P1 P1 watch", false},
		{"P3", "P3 unordered P3 ordered", false},
		{"P3 ordered,P7", "P3 ordered", true},
	} {
		chosen, memory, err := choose(c.rows)
		var got []string
		for _, k := range chosen {
			got = append(got, k.Row)
		}
		if err != nil || strings.Join(got, " ") != c.want || memory != c.memory {
			t.Errorf("choose(%q) = %q, %v, %v, want %q, %v", c.rows, got, memory, err, c.want, c.memory)
		}
	}
	if all, memory, err := choose(""); err != nil || len(all) != len(cases.All()) || !memory {
		t.Errorf(`choose("") = %d rows, %v, %v, want all`, len(all), memory, err)
	}
}

func TestMistakesInTheFlagsAreNamed(t *testing.T) {
	for _, c := range []struct {
		rounds      int
		rows, write string
		want        string
	}{
		{9, "P99", "", `there is no row "P99"; the rows are P1, `},
		{3, "", "", "-rounds must be >= 7, got 3"},
		{9, "P1", "x.md", "-write is for a run of all rows"},
	} {
		if _, err := run(c.rounds, c.rows, time.Second, c.write); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("run(%d, %q, %q) = %v, want %q", c.rounds, c.rows, c.write, err, c.want)
		}
	}
}

func TestTheMemoryRowRunsChildren(t *testing.T) {
	m := cases.Memory()
	m.Short, m.Long, m.Target = 1000, 2000, 1000
	r, err := m.Measure(1)
	if runtime.GOOS != "linux" {
		if !errors.Is(err, bench.ErrNoPeak) {
			t.Errorf("Measure(1) = %v, want %v", err, bench.ErrNoPeak)
		}
		return
	}
	if err != nil {
		t.Fatalf("Measure(1) = %v, want nil", err)
	}
	if r.Row != "P7" || !strings.HasSuffix(r.Value, " MiB") || r.Baseline == "" {
		t.Errorf("Measure(1) = %+v, want megabytes of P7 and of an idle process", r)
	}
}
