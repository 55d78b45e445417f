package flow_test

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weir-go/weir/flow"
)

// runTimeReport is how the report of a run begins, beside the findings of builds.
const runTimeReport = "flow: deadlock after "

// The report in docs/deadlock.md is the one that the graph beside it gives, to the letter.
func TestDocumentedReport(t *testing.T) {
	text, err := os.ReadFile("../docs/deadlock.md")
	must(t, err)
	_, rest, _ := strings.Cut(string(text), runTimeReport)
	want, _, found := strings.Cut(runTimeReport+rest, "\n```")
	if !found {
		t.Fatal("there is no report in the document")
	}
	synctest.Test(t, func(t *testing.T) {
		copies := countUp("orders").Broadcast(2, flow.Name("copies"))
		audited := copies[0].Via(swallow, flow.Name("audit"))
		p := discard(audited.ZipWith(copies[1].Buffer(10, flow.Block, flow.Name("direct")), total, flow.Name("pairs")))
		if got := deadlock(t, p.Run(t.Context())).Error(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}
