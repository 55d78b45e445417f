package flow_test

import (
	"os"
	"strings"
	"testing"
)

// The programs in docs/calls.md are those of the examples, to the letter.
func TestTheGuideToCallsHasTheExamples(t *testing.T) {
	guide, err := os.ReadFile("../docs/calls.md")
	must(t, err)
	var code strings.Builder
	for _, file := range []string{"calls_example_test.go", "scatter_example_test.go"} {
		text, err := os.ReadFile(file)
		must(t, err)
		code.Write(text)
	}
	blocks := strings.Split(string(guide), "```go\n")[1:]
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		if !strings.Contains(code.String(), block) {
			t.Errorf("no example has\n%s", block)
		}
	}
	if len(blocks) < 2 {
		t.Errorf("%d programs were found, want at least 2", len(blocks))
	}
}
