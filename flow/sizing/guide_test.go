package sizing_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
	for _, example := range strings.Split(read(t, "example_test.go"), "\nfunc Example")[1:] {
		_, body, _ := strings.Cut(example, "{\n")
		body, _, _ = strings.Cut(body, "\n}\n")
		bodies[strings.ReplaceAll("\n"+body, "\n\t", "\n")] = true
	}
	programs := strings.Split(read(t, "../../docs/sizing.md"), "```go")[1:]
	for _, program := range programs {
		program, _, _ = strings.Cut(program, "\n```")
		if !strings.Contains(program, "// Output:") {
			t.Errorf("no output:%s", program)
		}
		if !bodies[program] {
			t.Errorf("no example is%s", program)
		}
	}
	if len(programs) < 15 || len(bodies) < 15 {
		t.Errorf("%d programs and %d examples were found, want at least 15 of each: they are not understood", len(programs), len(bodies))
	}
}

// Every exported function has an example, a place in the guide, and a comment with its formula, its limits, its errors and its source.
func TestEveryFunctionIsDocumented(t *testing.T) {
	examples, guide := read(t, "example_test.go"), read(t, "../../docs/sizing.md")
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !fn.Name.IsExported() || strings.HasSuffix(path, "_test.go") {
				continue
			}
			found++
			name := fn.Name.Name
			if !strings.Contains(examples, "\nfunc Example"+name+"() {") {
				t.Errorf("%s has no example", name)
			}
			if !strings.Contains(guide, "`"+name+"`") {
				t.Errorf("docs/sizing.md does not name %s", name)
			}
			for _, key := range []string{"Formula:", "Limits:", "Errors:", "Source:"} {
				if !strings.Contains(fn.Doc.Text(), "\n\t"+key) {
					t.Errorf("the comment of %s has no line %s", name, key)
				}
			}
		}
	}
	if found < 14 {
		t.Errorf("%d functions were found, want at least 14: the source is not understood", found)
	}
}
