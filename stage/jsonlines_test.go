package stage_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/weir-go/weir/stage"
)

type point struct{ X, Y int }

func TestJSONLinesDecodesALineEach(t *testing.T) {
	in := "{\"X\":1,\"Y\":2}\n\n{\"X\":3}\r\n \t \n{\"Y\":4}"
	src := stage.JSONLines[point](strings.NewReader(in), stage.LineOptions{})
	wantAll(t, src, []point{{X: 1, Y: 2}, {X: 3}, {Y: 4}}, stage.ErrEnd)
}

func TestJSONLinesValuesAreFresh(t *testing.T) {
	src := stage.JSONLines[map[string]int](strings.NewReader("{\"a\":1}\n{\"b\":2}\n"), stage.LineOptions{})
	dst := make([]map[string]int, 1)
	var got []map[string]int
	for range 2 {
		if _, err := src.Pull(t.Context(), dst); err != nil {
			t.Fatal(err)
		}
		got = append(got, dst[0])
	}
	if want := []map[string]int{{"a": 1}, {"b": 2}}; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestJSONLinesABadLineIsFinal(t *testing.T) {
	for name, line := range map[string]string{
		"malformed":        `{"X":`,
		"another type":     `"text"`,
		"trailing data":    `{"X":1} {"X":2}`,
		"trailing garbage": `{"X":1}]`,
		"out of range":     `{"X":1e400}`,
	} {
		t.Run(name, func(t *testing.T) {
			in := "{\"X\":1}\n\n" + line + "\n{\"X\":2}\n"
			src := stage.JSONLines[point](strings.NewReader(in), stage.LineOptions{})
			got, err := pullAll(t, src, 8)
			if !slices.Equal(got, []point{{X: 1}}) {
				t.Fatalf("handed out %v, want the value before the bad line", got)
			}
			if bad, ok := errors.AsType[*stage.LineError](err); !ok || bad.Line != 3 || bad.Err == nil {
				t.Fatalf("ended with %v, want a LineError for line 3", err)
			}
			if again := pullErr(t.Context(), t, src); !errors.Is(again, err) {
				t.Fatalf("then Pull() = %v, want %v again", again, err)
			}
		})
	}
}

func TestJSONLinesDecodesNoLineBeforeItIsAskedFor(t *testing.T) {
	src := stage.JSONLines[int](strings.NewReader("1\n2\nbad\n"), stage.LineOptions{})
	dst := make([]int, 2)
	if n, err := src.Pull(t.Context(), dst); n != 2 || err != nil {
		t.Fatalf("Pull() = %d, %v, want 2, nil", n, err)
	}
	if err := pullErr(t.Context(), t, src); err == stage.ErrEnd {
		t.Fatal("the bad line was passed over")
	}
}

func TestJSONLinesTreatsLongLinesAsLinesDoes(t *testing.T) {
	in := "1\n1234567\n2\n"
	src := stage.JSONLines[int](strings.NewReader(in), stage.LineOptions{Max: 3, Long: stage.SkipLong})
	wantAll(t, src, []int{1, 2}, stage.ErrEnd)
	if n := src.Skipped(); n != 1 {
		t.Fatalf("Skipped() = %d, want 1", n)
	}
	_, err := pullAll(t, stage.JSONLines[int](strings.NewReader(in), stage.LineOptions{Max: 3}), 2)
	if long, ok := errors.AsType[*stage.LongLineError](err); !ok || long.Line != 2 {
		t.Fatalf("ended with %v, want a LongLineError for line 2", err)
	}
}

func TestJSONLinesHostileInputStaysCheap(t *testing.T) {
	for name, in := range map[string]io.Reader{
		"depth":           io.LimitReader(stream('['), 10<<20),
		"depth in a line": io.MultiReader(io.LimitReader(stream('['), 512<<10), strings.NewReader("\n")),
		"a huge number":   strings.NewReader("1e400\n"),
		"a long number":   strings.NewReader("1e" + strings.Repeat("4", 1<<18) + "\n"),
		"65 levels":       strings.NewReader(strings.Repeat("[", 65) + strings.Repeat("]", 65) + "\n"),
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			src := stage.JSONLines[any](in, stage.LineOptions{})
			used := allocated(func() { err = pullErr(t.Context(), t, src) })
			if err == stage.ErrEnd || used > 4<<20 {
				t.Fatalf("Pull() = %.300v with %d bytes allocated, want an error and at most 4 MiB", err, used)
			}
			if len(err.Error()) > 300 {
				t.Errorf("the error has %d bytes of the line", len(err.Error()))
			}
		})
	}
}

