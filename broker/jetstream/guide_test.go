package jetstream

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/broker"
)

// readGuide returns docs/jetstream.md.
func readGuide(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/jetstream.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// sources returns all test files under a directory, one behind the other.
func sources(t *testing.T, dir, suffix string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, suffix) {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// The programs of the guide are those of the examples, to the letter.
func TestTheGuideHasTheExamples(t *testing.T) {
	_, blocks, _ := strings.Cut(readGuide(t), "```go\n")
	examples := sources(t, ".", "_test.go")
	n := 0
	for block := range strings.SplitSeq(blocks, "```go\n") {
		code, _, _ := strings.Cut(block, "```")
		for part := range strings.SplitSeq(code, "\n}\n\n") { // declarations may stand elsewhere in another order
			n++
			if !strings.Contains(examples, strings.TrimSuffix(part, "\n}\n")) {
				t.Errorf("no example has\n%s", part)
			}
		}
	}
	if n < 9 {
		t.Errorf("%d programs were found, want at least 9: the guide is not understood", n)
	}
}

func TestTheGuideNamesTestsThatExist(t *testing.T) {
	tests := sources(t, "..", "_test.go")
	names := regexp.MustCompile(`\b(Test[A-Z]\w*|Benchmark\w+|Example\w*)`).FindAllString(readGuide(t), -1)
	if len(names) < 50 {
		t.Errorf("%d tests were found, want at least 50: the guide is not understood", len(names))
	}
	for _, name := range names {
		if name != "TestX" && name != "Example" && !strings.Contains(tests, "\nfunc "+name+"(") {
			t.Errorf("there is no %s", name)
		}
	}
}

// The tables have every setting, and the defaults that the code has.
func TestTheGuideHasTheSettings(t *testing.T) {
	defaults := map[string]string{
		"SinkConfig.Window":          thousands(defaultWindow),
		"SinkConfig.AckTimeout":      "1 s",
		"SourceConfig.MaxAckPending": thousands(defaultMaxAckPending),
		"SourceConfig.AckWait":       "30 s",
		"SourceConfig.MaxHold":       "1 h",
		"SourceConfig.PullExpiry":    "4 s",
		"SourceConfig.CloseTimeout":  "5 s",
		"DurableConfig.Subject":      "weir.STREAM",
	}
	if defaultAckTimeout != time.Second || defaultAckWait != 30*time.Second || defaultMaxHold != time.Hour ||
		defaultPullExpiry != 4*time.Second || defaultCloseTimeout != 5*time.Second {
		t.Error("a default has changed: change the guide, and this test")
	}
	guide := readGuide(t)
	for _, config := range []any{StreamConfig{}, SinkConfig[int]{}, SourceConfig{}, DurableConfig{}} {
		name, _, _ := strings.Cut(reflect.TypeOf(config).Name(), "[")
		_, section, _ := strings.Cut(guide, "\n### "+name+"\n")
		section, _, _ = strings.Cut(section, "\n#")
		for _, field := range fields(reflect.TypeOf(config)) {
			row := rowOf(section, field)
			if row == "" {
				t.Errorf("%s.%s has no row", name, field)
			} else if want := defaults[name+"."+field]; !strings.Contains(row, want) {
				t.Errorf("the row of %s.%s does not say %s: %s", name, field, want, row)
			}
		}
	}
}

// fields are the names of the settings, those of broker.SourceOptions included.
func fields(config reflect.Type) (names []string) {
	for f := range config.Fields() {
		if f.Anonymous && f.Type == reflect.TypeFor[broker.SourceOptions]() {
			names = append(names, fields(f.Type)...)
		} else {
			names = append(names, f.Name)
		}
	}
	return names
}

func rowOf(section, field string) string {
	for line := range strings.Lines(section) {
		cells := strings.SplitN(line, "|", 3)
		if len(cells) == 3 && strings.Contains(cells[1], "`"+field+"`") {
			return line
		}
	}
	return ""
}

func thousands(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }
