package main

import (
	"testing"
	"testing/fstest"
)

func TestParseDescribesFunctions(t *testing.T) {
	tests := map[string]struct {
		src  string // behind the package clause, from line 3
		want function
	}{
		"a function":           {"func f() {}", function{name: "f", lines: 1, complexity: 1}},
		"exported, documented": {"// F does it.\nfunc F() {\n}", function{name: "F", line: 4, lines: 2, complexity: 1, exported: true, documented: true}},
		"a directive is no documentation": {
			"//go:noinline\nfunc f() {}", function{name: "f", line: 4, lines: 1, complexity: 1},
		},
		"no body":             {"func f(int) int", function{name: "f", lines: 1, complexity: 1}},
		"a method":            {"func (t T) m() {}", function{name: "T.m", lines: 1, complexity: 1}},
		"a pointer's method":  {"func (t *T) M() {}", function{name: "(*T).M", lines: 1, complexity: 1, exported: true}},
		"a generic method":    {"func (t *T[K]) m() {}", function{name: "(*T).m", lines: 1, complexity: 1}},
		"two type parameters": {"func (T[K, V]) m() {}", function{name: "T.m", lines: 1, complexity: 1}},
		"parentheses":         {"func ((*T)) m() {}", function{name: "(*T).m", lines: 1, complexity: 1}},
		"a strange receiver":  {"func ([]int) m() {}", function{name: "?.m", lines: 1, complexity: 1}},
		"if, for, range, operators": {
			"func f() {\n\tif a && b || c {\n\t}\n\tfor a {\n\t}\n\tfor range x {\n\t}\n}",
			function{name: "f", lines: 8, complexity: 6},
		},
		"cases, but no default": {
			"func f() {\n\tswitch {\n\tcase a, b:\n\tcase c:\n\tdefault:\n\t}\n\tselect {\n\tcase <-c:\n\tdefault:\n\t}\n}",
			function{name: "f", lines: 11, complexity: 4},
		},
		"a nested function counts": {
			"func f() {\n\tgo func() {\n\t\tif a {\n\t\t}\n\t}()\n}", function{name: "f", lines: 6, complexity: 2},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := parser{fstest.MapFS{"dir/a.go": {Data: []byte("package q\n\n" + tt.src + "\n")}}}
			got, err := p.parse(t.Context(), "dir/a.go")
			if err != nil || len(got) != 1 {
				t.Fatalf("parse() = %v, %v, want one function", got, err)
			}
			want := tt.want
			want.pkg, want.file, want.line, want.col = "q", "dir/a.go", max(want.line, 3), 1
			if got[0] != want {
				t.Errorf("parse() = %+v, want %+v", got[0], want)
			}
		})
	}
}
