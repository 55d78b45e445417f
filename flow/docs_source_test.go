package flow_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

const operatorsFile = "../docs/operators.md"

// readDocs reads the package, its examples and the tables.
func readDocs(t *testing.T) *documentation {
	t.Helper()
	d := &documentation{examples: map[string]bool{}, rows: tableRows(t)}
	kinds := constantTypes(parseFiles(t, "../internal/queue/*.go"), nil)
	files := parseFiles(t, "*.go")
	kinds = constantTypes(files, kinds)
	for _, f := range files {
		for _, decl := range f.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				d.addFunc(decl)
			case *ast.GenDecl:
				d.addGen(decl, kinds)
			}
		}
	}
	for _, ex := range doc.Examples(parseFiles(t, "*_test.go")...) {
		if ex.Output != "" {
			d.examples["Example"+ex.Name] = true
		}
	}
	return d
}

// addFunc adds a function or method.
func (d *documentation) addFunc(fn *ast.FuncDecl) {
	if !fn.Name.IsExported() {
		return
	}
	name, recv := fn.Name.Name, receiver(fn)
	if recv != "" {
		d.known = append(d.known, map[string]string{"Flow": "f.", "Inlet": "in.", "MergeHub": "hub.", "BroadcastHub": "hub."}[recv]+name)
	}
	e := &entry{doc: commentText(fn.Doc)}
	switch {
	case recv == "Inlet" && name == "Flow":
		e.name, e.keys, e.example = "in.Flow", []string{"Ends", "Errors"}, named("NewInlet")
	case recv == "MergeHub" && name == "Flow", recv == "BroadcastHub" && name == "Attach":
		e.name, e.keys, e.example = "hub."+name, []string{"Ends", "Errors"}, named("New"+recv)
	case recv == "Flow":
		e.name, e.keys, e.example = "f."+name, operatorKeys(fn, true), named("Flow_"+name)
	case recv == "":
		e.name, e.keys, e.example = "flow."+name, operatorKeys(fn, takes(fn, "Flow")), named(name)
	default:
		return
	}
	d.entries, d.known = append(d.entries, e), append(d.known, e.name)
}

// operatorKeys returns the lines of the template for a function, none if it is no operator.
func operatorKeys(fn *ast.FuncDecl, ofFlow bool) []string {
	makes := returns(fn, "Flow")
	switch {
	case makes && ofFlow:
		return []string{"Shape", "Errors"}
	case makes, ofFlow, returns(fn, "Pipeline"):
		return []string{"Ends", "Errors"}
	}
	return nil
}

// addGen adds constants, and the fields of Edge.
func (d *documentation) addGen(decl *ast.GenDecl, kinds map[string]string) {
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if st, ok := spec.Type.(*ast.StructType); ok && spec.Name.Name == "Edge" {
				for _, field := range st.Fields.List {
					for _, id := range field.Names {
						d.known = append(d.known, "Edge."+id.Name)
					}
				}
			}
		case *ast.ValueSpec:
			for _, id := range spec.Names {
				if decl.Tok != token.CONST || !id.IsExported() {
					continue
				}
				text := commentText(spec.Doc) + commentText(spec.Comment)
				if len(decl.Specs) == 1 {
					text += commentText(decl.Doc)
				}
				e := &entry{name: "flow." + id.Name, doc: text}
				if kind := kinds[id.Name]; kind != "Reason" && kind != "" {
					e.example = suffixed(id.Name)
				}
				d.entries, d.known = append(d.entries, e), append(d.known, e.name)
			}
		}
	}
}

// named matches the examples of an identifier.
func named(id string) func(string) bool {
	return func(example string) bool {
		rest, ok := strings.CutPrefix(example, "Example"+id)
		return ok && (rest == "" || len(rest) > 1 && rest[0] == '_' && unicode.IsLower(rune(rest[1])))
	}
}

// suffixed matches the examples of a constant.
func suffixed(id string) func(string) bool {
	return func(example string) bool { return strings.HasSuffix(example, "_"+strings.ToLower(id[:1])+id[1:]) }
}

// constantTypes returns the names of the types of typed constants. One that re-exports another has the type of that.
func constantTypes(files []*ast.File, others map[string]string) map[string]string {
	types := map[string]string{}
	for _, f := range files {
		for _, decl := range f.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.CONST {
				continue
			}
			last := ""
			for _, spec := range gen.Specs {
				vs := spec.(*ast.ValueSpec)
				if vs.Type != nil || len(vs.Values) > 0 {
					last = baseType(vs.Type)
				}
				for i, id := range vs.Names {
					types[id.Name] = last
					if i < len(vs.Values) {
						if sel, ok := vs.Values[i].(*ast.SelectorExpr); ok {
							types[id.Name] = others[sel.Sel.Name]
						}
					}
				}
			}
		}
	}
	return types
}

var tableRow = regexp.MustCompile("^\\| `([A-Za-z0-9.]+)[^`]*` \\|")

// tableRows returns the names in the first columns of the tables.
func tableRows(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(operatorsFile)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	columns := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			columns = 0
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if columns == 0 {
			columns = len(cells)
		}
		if len(cells) != columns || slices.ContainsFunc(cells, func(c string) bool { return strings.TrimSpace(c) == "" }) {
			t.Errorf("docs/operators.md: %q, want %d cells with text", line, columns)
		}
		if m := tableRow.FindStringSubmatch(line); m != nil {
			if rows[m[1]] {
				t.Errorf("docs/operators.md has two rows for %s, want one", m[1])
			}
			rows[m[1]] = true
		}
	}
	return rows
}

// parseFiles parses the files that match, tests only where the pattern asks for them.
func parseFiles(t *testing.T, pattern string) (files []*ast.File) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("Glob(%q) = %q, %v, want files", pattern, paths, err)
	}
	fset := token.NewFileSet()
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") != strings.HasSuffix(pattern, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// receiver returns the type of a method's receiver, "" for a function.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	return baseType(fn.Recv.List[0].Type)
}

// returns reports whether fn returns one of a type, or a slice of it.
func returns(fn *ast.FuncDecl, name string) bool { return mentions(fn.Type.Results, name) }

// takes reports whether fn has a parameter of a type, or several.
func takes(fn *ast.FuncDecl, name string) bool { return mentions(fn.Type.Params, name) }

func mentions(fields *ast.FieldList, name string) bool {
	return fields != nil && slices.ContainsFunc(fields.List, func(f *ast.Field) bool { return baseType(f.Type) == name })
}

// baseType returns the name of a type without its arguments, package, pointer, slice or dots.
func baseType(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.StarExpr:
		return baseType(x.X)
	case *ast.IndexExpr:
		return baseType(x.X)
	case *ast.IndexListExpr:
		return baseType(x.X)
	case *ast.ArrayType:
		return baseType(x.Elt)
	case *ast.Ellipsis:
		return baseType(x.Elt)
	}
	return ""
}

// commentText returns a comment as it is written.
func commentText(g *ast.CommentGroup) string {
	if g == nil {
		return ""
	}
	lines := make([]string, len(g.List))
	for i, c := range g.List {
		lines[i] = c.Text
	}
	return strings.Join(lines, "\n") + "\n"
}
