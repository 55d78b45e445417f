package stagetest

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"
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

func TestValuesInMessages(t *testing.T) {
	type order struct{ ID int }
	for _, c := range []struct {
		v    any
		want string
	}{
		{7, "7"},
		{"", `""`},
		{"two\nlines", `"two\nlines"`},
		{[]byte("row"), `"row"`},
		{order{3}, "{ID:3}"},
		{strings.Repeat("x", 1<<20), `"` + strings.Repeat("x", 199) + "..."},
	} {
		if got := shown(c.v); got != c.want {
			t.Errorf("shown(%.20v) = %s, want %s", c.v, got, c.want)
		}
	}
	if got, want := allShown([]string{"a", ""}), `["a" ""]`; got != want {
		t.Errorf("allShown() = %s, want %s", got, want)
	}
}

func TestAGoroutineThatIsLeftIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, over := inThisBubble(), make(chan struct{})
		go waitFor(over)
		if got := leftBehind(before); !strings.Contains(got, "1 goroutines") || !strings.Contains(got, "waitFor") {
			t.Errorf("leftBehind() = %q, want the stack of one goroutine", got)
		}
		close(over)
		if got := leftBehind(before); got != "" {
			t.Errorf("leftBehind() = %q, want nothing", got)
		}
	})
}

func waitFor(over chan struct{}) { <-over }
