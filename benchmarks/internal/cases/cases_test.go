package cases_test

import (
	"testing"

	"github.com/weir-go/weir/benchmarks/internal/bench"
	"github.com/weir-go/weir/benchmarks/internal/cases"
)

func TestBothSidesOfEachCaseDeliverWhatTheyShould(t *testing.T) {
	for _, c := range cases.All() {
		t.Run(c.Row, func(t *testing.T) {
			for _, n := range []int{1, 2, 300} {
				if err := c.Try(n); err != nil {
					t.Errorf("Try(%d) = %v, want nil", n, err)
				}
			}
		})
	}
}

func TestTheMemoryRowDeliversWhatItShould(t *testing.T) {
	if err := cases.Memory().Run(3000); err != nil {
		t.Errorf("Run(3000) = %v, want nil", err)
	}
}

func TestEachRowSaysWhatItIs(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range cases.All() {
		if seen[c.Row] || c.Row == "" {
			t.Errorf("the row %q is there twice, or has no name", c.Row)
		}
		seen[c.Row] = true
		if c.What == "" || c.Against == "" || c.Items <= 0 || len(c.Figures) == 0 {
			t.Errorf("%s: it does not say what it is", c.Row)
		}
		for _, f := range c.Figures {
			if f.Target < 0 || f.Unit == "" {
				t.Errorf("%s %s: target %v %q, want a number that is not negative, with a unit", c.Row, f.Name, f.Target, f.Unit)
			}
		}
		if c.NoAllocs && c.AllocItems == 0 {
			t.Errorf("%s: it may not allocate, and nobody counts", c.Row)
		}
	}
}

// BenchmarkCases is for profiles: go test ./benchmarks/internal/cases -run '^$' -bench 'Cases/P2/weir' -cpuprofile cpu.prof
func BenchmarkCases(b *testing.B) {
	for _, c := range cases.All() {
		for name, side := range map[string]bench.Side{"weir": c.Weir, "baseline": c.Baseline} {
			b.Run(c.Row+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				if c.Setup != nil {
					stop, err := c.Setup(c.Items)
					if err != nil {
						b.Fatalf("Setup() = %v, want nil", err)
					}
					b.Cleanup(func() { _ = stop() })
				}
				for b.Loop() {
					t := side(c.Items)
					if err := t.Run(); err != nil {
						b.Fatalf("Run() = %v, want nil", err)
					}
					if t.Close != nil {
						_ = t.Close()
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*c.Items), "ns/item")
			})
		}
	}
}
