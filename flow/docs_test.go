package flow_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// The documentation rule. Reflection does not see generic methods, so these tests parse the source.
//
// Everything that a user of the chain types has a doc comment and a row in docs/operators.md: each exported function of the
// package, each exported method of Flow, Inlet.Flow, what returns a flow of a hub, and each exported constant. All of these have an Example with an Output
// as well, except for the constants that the user only reads (the drop reasons, DefaultCapacity):
//
//   - for a function F: ExampleF, or ExampleF_suffix,
//   - for a method M of T: ExampleT_M, or ExampleT_M_suffix; for Inlet.Flow that of NewInlet does, and so for hubs,
//   - for a constant C: any Example with the suffix of its name, ExamplePolicy_dropOldest for DropOldest, so that package
//     documentation shows it, which has no place for examples of constants.
//
// The doc comment of an operator has lines of the template (see CONTRIBUTING.md), preformatted:
//
//   - what makes a Flow of a Flow: at least Shape and Errors,
//   - a source, a sink, Join, and what else is a method of Flow: at least Ends and Errors.
type entry struct {
	name    string   // as in the table: f.Map, flow.From, flow.Block
	doc     string   // raw comment
	keys    []string // lines of the template that it must have
	example func(name string) bool
}

func TestEverythingIsDocumented(t *testing.T) {
	docs := readDocs(t)
	if len(docs.entries) < 50 || len(docs.examples) < 50 {
		t.Fatalf("found %d entries and %d examples, want at least 50: the source is not understood", len(docs.entries), len(docs.examples))
	}
	for _, text := range docs.missing() {
		t.Error(text)
	}
}

func TestEveryRowIsOfSomethingThatExists(t *testing.T) {
	docs := readDocs(t)
	for name := range docs.rows {
		if !slices.Contains(docs.known, name) {
			t.Errorf("docs/operators.md has a row for %s, want rows of what the package exports only", name)
		}
	}
}

func TestMissingDocumentationIsFound(t *testing.T) {
	tests := []struct {
		name   string
		damage func(d *documentation)
		want   string
	}{
		{"a row", func(d *documentation) { delete(d.rows, "f.Batch") }, "f.Batch has no row in docs/operators.md"},
		{"the row of a constant", func(d *documentation) { delete(d.rows, "flow.Term") }, "flow.Term has no row in docs/operators.md"},
		{"an example", func(d *documentation) { delete(d.examples, "ExampleMerge") }, "flow.Merge has no Example with an Output"},
		{"the example of a constant", func(d *documentation) { delete(d.examples, "ExamplePolicy_reject") }, "flow.Reject has no Example with an Output"},
		{"a doc comment", func(d *documentation) { d.entry("flow.Retry").doc = "" }, "flow.Retry has no doc comment"},
		{"a line of the template", func(d *documentation) {
			e := d.entry("f.Map")
			e.doc = strings.ReplaceAll(e.doc, "//\tShape:", "// Shape:")
		}, "the doc comment of f.Map has no preformatted line Shape:"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			docs := readDocs(t)
			tt.damage(docs)
			if got := docs.missing(); !slices.Contains(got, tt.want) {
				t.Fatalf("missing() = %q, want %q among them", got, tt.want)
			}
		})
	}
}

func TestTemplateIsPreformattedAndFits(t *testing.T) {
	const widest = 130
	run := regexp.MustCompile(`(?m)^// *(Shape|Emits|Backpressure|Ends|Errors|Ownership|Claims|Concurrency|Cost|Source): `)
	for _, f := range parseFiles(t, "*.go") {
		for _, group := range f.Comments {
			for _, c := range group.List {
				if m := run.FindString(c.Text); m != "" {
					t.Errorf("%s: %q is not indented by a tab, and go doc would join it with the next line", f.Name, m)
				}
				if w := utf8.RuneCountInString(strings.ReplaceAll(c.Text, "\t", "      ")); strings.HasPrefix(c.Text, "//\t") && w >= widest {
					t.Errorf("%q has %d columns, want less than %d", c.Text, w, widest)
				}
			}
		}
	}
}

// documentation is what there is, and what there must be.
type documentation struct {
	entries  []*entry
	known    []string // names that a row may have
	examples map[string]bool
	rows     map[string]bool
}

func (d *documentation) entry(name string) *entry {
	i := slices.IndexFunc(d.entries, func(e *entry) bool { return e.name == name })
	return d.entries[i]
}

var templateLine = regexp.MustCompile(`(?m)^//\t((?:[A-Z][a-z]+, )*[A-Z][a-z]+): +\S`)

// missing returns a sentence for everything that is not there.
func (d *documentation) missing() (texts []string) {
	for _, e := range d.entries {
		if e.doc == "" {
			texts = append(texts, e.name+" has no doc comment")
		}
		var have []string
		for _, m := range templateLine.FindAllStringSubmatch(e.doc, -1) {
			have = append(have, strings.Split(m[1], ", ")...)
		}
		for _, key := range e.keys {
			if !slices.Contains(have, key) {
				texts = append(texts, "the doc comment of "+e.name+" has no preformatted line "+key+":")
			}
		}
		if e.example != nil && !slices.ContainsFunc(slices.Collect(maps.Keys(d.examples)), e.example) {
			texts = append(texts, e.name+" has no Example with an Output")
		}
		if !d.rows[e.name] {
			texts = append(texts, e.name+" has no row in docs/operators.md")
		}
	}
	return texts
}
