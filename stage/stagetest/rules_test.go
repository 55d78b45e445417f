package stagetest

import (
	"os"
	"strings"
	"testing"
)

var unnumbered = map[string]bool{"demand": true, "left": true, "ctx": true, "second": true}

func TestRulesAreThoseOfTheContracts(t *testing.T) {
	var docs strings.Builder
	for _, file := range []string{"../source.go", "../sink.go", "../push.go", "doc.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		docs.WriteString(strings.Join(strings.Fields(strings.ReplaceAll(string(text), "//", "")), " "))
	}
	for name, rule := range rules {
		want := rule
		if !unnumbered[name] {
			want = name + " " + rule
		}
		if !strings.Contains(docs.String(), want) {
			t.Errorf("package stage does not say %q", want)
		}
	}
}

func TestEveryRuleHasACheck(t *testing.T) {
	have := map[string]bool{"K2": true} // a rule for callers
	for _, c := range newSourceKit(SourceOptions[int]{}, nil).checks() {
		have[c.rule] = true
	}
	for _, c := range newSinkKit(SinkOptions[int]{}, nil).checks() {
		have[c.rule] = true
	}
	for _, c := range newPublisherKit(PublisherOptions[int]{}, nil).checks() {
		have[c.rule] = true
	}
	for _, c := range newStageKit(StageOptions[int, int]{}, nil).checks() {
		have[c.rule] = true
	}
	for _, c := range newEdgeKit(EdgeOptions[int]{}, nil).checks() {
		have[c.rule] = true
	}
	for rule := range rules {
		if !have[rule] {
			t.Errorf("no check of %s", rule)
		}
	}
}
