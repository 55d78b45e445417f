package flow_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

const overloadFile = "../docs/overload.md"

// Order is what docs/overload.md orders.
type Order struct{ by string }

// Tenant is whose it is.
func (o Order) Tenant() string { return o.by }

// documentedEdge is the edge of docs/overload.md, to the letter.
func documentedEdge() flow.Edge[Order] {
	work := flow.Edge[Order]{
		Name: "work", Capacity: 200, Target: 20, OnFull: flow.DropNewest,
		Discipline:    flow.FairBy(Order.Tenant),
		CoDel:         flow.CoDelFor(500 * time.Millisecond),
		SettleDropped: flow.Nak(time.Second),
	}
	return work
}

func TestTheDocumentedEdgeIsBuilt(t *testing.T) {
	must(t, flow.FromSlice([]Order{{"a"}}).Edge(documentedEdge()).To(stage.Discard[Order]()).Check())
	text, source := read(t, overloadFile), read(t, "overload_docs_test.go")
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(text, -1)
	if len(blocks) != 1 {
		t.Fatalf("%s has %d programs, want 1: this test knows one", overloadFile, len(blocks))
	}
	for line := range strings.Lines(blocks[0][1]) {
		if !strings.Contains(source, line) {
			t.Errorf("%s: %q is not in documentedEdge", overloadFile, line)
		}
	}
}

// Every test that docs/overload.md names exists, and so does every field of the statistics.
func TestWhatTheOverloadGuideNamesExists(t *testing.T) {
	text := read(t, overloadFile)
	var tests, fields strings.Builder
	for _, pattern := range []string{
		"*_test.go", "*/*_test.go", "*/*/*_test.go", "../internal/*/*_test.go", "../broker/*_test.go", "../examples/experiments/*_test.go",
	} {
		paths, err := filepath.Glob(pattern)
		must(t, err)
		for _, path := range paths {
			tests.WriteString(read(t, path))
		}
	}
	for _, path := range []string{"stats.go", "edge_signals.go"} {
		fields.WriteString(read(t, path))
	}
	names := regexp.MustCompile(`(?:Test|Example)[A-Z][A-Za-z0-9]+`).FindAllString(text, -1)
	if len(names) < 10 {
		t.Fatalf("%s names %d tests, want at least 10: it is not understood", overloadFile, len(names))
	}
	for _, name := range names {
		if !strings.Contains(tests.String(), "\nfunc "+name) {
			t.Errorf("%s names %s, which is no test", overloadFile, name)
		}
	}
	_, signals, _ := strings.Cut(text, "### What an edge says")
	signals, _, _ = strings.Cut(signals, "## What guards it")
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Za-z]+)`(?:, `([A-Za-z]+)`)? \\|").FindAllStringSubmatch(signals, -1) {
		for _, name := range m[1:] {
			if !regexp.MustCompile(`\b` + name + `\b`).MatchString(fields.String()) {
				t.Errorf("%s names %s, which no statistics have", overloadFile, name)
			}
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}