// keeper keeps what it was decoded into.
type keeper struct{ self *keeper }

func (k *keeper) UnmarshalJSON([]byte) error {
	k.self = k
	return nil
}

func TestJSONLinesValuesDoNotKeepDst(t *testing.T) {
	dst := make([]keeper, 1)
	if _, err := stage.JSONLines[keeper](strings.NewReader("1\n"), stage.LineOptions{}).Pull(t.Context(), dst); err != nil {
		t.Fatal(err)
	}
	if dst[0].self == &dst[0] {
		t.Fatal("the value points into dst")
	}
}

type panicker struct{}

func (*panicker) UnmarshalJSON([]byte) error { panic(errBoom) }

func TestJSONLinesPanicOfADecoderIsFinal(t *testing.T) {
	src := stage.JSONLines[panicker](strings.NewReader("1\n2\n"), stage.LineOptions{})
	func() {
		defer func() { _ = recover() }()
		_, _ = src.Pull(t.Context(), make([]panicker, 1))
		t.Error("Pull did not panic")
	}()
	if err := pullErr(t.Context(), t, src); err == stage.ErrEnd {
		t.Fatal("Pull() = ErrEnd after a panic")
	}
}

func FuzzJSONLines(f *testing.F) {
	for _, seed := range []string{"", "1\n2", "{}\n\n[1,2]\n", "1 2\n3\n", "nul\n", "\"a\\nb\"\r\n", "[[[[\n", "1\r\r\n", strings.Repeat("[", 65) + strings.Repeat("]", 65)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		want, badLine := referenceJSON(in)
		for name, odd := range oddReaders {
			got, err := pullAll(t, stage.JSONLines[any](odd(bytes.NewReader(in)), stage.LineOptions{}), 3)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: handed out %v, want %v", name, got, want)
			}
			if bad, ok := errors.AsType[*stage.LineError](err); ok && bad.Line != badLine || !ok && (badLine != 0 || err != stage.ErrEnd) {
				t.Fatalf("%s: ended with %v; the first bad line is %d", name, err, badLine)
			}
		}
		failing := io.MultiReader(bytes.NewReader(in), iotest.ErrReader(errBoom))
		if _, err := pullAll(t, stage.JSONLines[any](failing, stage.LineOptions{}), 3); err == stage.ErrEnd {
			t.Fatal("a reader that fails ended the stream cleanly")
		}
	})
}

// referenceJSON splits in and decodes each line that is not blank, up to the first that is malformed.
func referenceJSON(in []byte) (want []any, badLine int64) {
	for i, line := range bytes.Split(in, []byte("\n")) {
		if len(bytes.Trim(line, " \t\r")) == 0 {
			continue
		}
		var v any
		if json.Unmarshal(line, &v) != nil || levels(v) > 64 {
			return want, int64(i + 1)
		}
		want = append(want, v)
	}
	return want, 0
}

// levels is how deep a decoded value is nested.
func levels(v any) (n int) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n = max(n, levels(e))
		}
		return n + 1
	case map[string]any:
		for _, e := range v {
			n = max(n, levels(e))
		}
		return n + 1
	}
	return 0
}

func ExampleJSONLines() {
	in := strings.NewReader(`{"X":1,"Y":2}
{"X":3,"Y":
`)
	printAll(stage.JSONLines[point](in, stage.LineOptions{}))
	// Output:
	// {1 2}
	// stage: line 2: unexpected end of JSON input
}
