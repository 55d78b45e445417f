package promises

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// page returns docs/reliability.md. In its tables a bar is written with a backslash.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "reliability.md"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), `\|`, "|")
}

var declaration = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example|Benchmark)\w*)\(`)

// testsIn returns the names of the tests in a folder, and all of its text.
func testsIn(t *testing.T, dir string) (names []string, text string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no tests (%v)", dir, err)
	}
	var all strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	for _, m := range declaration.FindAllStringSubmatch(all.String(), -1) {
		names = append(names, m[1])
	}
	return names, all.String()
}

var command = regexp.MustCompile("`go test ([^`]*)`")

// Every command of the page names a folder, tests that are there, and flags that it has.
func TestTheCommandsOfThePageShowSomething(t *testing.T) {
	commands := command.FindAllStringSubmatch(page(t), -1)
	if len(commands) < 40 {
		t.Fatalf("%d commands were found, want at least 40: the page is not understood", len(commands))
	}
	for _, c := range commands {
		var dir, run string
		var flags []string
		words := strings.Fields(c[1])
		for i := 0; i < len(words); i++ {
			switch w := words[i]; {
			case strings.HasPrefix(w, "./"):
				dir = w
			case w == "-run" || w == "-fuzz":
				i++
				run = strings.Trim(words[i], "'")
			case w == "-race" || w == "-v" || strings.HasPrefix(w, "-count"):
			case strings.HasPrefix(w, "-"):
				flags = append(flags, strings.TrimPrefix(strings.SplitN(w, "=", 2)[0], "-"))
			}
		}
		if dir == "" || run == "" {
			t.Errorf("the command %q names no folder, or no test", c[1])
			continue
		}
		names, text := testsIn(t, dir)
		for part := range strings.SplitSeq(run, "|") {
			name, _, _ := strings.Cut(part, "/")
			pattern, err := regexp.Compile(name)
			if err != nil {
				t.Errorf("%q: %v", c[1], err)
				continue
			}
			found := false
			for _, n := range names {
				found = found || pattern.MatchString(n)
			}
			if !found {
				t.Errorf("%q: %s has no test that is called %s", c[1], dir, name)
			}
		}
		for _, f := range flags {
			if !strings.HasPrefix(f, "rapid.") && f != "fuzztime" && !strings.Contains(text, fmt.Sprintf("(%q,", f)) {
				t.Errorf("%q: %s has no flag -%s", c[1], dir, f)
			}
		}
	}
}

// The tables are complete: five laws, 24 faults, 14 rules of security.
func TestThePageHasEveryRow(t *testing.T) {
	text := page(t)
	for prefix, last := range map[string]int{"L": 5, "F": 24, "S": 14} {
		for i := 1; i <= last; i++ {
			id := fmt.Sprint(prefix, i)
			if n := strings.Count(text, "\n| "+id+" |"); n != 1 {
				t.Errorf("%d rows of %s, want one", n, id)
			}
		}
	}
}

// What make offers is what the page says.
func TestTheTargetsOfThePageExist(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := regexp.MustCompile("`make ([a-z-]+)").FindAllStringSubmatch(page(t), -1)
	if len(targets) < 4 {
		t.Fatalf("%d targets were found, want at least 4", len(targets))
	}
	for _, m := range targets {
		if !strings.Contains("\n"+string(makefile), "\n"+m[1]+":") {
			t.Errorf("there is no make %s", m[1])
		}
	}
}
