package promises

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	_ "github.com/weir-go/weir/broker"
	_ "github.com/weir-go/weir/broker/jetstream"
	_ "github.com/weir-go/weir/broker/memory"
	_ "github.com/weir-go/weir/flow"
)

const root = "../.."

// library are the folders that programs import from.
var library = []string{"stage", "flow", "broker", "internal"}

// eachFile calls fn with each file of the library that is no test.
func eachFile(t *testing.T, fn func(path string, f *ast.File)) {
	t.Helper()
	n := 0
	for _, dir := range library {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			n++
			rel, err := filepath.Rel(root, path)
			fn(filepath.ToSlash(rel), f)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n < 100 {
		t.Fatalf("%d files were found, want at least 100", n)
	}
}

// The profiling handlers and expvar add themselves to the default mux when they are imported. And nothing is only logged: what happens is
// an error, a count, or an outcome of an item, so no text of a user's item can end in a log.
func TestTheLibraryImportsNothingWithEffectsOfItsOwn(t *testing.T) {
	banned := map[string]string{
		"net/http/pprof": "registers handlers", "expvar": "registers a handler", "log": "writes", "log/slog": "writes", "log/syslog": "writes",
	}
	eachFile(t, func(path string, f *ast.File) {
		for _, imp := range f.Imports {
			name, _ := strconv.Unquote(imp.Path.Value)
			if why := banned[name]; why != "" {
				t.Errorf("%s imports %s, which %s", path, name, why)
			}
		}
	})
}

// A port is opened by the program only. A server inside the process is asked for by its settings, and the lab of the tests is no library.
func TestTheLibraryOpensNoPort(t *testing.T) {
	banned := map[string][]string{
		"net": {"Listen", "ListenPacket", "ListenTCP", "ListenUDP", "ListenUnix"},
		"http": {
			"ListenAndServe", "ListenAndServeTLS", "Serve", "ServeTLS", "Handle", "HandleFunc", "DefaultServeMux", "DefaultClient", "Get", "Post",
		},
		"signal": {"Ignore", "Reset"},
		"os":     {"Exit"},
	}
	allowed := []string{"internal/natstest/", "broker/jetstream/embedded/"}
	eachFile(t, func(path string, f *ast.File) {
		for _, prefix := range allowed {
			if strings.HasPrefix(path, prefix) {
				return
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			for _, name := range banned[pkg.Name] {
				if sel.Sel.Name == name {
					t.Errorf("%s uses %s.%s", path, pkg.Name, name)
				}
			}
			return true
		})
	})
}

// This test imports the library, and the default mux has nothing. (The client of Prometheus registers /debug/vars: only who imports jetprom
// has that.)
func TestTheDefaultMuxIsUntouched(t *testing.T) {
	for _, path := range []string{"/", "/debug/pprof/", "/debug/vars", "/metrics", "/debug/weir"} {
		if _, pattern := http.DefaultServeMux.Handler(httptest.NewRequest(http.MethodGet, path, nil)); pattern != "" {
			t.Errorf("%s is served by %q", path, pattern)
		}
	}
}
