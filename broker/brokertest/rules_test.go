package brokertest

import (
	"os"
	"strings"
	"testing"
)

// sentences that have no number in the contract.
var unnumbered = map[string]bool{"limits": true, "delivery": true}

func TestRulesAreThoseOfTheContract(t *testing.T) {
	var docs strings.Builder
	for _, file := range []string{"../contract.go", "../delivery.go", "doc.go"} {
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
			t.Errorf("the documentation does not say %q", want)
		}
	}
}

func TestEveryRuleHasACheck(t *testing.T) {
	have := make(map[string]bool)
	for _, c := range checks {
		if rules[c.rule] == "" {
			t.Errorf("the check %s %s is of no rule", c.rule, c.name)
		}
		have[c.rule] = true
	}
	for rule := range rules {
		if !have[rule] {
			t.Errorf("no check of %s", rule)
		}
	}
}
