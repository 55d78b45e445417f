package stagetest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// beyondKit are operators that the kit is not run over, and why.
var beyondKit = map[string]string{
	"BestEffort": "it gives up the claims that the rules look at",
}

// beyondParts are functions of package stage that make no part of their own.
var beyondParts = map[string]string{
	"ItemSourceFunc": "it is the function that it is given",
	"ItemSinkFunc":   "it is the function that it is given",
	"StageFunc":      "it is the function that it is given; the tests of this package use it",
	"PublisherFunc":  "it is the function that it is given",
}

// TestTheKitHasEveryOperator fails when an operator makes a Flow of a Flow and is neither under the kit nor says why not.
func TestTheKitHasEveryOperator(t *testing.T) {
	used := namesIn(t, "operators_test.go")
	operators := functions(t, "../../flow", func(fn *ast.FuncDecl) bool {
		return receiver(fn) == "Flow" && returns(fn, "Flow") || fn.Recv == nil && takes(fn, "Flow") && returns(fn, "Flow")
	})
	complete(t, operators, 45, used, beyondKit)
}

// TestTheKitHasEveryOrderOfEdges fails when an edge can serve in an order that is not under the kit.
func TestTheKitHasEveryOrderOfEdges(t *testing.T) {
	orders := functions(t, "../../flow", func(fn *ast.FuncDecl) bool { return fn.Recv == nil && returns(fn, "Discipline") })
	complete(t, orders, 5, namesIn(t, "edges_test.go"), nil)
}

// TestTheKitHasEveryPart fails when a source or sink of package stage is not under the kit.
func TestTheKitHasEveryPart(t *testing.T) {
	parts := functions(t, "..", func(fn *ast.FuncDecl) bool {
		return fn.Recv == nil && slices.ContainsFunc([]string{
			"Source", "ItemSource", "LineSource", "JSONLineSource", "Sink", "ItemSink", "Collector", "Stage", "Publisher",
		}, func(kind string) bool { return returns(fn, kind) })
	})
	used := namesIn(t, "../conformance_test.go")
	complete(t, parts, 12, used, beyondParts)
}

// complete wants each of all to be used, or to be an exception with a reason.
func complete(t *testing.T, all []string, least int, used map[string]bool, exceptions map[string]string) {
	t.Helper()
	if len(all) < least {
		t.Fatalf("found %v, want %d at least: the source is not understood", all, least)
	}
	for _, name := range all {
		if _, excepted := exceptions[name]; used[name] == excepted {
			t.Errorf("%s is under the kit: %t; it is an exception: %t; want one of the two", name, used[name], excepted)
		}
	}
	for name, why := range exceptions {
		if !slices.Contains(all, name) || why == "" {
			t.Errorf("%s is an exception without a reason, or there is no such function", name)
		}
	}
}

// functions returns the names of the exported functions and methods of a package that match.
func functions(t *testing.T, dir string, match func(*ast.FuncDecl) bool) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, decl := range parse(t, file).Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Name.IsExported() && match(fn) {
				names = append(names, fn.Name.Name)
			}
		}
	}
	return names
}

func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// namesIn returns what a file selects: x.Map, flow.Merge.
func namesIn(t *testing.T, file string) map[string]bool {
	t.Helper()
	used := make(map[string]bool)
	ast.Inspect(parse(t, file), func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			used[sel.Sel.Name] = true
		}
		return true
	})
	return used
}

func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	return typeName(fn.Recv.List[0].Type)
}

func returns(fn *ast.FuncDecl, kind string) bool { return has(fn.Type.Results, kind) }

func takes(fn *ast.FuncDecl, kind string) bool { return has(fn.Type.Params, kind) }

func has(fields *ast.FieldList, kind string) bool {
	return fields != nil && slices.ContainsFunc(fields.List, func(f *ast.Field) bool { return typeName(f.Type) == kind })
}

// typeName returns the name of a type without its package, its arguments, and what it is a slice of.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.ArrayType:
		return typeName(e.Elt)
	case *ast.Ellipsis:
		return typeName(e.Elt)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	}
	return ""
}
