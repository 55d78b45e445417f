package flow_test

import (
	"context"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/flow"
)

// hostileNames are what somebody might try as the name of a stage.
var hostileNames = []string{
	"", " ", "a b", "a\nb", "a\r", "a\x00", "\x1b[31m", `a"b`, "a'b", "a\\b", "<script>alert(1)</script>", "a-->b", "a;b", "a|b", "a]b", "#quot;",
	"&quot;", "&#34;", "../x", "ü", "\u202e", "%s", strings.Repeat("n", 65),
}

// Names that are not plain are refused when the pipeline is built, and the error that says so is of one line for each.
func TestHostileNamesAreRefused(t *testing.T) {
	for _, name := range hostileNames {
		err := flow.FromSlice(ints(1), flow.Name(name)).ForEach(func(context.Context, int) error { return nil }).Check()
		if err == nil {
			t.Errorf("the name %q is accepted", name)
		} else if text := err.Error(); strings.ContainsAny(text, "\n\r\x00\x1b\u202e") {
			t.Errorf("the name %q is in an error as it is: %q", name, text)
		}
	}
}

// The text of a graph parses back into its names, of whatever they are made. None adds a line, a stage or an arrow, or ends its quotes.
func TestGraphTextParsesBack(t *testing.T) {
	character := rapid.OneOf(rapid.Rune(), rapid.RuneFrom([]rune("\"'\\#&;<>[]{}()|-=.\n\r\t%`")))
	name := rapid.OneOf(rapid.SampledFrom(hostileNames), rapid.StringOfN(character, 0, 20, -1))
	rapid.Check(t, func(rt *rapid.T) {
		names := rapid.SliceOfNDistinct(name, 2, 5, rapid.ID[string]).Draw(rt, "names")
		edge := name.Draw(rt, "edge")
		g := flow.Graph{Edges: []flow.GraphEdge{{Name: edge, From: names[:1], To: names[1:2], Capacity: 7}}, Fused: [][2]string{{names[0], names[1]}}}
		for _, n := range names {
			g.Stages = append(g.Stages, flow.GraphStage{Name: n})
		}
		label := edge + " 7 block"
		mermaid := regexp.MustCompile(`^  s\d+(?:\["(.*)"\]| --> s\d+| ==>\|"(.*)"\| s\d+)$`)
		parsesBack(rt, g.Mermaid(), "flowchart LR\n", "", mermaid, func(s string) string {
			return html.UnescapeString(strings.ReplaceAll(s, "#", "&#"))
		}, append(slices.Clone(names), "", label))
		dot := regexp.MustCompile(`^  s\d+(?: \[label="(.*)"\];| -> s\d+;| -> s\d+ \[style=bold, label="(.*)"\];)$`)
		parsesBack(rt, g.DOT(), "digraph weir {\n  rankdir=LR;\n  node [shape=box];\n", "}\n", dot, html.UnescapeString, append(slices.Clone(names), "", label))
	})
}

// parsesBack fails the test unless text is, between head and tail, a line for each of the labels.
func parsesBack(t *rapid.T, text, head, tail string, line *regexp.Regexp, unquote func(string) string, labels []string) {
	t.Helper()
	body, begins := strings.CutPrefix(text, head)
	body, ends := strings.CutSuffix(body, tail)
	if !begins || !ends {
		t.Fatalf("the graph is %q", text)
	}
	lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	if len(lines) != len(labels) {
		t.Fatalf("%d lines, want %d: %q", len(lines), len(labels), text)
	}
	for i, l := range lines {
		m := line.FindStringSubmatch(l)
		if m == nil || strings.ContainsAny(m[1]+m[2], "\"\\<") {
			t.Fatalf("line %q is not understood", l)
		}
		got, want := unquote(m[1]+m[2]), asText(labels[i])
		if i == len(lines)-1 { // the label of an edge goes on behind its policy
			got = got[:min(len(got), len(want))]
		}
		if got != want {
			t.Fatalf("line %q says %q, want %q", l, got, want)
		}
	}
}

// asText is what HTML makes of characters that it does not have.
func asText(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < 0x80 {
			b.WriteString(html.UnescapeString(fmt.Sprintf("&#%d;", r)))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
