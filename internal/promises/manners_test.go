package promises

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	_ "github.com/weir-go/weir/broker/brokertest"
	_ "github.com/weir-go/weir/broker/jetstream"
	_ "github.com/weir-go/weir/broker/memory"
	_ "github.com/weir-go/weir/flow/admission"
	_ "github.com/weir-go/weir/flow/checkpoint"
	_ "github.com/weir-go/weir/flow/sizing"
	_ "github.com/weir-go/weir/stage/stagetest"
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

// everything is for packages of which nothing may be used.
const everything = "*"

// A port is opened by the program only, and it alone writes, ends the process and deals with its signals. A server inside the process is
// asked for by its settings, and the lab of the tests is no library.
func TestTheLibraryOpensNoPort(t *testing.T) {
	banned := map[string][]string{
		"net": {
			"Listen", "ListenConfig", "ListenIP", "ListenMulticastUDP", "ListenPacket", "ListenTCP", "ListenUDP", "ListenUnix", "ListenUnixgram",
			"FileListener",
		},
		"crypto/tls":        {"Listen", "NewListener"},
		"net/http/httptest": {everything},
		"net/http": {
			"ListenAndServe", "ListenAndServeTLS", "Serve", "ServeTLS", "Server", "Handle", "HandleFunc", "DefaultServeMux", "DefaultClient", "Get",
			"Head", "Post", "PostForm",
		},
		"os/signal": {"Ignore", "Reset"},
		"os":        {"Exit", "Stdout", "Stderr"},
		"fmt":       {"Print", "Printf", "Println"},
	}
	allowed := []string{"internal/natstest/", "broker/jetstream/embedded/"}
	eachFile(t, func(path string, f *ast.File) {
		for _, prefix := range allowed {
			if strings.HasPrefix(path, prefix) {
				return
			}
		}
		for _, use := range usesOf(f, banned) {
			t.Errorf("%s uses %s", path, use)
		}
	})
}

// usesOf returns which of the names a file uses, by the path of their package, whatever it calls that.
func usesOf(f *ast.File, names map[string][]string) (uses []string) {
	packages := make(map[string]string) // by the name that the file has for them
	for _, imp := range f.Imports {
		of, _ := strconv.Unquote(imp.Path.Value)
		switch {
		case names[of] == nil:
		case imp.Name == nil:
			packages[path.Base(of)] = of
		case imp.Name.Name == ".":
			uses = append(uses, of+", by all its names")
		default:
			packages[imp.Name.Name] = of
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			pkg, ok := n.X.(*ast.Ident)
			if !ok {
				return true
			}
			of := packages[pkg.Name]
			if slices.Contains(names[of], n.Sel.Name) || slices.Contains(names[of], everything) {
				uses = append(uses, of+"."+n.Sel.Name)
			}
		case *ast.CallExpr:
			if fn, ok := n.Fun.(*ast.Ident); ok && (fn.Name == "print" || fn.Name == "println") {
				uses = append(uses, fn.Name)
			}
		}
		return true
	})
	return uses
}

func TestBannedUsesAreSeen(t *testing.T) {
	const program = `package p

import (
	web "net/http"
	"net"
	. "os/signal"
)

func f(http T) {
	web.HandleFunc("/", nil)
	_ = &net.ListenConfig{}
	http.HandleFunc("/", nil)
	println(net.JoinHostPort("", ""))
}
`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", program, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	got := usesOf(f, map[string][]string{"net": {"ListenConfig"}, "net/http": {"HandleFunc"}, "os/signal": {"Reset"}})
	if want := []string{"os/signal, by all its names", "net/http.HandleFunc", "net.ListenConfig", "println"}; !slices.Equal(got, want) {
		t.Errorf("usesOf() = %q, want %q", got, want)
	}
}

// The profiling handlers and expvar come with the server of NATS, expvar with the client of Prometheus as well: only who asks for one
// of these has them on the default mux.
func TestWhoReachesTheDefaultMux(t *testing.T) {
	const module = "github.com/weir-go/weir/"
	allowed := map[string]string{
		"broker/jetstream/embedded": "expvar net/http/pprof",
		"broker/jetstream/jetprom":  "expvar",
		"internal/natstest":         "expvar net/http/pprof",
	}
	list := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "./stage/...", "./flow/...", "./broker/...", "./internal/...")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%v: %v", list, err)
	}
	reaches := map[string][]string{"expvar": {"expvar"}, "net/http/pprof": {"net/http/pprof"}} // dependencies are listed first
	own := 0
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		pkg := words[0]
		for _, imported := range words[1:] {
			reaches[pkg] = append(reaches[pkg], reaches[imported]...)
		}
		slices.Sort(reaches[pkg])
		reaches[pkg] = slices.Compact(reaches[pkg])
		if name, ok := strings.CutPrefix(pkg, module); ok {
			own++
			if got := strings.Join(reaches[pkg], " "); got != allowed[name] {
				t.Errorf("%s reaches %q, want %q", name, got, allowed[name])
			}
		}
	}
	if own < 20 {
		t.Errorf("%d packages of the library were found, want at least 20", own)
	}
}

// This test imports the library, and the default mux has nothing.
func TestTheDefaultMuxIsUntouched(t *testing.T) {
	for _, path := range []string{"/", "/debug/pprof/", "/debug/vars", "/metrics", "/debug/weir"} {
		if _, pattern := http.DefaultServeMux.Handler(httptest.NewRequest(http.MethodGet, path, nil)); pattern != "" {
			t.Errorf("%s is served by %q", path, pattern)
		}
	}
}
