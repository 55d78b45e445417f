package stage_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/weir-go/weir/stage"
)

func wantRecords(t *testing.T, src stage.Source[[]string], want [][]string, final error) {
	t.Helper()
	got, err := pullAll(t, src, 3)
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("handed out %q, want %q", got, want)
	}
	if final == stage.ErrEnd && err != stage.ErrEnd || !errors.Is(err, final) {
		t.Fatalf("ended with %v, want %v", err, final)
	}
}

func TestCSVReadsRecords(t *testing.T) {
	in := "a,b\n\n\"c\n,\"\"c\",d\r\ne,f"
	want := [][]string{{"a", "b"}, {"c\n,\"c", "d"}, {"e", "f"}}
	wantRecords(t, stage.CSV(strings.NewReader(in), stage.CSVOptions{}), want, stage.ErrEnd)
}

func TestCSVOptions(t *testing.T) {
	in := "# name\na;b\nc\n"
	o := stage.CSVOptions{Comma: ';', Comment: '#', Fields: -1}
	wantRecords(t, stage.CSV(strings.NewReader(in), o), [][]string{{"a", "b"}, {"c"}}, stage.ErrEnd)
	for _, bad := range []stage.CSVOptions{{Comma: '"'}, {Comma: ',', Comment: ','}, {Max: -1}, {Max: 1 << 31}} {
		if err := pullErr(t.Context(), t, stage.CSV(strings.NewReader(in), bad)); err == stage.ErrEnd {
			t.Fatalf("options %+v were taken", bad)
		}
	}
}

func TestCSVAMalformedRecordIsFinal(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want error
	}{
		"bare quote":     {"a,b\nc,d\ne,f\"\ng,h\n", csv.ErrBareQuote},
		"too few fields": {"a,b\nc,d\ne\ng,h\n", csv.ErrFieldCount},
		"open quote":     {"a,b\nc,d\n\"e,f\n", csv.ErrQuote},
	} {
		t.Run(name, func(t *testing.T) {
			src := stage.CSV(strings.NewReader(c.in), stage.CSVOptions{})
			wantRecords(t, src, [][]string{{"a", "b"}, {"c", "d"}}, c.want)
			bad, ok := errors.AsType[*csv.ParseError](pullErr(t.Context(), t, src))
			if !ok || bad.StartLine != 3 {
				t.Fatalf("the error is %v, want one of line 3", bad)
			}
		})
	}
}

func TestCSVALongRecordIsFinal(t *testing.T) {
	for name, in := range map[string]io.Reader{
		"one line":    strings.NewReader("a,b\nc,123456789\ne,f\n"),
		"many lines":  strings.NewReader("a,b\n\"1\n2\n3\n4\n5\n6\n\",d\n"),
		"quote bomb":  io.MultiReader(strings.NewReader("a,b\n\""), stream('x')),
		"line bomb":   io.MultiReader(strings.NewReader("a,b\n"), stream('x')),
		"return bomb": io.MultiReader(strings.NewReader("a,b\n"), stream('\n')),
	} {
		t.Run(name, func(t *testing.T) {
			src := stage.CSV(in, stage.CSVOptions{Max: 10})
			got, err := pullAll(t, src, 1)
			if long, ok := errors.AsType[*stage.LongRecordError](err); !ok || *long != (stage.LongRecordError{Line: 2, Max: 10}) {
				t.Fatalf("ended with %v, want a LongRecordError for line 2", err)
			}
			if !reflect.DeepEqual(got, [][]string{{"a", "b"}}) {
				t.Fatalf("handed out %q, want the record before", got)
			}
		})
	}
}

func TestCSVRecordsOfTheHighestLengthPass(t *testing.T) {
	in := "123,567890\n\"1\n2\n\",5678" // eleven bytes each, the line's end included
	for name, odd := range oddReaders {
		t.Run(name, func(t *testing.T) {
			want := [][]string{{"123", "567890"}, {"1\n2\n", "5678"}}
			wantRecords(t, stage.CSV(odd(strings.NewReader(in)), stage.CSVOptions{Max: 11}), want, stage.ErrEnd)
		})
	}
}

