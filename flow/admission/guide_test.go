package admission_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-go/weir/flow/admission"
)

const guide = "../../docs/admission.md"

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The programs of the guide are those of the examples, to the letter, their output included, which `go test` compares.
func TestTheGuideHasTheExamples(t *testing.T) {
	bodies := make(map[string]bool)
	for _, path := range []string{"example_test.go", "grpcadmission/example_test.go"} {
		for _, example := range strings.Split(read(t, path), "\nfunc Example")[1:] {
			_, body, _ := strings.Cut(example, "{\n")
			body, _, _ = strings.Cut(body, "\n}\n")
			bodies[strings.ReplaceAll("\n"+body, "\n\t", "\n")] = true
		}
	}
	programs := strings.Split(read(t, guide), "```go")[1:]
	for _, program := range programs {
		program, _, _ = strings.Cut(program, "\n```")
		if !strings.Contains(program, "// Output:") || !bodies[program] {
			t.Errorf("no example, or no output:%s", program)
		}
	}
	if len(programs) < 11 || len(bodies) < 11 {
		t.Errorf("%d programs and %d examples were found, want at least 11 of each: they are not understood", len(programs), len(bodies))
	}
}

// table returns the rows of the table whose first header cell is head, without code marks: first cell to the others.
func table(t *testing.T, head string) map[string][]string {
	t.Helper()
	rows := map[string][]string{}
	_, text, ok := strings.Cut(read(t, guide), "\n| "+head+" |")
	if !ok {
		t.Fatalf("there is no table of %s", head)
	}
	for _, line := range strings.Split(text, "\n")[2:] {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		for i := range cells {
			cells[i] = strings.Trim(cells[i], "` ")
		}
		rows[cells[0]] = cells[1:]
	}
	return rows
}

// Each constant for a header is in one of the tables, with its name.
func TestTheGuideHasTheHeaders(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "headers.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	rows := table(t, "constant | header of a request")
	maps.Copy(rows, table(t, "constant | header of an answer"))
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Header") {
			return true
		}
		found++
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		name := spec.Names[0].Name
		if cells := rows[name]; len(cells) != 2 || cells[0] != value {
			t.Errorf("the row of %s is %v, want %q", name, cells, value)
		}
		delete(rows, name)
		return true
	})
	if found < 13 || len(rows) > 0 {
		t.Errorf("%d constants were found; there are none for %v", found, rows)
	}
}

// Each reason is in the table, with the status that it has.
func TestTheGuideHasTheReasons(t *testing.T) {
	rows := table(t, "reason")
	for why := admission.Reason(0); why <= admission.ReasonThrottled; why++ {
		want := []string{"503", "UNAVAILABLE"}
		switch {
		case why.Personal():
			want = []string{"429", "RESOURCE_EXHAUSTED"}
		case why == admission.ReasonThrottled:
			want = []string{"not sent", "not sent"}
		}
		if cells := rows[why.String()]; len(cells) != 3 || cells[0] != want[0] || cells[1] != want[1] {
			t.Errorf("the row of %v is %v, want %v", why, cells, want)
		}
		delete(rows, why.String())
	}
	if len(rows) > 0 {
		t.Errorf("there are no reasons %v", rows)
	}
}

// Each setting is in its table, and nothing else is.
func TestTheGuideHasTheSettings(t *testing.T) {
	for _, cfg := range []any{admission.Config{}, admission.CallerConfig{}, admission.SpendConfig{}, admission.ListenerConfig{}} {
		typ := reflect.TypeOf(cfg)
		rows := table(t, "of `"+typ.Name()+"`")
		for field := range typ.Fields() {
			name := field.Name
			if len(rows[name]) != 1 {
				t.Errorf("%s.%s is not in its table", typ.Name(), name)
			}
			delete(rows, name)
		}
		if len(rows) > 0 {
			t.Errorf("%s has no %v", typ.Name(), rows)
		}
	}
	stats := reflect.TypeFor[admission.Stats]()
	for names := range table(t, "of `Gate.Stats`") {
		for name := range strings.SplitSeq(strings.ReplaceAll(names, "`", ""), ", ") {
			if _, ok := stats.FieldByName(name); !ok {
				t.Errorf("Stats has no %s", name)
			}
		}
	}
}
