package flow_test

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weir-go/weir/flow"
)

// documented are the graphs of docs/deadlock.md.
func documented() []flow.Pipeline {
	orders := func() flow.Flow[int] { return countUp("orders") }
	copies := func() []flow.Flow[int] { return orders().Broadcast(2, flow.Name("copies")) }
	var ps []flow.Pipeline
	{
		c := copies()
		ps = append(ps, discard(c[0].ZipWith(c[1].Filter(even, flow.Name("paid")), total, flow.Name("pairs"))))
	}
	{
		c := copies()
		ps = append(ps, discard(c[0].ZipWith(c[1].Buffer(10, flow.DropOldest, flow.Name("recent")), total, flow.Name("pairs"))))
	}
	{
		c := copies()
		sums := c[0].Batch(100, 0).Map(size)
		ps = append(ps, discard(sums.ZipWith(c[1], total, flow.Name("pairs"))))
	}
	{
		c := copies()
		looked := c[0].Batch(100, 0).FlatMap(flatten)
		ps = append(ps, discard(looked.ZipWith(c[1].Buffer(10, flow.Block, flow.Name("direct")), total, flow.Name("pairs"))))
	}
	{
		c := copies()
		ps = append(ps, discard(c[0].ZipWith(c[1].Skip(500), total, flow.Name("pairs"))))
	}
	{
		first, rest := orders().Split(even, flow.Name("urgent"))
		ps = append(ps, discard(first.Concat(rest)))
	}
	{
		ours, theirs := orders().Split(even, flow.Name("ours"))
		ps = append(ps, discard(ours.MergeSorted(cmp.Compare[int], theirs)))
	}
	return append(append(ps, documentedLoops()...), keptByBoth(100, 60, 60))
}

// Every finding in docs/deadlock.md is one that the graph beside it gives, to the letter but for the lines.
func TestDocumentedDeadlocks(t *testing.T) {
	text, err := os.ReadFile("../docs/deadlock.md")
	must(t, err)
	var got, want []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "flow: ") && !strings.HasPrefix(line, runTimeReport) {
			want = append(want, lineOf.ReplaceAllString(strings.TrimSpace(line), "(%)"))
		}
	}
	for _, p := range documented() {
		err := p.Check()
		if err == nil {
			t.Fatal("a graph is not refused")
		}
		got = append(got, lineOf.ReplaceAllString(err.Error(), "(%)"))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
