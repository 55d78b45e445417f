package stagetest_test

import (
	"os"
	"strings"
	"testing"
)

// The programs in docs/testing.md are those of the examples of this package, to the letter.
func TestDocumentedProgramsAreTheExamples(t *testing.T) {
	text, err := os.ReadFile("../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	programs := strings.Split(string(text), "```go\n")[1:]
	if len(programs) < 5 {
		t.Fatalf("found %d programs, want one for each kind of part", len(programs))
	}
	for _, p := range programs {
		p, _, _ = strings.Cut(p, "```")
		if !strings.Contains(string(examples), p) {
			t.Errorf("no example has\n%s", p)
		}
	}
}

// The documentation has each check that is counted.
func TestDocumentedChecks(t *testing.T) {
	text, err := os.ReadFile("../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"TestSource", "TestStage", "TestOperator", "TestSink", "TestEdge", "TestPublisher"} {
		if !strings.Contains(string(text), "stagetest."+name) {
			t.Errorf("docs/testing.md does not name %s", name)
		}
	}
}
