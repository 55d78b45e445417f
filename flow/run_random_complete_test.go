package flow_test

import (
	"go/ast"
	"maps"
	"slices"
	"testing"
)

// beyondGraphs are operators that random graphs don't have, and why.
var beyondGraphs = map[string]string{
	"f.Loop":       "what comes out depends on how often values go round: TestRandomLoops* compare it with a reference of its own",
	"f.PrimedLoop": "as for Loop: TestRandomPrimedLoops",
}

// TestRandomGraphsHaveEveryOperator fails when an operator is exported that random graphs neither contain nor say why not.
// Reflection does not see generic methods, so it reads the source.
func TestRandomGraphsHaveEveryOperator(t *testing.T) {
	all, used := exportedOperators(t), calledIn(t, "run_random*_test.go")
	if len(all) < 70 {
		t.Fatalf("found %d operators, want at least 70: the source is not understood", len(all))
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch reason, excepted := beyondGraphs[name]; {
		case used[name] == excepted:
			t.Errorf("%s occurs in random graphs: %t; it is an exception: %t (%s); want one of the two", name, used[name], excepted, reason)
		case excepted && reason == "":
			t.Errorf("%s is an exception without a reason", name)
		}
	}
	for name := range beyondGraphs {
		if !all[name] {
			t.Errorf("%s is an exception, and no operator", name)
		}
	}
}

func TestAnOperatorThatRandomGraphsLackIsFound(t *testing.T) {
	if used := calledIn(t, "docs_test.go"); used["f.Map"] || used["flow.Merge"] {
		t.Fatal("f.Map and flow.Merge are found in a file without either")
	}
}

// exportedOperators returns what makes a flow, or takes one: f.Map, flow.Merge. Hubs and inlets are made, and made flows of.
func exportedOperators(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, file := range parseFiles(t, "*.go") {
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() {
				continue
			}
			switch name := fn.Name.Name; receiver(fn) {
			case "Flow":
				all["f."+name] = true
			case "":
				if takes(fn, "Flow") || slices.ContainsFunc([]string{"Flow", "Inlet", "MergeHub", "BroadcastHub"}, func(kind string) bool {
					return returns(fn, kind)
				}) || returns(fn, "Pipeline") {
					all["flow."+name] = true
				}
			case "Inlet", "MergeHub", "BroadcastHub":
				if name == "Attach" || takesValue(fn) {
					all["f."+name] = true
				}
			}
		}
	}
	return all
}

// takesValue reports whether a method takes values of the flow's type: Put, Offer and Do.
func takesValue(fn *ast.FuncDecl) bool { return takes(fn, "T") }

// calledIn returns the names of what is used in files: f.Map for any method Map, flow.Merge for the function.
func calledIn(t *testing.T, pattern string) map[string]bool {
	t.Helper()
	used := map[string]bool{}
	for _, file := range parseFiles(t, pattern) {
		ast.Inspect(file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "flow" {
					used["flow."+sel.Sel.Name] = true
				} else {
					used["f."+sel.Sel.Name] = true
				}
			}
			return true
		})
	}
	return used
}
