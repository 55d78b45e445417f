package main

import (
	"os"
	"strings"
	"testing"
)

// The guide has one row for each experiment, in the order of the catalogue.
func TestTheGuideHasTheExperiments(t *testing.T) {
	const guide = "../../docs/overload.md"
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## The experiments\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var rows []string
	for line := range strings.Lines(section) {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " |"); ok && strings.HasPrefix(name, "N") {
			rows = append(rows, name)
			if cells := strings.Count(line, " | "); cells != 3 {
				t.Errorf("the row of %s has %d cells, want 4: name, what, expected, measured", name, cells+1)
			}
		}
	}
	if got, want := strings.Join(rows, ", "), names(experiments()); got != want {
		t.Errorf("%s has the rows %s, want %s", guide, got, want)
	}
}