func TestCSVBoundsMemoryByDefault(t *testing.T) {
	src := stage.CSV(io.MultiReader(strings.NewReader("\""), stream('x')), stage.CSVOptions{})
	var err error
	used := allocated(func() { err = pullErr(t.Context(), t, src) })
	if _, ok := errors.AsType[*stage.LongRecordError](err); !ok || used > 8<<20 {
		t.Fatalf("Pull() = %v with %d bytes allocated, want a LongRecordError and at most 8 MiB", err, used)
	}
}

func TestCSVReportsTheErrorOfItsReader(t *testing.T) {
	for _, in := range []string{"a,b\nc,d\n", "a,b\nc,d\nhalf a", "a,b\nc,d\n\"half", "a,b\nc,d\nha\"lf"} {
		for _, err := range []error{errBoom, io.ErrUnexpectedEOF, stage.ErrEnd} {
			src := stage.CSV(io.MultiReader(strings.NewReader(in), iotest.ErrReader(err)), stage.CSVOptions{})
			got, final := pullAll(t, src, 1)
			if !reflect.DeepEqual(got, [][]string{{"a", "b"}, {"c", "d"}}) {
				t.Fatalf("handed out %q of %q, want the two whole records", got, in)
			}
			if !errors.Is(final, err) || final == stage.ErrEnd || !strings.Contains(final.Error(), "line 3") {
				t.Fatalf("the final error for %q is %v, want %v in line 3", in, final, err)
			}
			if again := pullErr(t.Context(), t, src); !errors.Is(again, final) {
				t.Fatalf("then Pull() = %v, want %v again", again, final)
			}
		}
	}
}

func TestCSVGivesUpOnAReaderWithoutProgress(t *testing.T) {
	stuck := readerFunc(func([]byte) (int, error) { return 0, nil })
	if err := pullErr(t.Context(), t, stage.CSV(stuck, stage.CSVOptions{})); !errors.Is(err, io.ErrNoProgress) {
		t.Fatalf("Pull() = %v, want io.ErrNoProgress", err)
	}
}

// A record that has arrived must not wait for the next one.
func TestCSVReadsNoFurtherThanItsRecord(t *testing.T) {
	in := io.MultiReader(strings.NewReader("a,b\nc"), readerFunc(func([]byte) (int, error) {
		t.Error("the reader was asked for more")
		return 0, io.EOF
	}))
	if got := mustPull(t, stage.CSV(in, stage.CSVOptions{})); !reflect.DeepEqual(got, []string{"a", "b"}) {
		t.Fatalf("got %q", got)
	}
}

func FuzzCSV(f *testing.F) {
	for _, seed := range []string{"", "a,b\nc,d", "\"a\nb\",c\n", "a\"b\n", "\n\n,\n", "\"", "a,b\r\nc\n", "\"a\"\"\r\n\r\n\""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		want, failed := referenceCSV(in)
		for name, odd := range oddReaders {
			got, err := pullAll(t, stage.CSV(odd(bytes.NewReader(in)), stage.CSVOptions{}), 3)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: handed out %q, want %q", name, got, want)
			}
			if failed == io.EOF && err != stage.ErrEnd || failed != io.EOF && err.Error() != failed.Error() {
				t.Fatalf("%s: ended with %v, want %v", name, err, failed)
			}
		}
		failing := stage.CSV(io.MultiReader(bytes.NewReader(in), iotest.ErrReader(errBoom)), stage.CSVOptions{})
		if _, err := pullAll(t, failing, 3); err == stage.ErrEnd {
			t.Fatal("a reader that fails ended the stream cleanly")
		}
	})
}

// referenceCSV reads in with encoding/csv alone.
func referenceCSV(in []byte) (want [][]string, err error) {
	r := csv.NewReader(bytes.NewReader(in))
	for {
		record, err := r.Read()
		if err != nil {
			return want, err
		}
		want = append(want, record)
	}
}

func ExampleCSV() {
	printAll(stage.CSV(strings.NewReader("name;city\nAda;London\nEmmy\n"), stage.CSVOptions{Comma: ';'}))
	// Output:
	// [name city]
	// [Ada London]
	// record on line 3: wrong number of fields
}
