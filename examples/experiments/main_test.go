package main

import (
	"bytes"
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-go/weir/examples/internal/virtual"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestExperiments runs all of them with few items; the tolerances grow with the scatter of the figures.
func TestExperiments(t *testing.T) {
	bubble = virtual.For(t)
	for _, e := range experiments() {
		var out bytes.Buffer
		r := report{w: &out, name: e.name}
		if err := e.run(&r, scale{size: tiny, seed: 1}); err != nil {
			t.Fatalf("%s: %v", e.name, err)
		}
		if r.bad > 0 || r.all == 0 {
			t.Errorf("%s: %d of %d figures are out:\n%s", e.name, r.bad, r.all, out.String())
		}
	}
}

// A bound that is one place off is seen: N3 judges the bound, not the noise.
func TestABoundThatIsOffIsOut(t *testing.T) {
	bubble = virtual.For(t)
	c := custom{rate: 130, service: 10 * time.Millisecond, servers: 1, k: 20, items: 40_000}
	want, err := theory(c)
	if err != nil {
		t.Fatal(err)
	}
	for k, bad := range map[int]bool{20: false, 21: true, 19: true} {
		var out bytes.Buffer
		r := report{w: &out}
		c.k = k
		if err := c.compare(&r, "", want, 1); err != nil {
			t.Fatal(err)
		}
		if (r.bad > 0) != bad {
			t.Errorf("with K=%d %d of %d figures are out, want some: %t\n%s", k, r.bad, r.all, bad, out.String())
		}
	}
}

func TestCommandLine(t *testing.T) {
	bubble = virtual.For(t)
	for line, want := range map[string]string{
		"-only N9999":                          `experiments: no "N9999"; there are N1, `,
		"-rate 0 -k 7":                         "rate must be",
		"-rate 90 -k 1":                        "-k must be above -servers",
		"-rate 90 -k 7 -items 10":              "-items must be at least 1000",
		"-rate 90 -service -1s -k 7":           "service must be",
		"-rate 90 -k 7 -items 5000":            "K=7 expected 35.82ms",
		"-only N4":                             "N4 wait of the newest",
		"-rate 90 -items 2000 -seed 2":         "90/s, 1 x 10ms",
		"-rate 90 -servers 2 -k 4 -items 4000": "90/s, 2 x 10ms, K=4",
	} {
		o, err := parse(strings.Fields(line))
		if err != nil {
			t.Errorf("%s: parse() = %v", line, err)
			continue
		}
		o.scale.size = tiny
		var out bytes.Buffer
		if err := o.run(&report{w: &out}); err != nil {
			out.WriteString(err.Error())
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: printed %q, want %q in it", line, out.String(), want)
		}
	}
	if _, err := parse([]string{"more"}); err == nil {
		t.Error("parse(more) = nil, want an error")
	}
	if _, err := parse([]string{"-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("parse(-h) = %v, want flag.ErrHelp", err)
	}
}

func TestStatusCountsWhatIsOut(t *testing.T) {
	var out bytes.Buffer
	r := report{w: &out, name: "N0"}
	r.near("a", "ms", 1, 1.5, 1)
	if r.status() != 0 {
		t.Errorf("status() = 1 behind %q, want 0", out.String())
	}
	r.most("b", "", 1, 2)
	r.least("c", "s", 1, 0.5)
	if r.status() != 1 || !strings.Contains(out.String(), "2 of 3 figures are out") {
		t.Errorf("status() behind %q, want 1 and 2 of 3", out.String())
	}
}
