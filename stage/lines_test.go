package stage_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/weir-go/weir/stage"
)

func TestLinesCutsAtLineEnds(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"nothing":                      {"", nil},
		"one line":                     {"a\n", []string{"a"}},
		"no end at the last line":      {"a\nb", []string{"a", "b"}},
		"empty lines":                  {"\n\na\n\n", []string{"", "", "a", ""}},
		"carriage returns":             {"a\r\nb\r\r\nc\rd\r\n", []string{"a", "b\r", "c\rd"}},
		"a carriage return at the end": {"a\r", []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			wantAll(t, stage.Lines(strings.NewReader(c.in), stage.LineOptions{}), c.want, stage.ErrEnd)
			wantAll(t, stage.Lines(iotest.OneByteReader(strings.NewReader(c.in)), stage.LineOptions{}), c.want, stage.ErrEnd)
		})
	}
}

func TestLinesOfTheHighestLengthPass(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", ""} {
		for _, limit := range []int{1, 4, 64 << 10, 1 << 20} {
			line := strings.Repeat("x", limit)
			for _, r := range []io.Reader{strings.NewReader(line + end), iotest.DataErrReader(strings.NewReader(line + end))} {
				wantAll(t, stage.Lines(r, stage.LineOptions{Max: limit}), []string{line}, stage.ErrEnd)
			}
		}
	}
}

func TestLinesFailsAtAnOverlongLine(t *testing.T) {
	for name, in := range map[string]string{
		"with an end":     "a\nb\nlonger\nc\n",
		"without an end":  "a\nb\nlonger",
		"far beyond":      "a\nb\n" + strings.Repeat("x", 1<<20),
		"by one":          "a\nb\n12345\n",
		"before a return": "a\nb\n12345\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			src := stage.Lines(strings.NewReader(in), stage.LineOptions{Max: 4})
			got, err := pullAll(t, src, 8)
			if want := []string{"a", "b"}; !slices.Equal(got, want) {
				t.Fatalf("handed out %q, want %q", got, want)
			}
			long, ok := errors.AsType[*stage.LongLineError](err)
			if !ok || *long != (stage.LongLineError{Line: 3, Max: 4}) {
				t.Fatalf("ended with %v, want a LongLineError for line 3", err)
			}
			if again := pullErr(t.Context(), t, src); !errors.Is(again, err) {
				t.Fatalf("then Pull() = %v, want %v again", again, err)
			}
			if n := src.Skipped(); n != 0 {
				t.Fatalf("Skipped() = %d, want 0", n)
			}
		})
	}
}

func TestLinesSkipsOverlongLines(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	in := "a\n" + long + "\n12345\nb\n" + long + long + "\r\nc\n" + long
	src := stage.Lines(strings.NewReader(in), stage.LineOptions{Max: 4, Long: stage.SkipLong})
	wantAll(t, src, []string{"a", "b", "c"}, stage.ErrEnd)
	if n := src.Skipped(); n != 4 {
		t.Fatalf("Skipped() = %d, want 4", n)
	}
}

// stream is an endless reader of a byte.
type stream byte

func (s stream) Read(p []byte) (int, error) {
	p[0] = byte(s)
	for i := 1; i < len(p); i *= 2 {
		copy(p[i:], p[:i])
	}
	return len(p), nil
}

func TestLinesPassesOverAGigabyteWithoutHoldingIt(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 1 GiB")
	}
	in := io.MultiReader(io.LimitReader(stream('x'), 1<<30), strings.NewReader("\nnext\n"))
	src := stage.Lines(in, stage.LineOptions{Long: stage.SkipLong})
	if used := allocated(func() { wantAll(t, src, []string{"next"}, stage.ErrEnd) }); used > 4<<20 {
		t.Fatalf("allocated %d bytes, want at most 4 MiB", used)
	}
	if n := src.Skipped(); n != 1 {
		t.Fatalf("Skipped() = %d, want 1", n)
	}
}

// allocated returns how many bytes fn allocates.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestLinesLooksAtTheContextWhilePassingOver(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	reads := 0
	endless := readerFunc(func(p []byte) (int, error) {
		if reads++; reads == 100 {
			cancel()
		}
		return stream('x').Read(p)
	})
	src := stage.Lines(endless, stage.LineOptions{Max: 10, Long: stage.SkipLong})
	if err := pullErr(ctx, t, src); !errors.Is(err, context.Canceled) || reads != 100 {
		t.Fatalf("Pull() = %v after %d reads, want context.Canceled after 100", err, reads)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestLinesReportsTheErrorOfItsReader(t *testing.T) {
	for _, err := range []error{errBoom, io.ErrUnexpectedEOF, fmt.Errorf("wrapped: %w", io.EOF), stage.ErrEnd} {
		t.Run(err.Error(), func(t *testing.T) {
			in := io.MultiReader(strings.NewReader("a\nb\nhalf a li"), iotest.ErrReader(err))
			src := stage.Lines(in, stage.LineOptions{})
			got, final := pullAll(t, src, 1)
			if want := []string{"a", "b"}; !slices.Equal(got, want) {
				t.Fatalf("handed out %q, want %q", got, want)
			}
			if !errors.Is(final, err) || final == stage.ErrEnd || !strings.Contains(final.Error(), "line 3") {
				t.Fatalf("ended with %v, want %v in line 3", final, err)
			}
			if again := pullErr(t.Context(), t, src); !errors.Is(again, final) {
				t.Fatalf("then Pull() = %v, want %v again", again, final)
			}
		})
	}
}

func TestLinesGivesUpOnAReaderWithoutProgress(t *testing.T) {
	reads := 0
	stuck := readerFunc(func([]byte) (int, error) { reads++; return 0, nil })
	err := pullErr(t.Context(), t, stage.Lines(stuck, stage.LineOptions{}))
	if !errors.Is(err, io.ErrNoProgress) || reads != 100 {
		t.Fatalf("Pull() = %v after %d reads, want io.ErrNoProgress after 100", err, reads)
	}
}

func TestLinesRefusesAReaderThatCountsWrongly(t *testing.T) {
	for _, n := range []int{-1, math.MaxInt} {
		wrong := readerFunc(func([]byte) (int, error) { return n, nil })
		if err := pullErr(t.Context(), t, stage.Lines(wrong, stage.LineOptions{})); err == stage.ErrEnd {
			t.Fatalf("a reader that returns %d ended the stream cleanly", n)
		}
	}
}

func TestLinesRefusesBadOptions(t *testing.T) {
	for _, o := range []stage.LineOptions{{Max: -1}, {Max: math.MaxInt}, {Long: 2}, {Long: -1}} {
		src := stage.Lines(strings.NewReader("a\n"), o)
		if err := pullErr(t.Context(), t, src); !strings.Contains(err.Error(), "LineOptions") {
			t.Fatalf("Pull() = %v for %+v, want an error that names the option", err, o)
		}
	}
}

// A line that has arrived must not wait for the next one.
func TestLinesReadsAgainOnlyWithNothingToHandOut(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer closePart(t, r)
	defer closePart(t, w)
	src, dst := stage.Lines(r, stage.LineOptions{}), make([]string, 8)
	for _, c := range []struct {
		write string
		want  []string
	}{{"one\ntwo\nth", []string{"one", "two"}}, {"ree\n", []string{"three"}}} {
		if _, err := io.WriteString(w, c.write); err != nil {
			t.Fatal(err)
		}
		n, err := src.Pull(t.Context(), dst)
		if err != nil || !slices.Equal(dst[:n], c.want) {
			t.Fatalf("Pull() = %q, %v, want %q", dst[:n], err, c.want)
		}
	}
}

func TestLinesAllocatesItsStringsOnly(t *testing.T) {
	const lines = 512
	text := []byte(strings.Repeat("a line of text\n", lines))
	r := bytes.NewReader(text)
	endless := readerFunc(func(p []byte) (int, error) {
		if r.Len() == 0 {
			r.Reset(text)
		}
		return r.Read(p)
	})
	src, dst := stage.Lines(endless, stage.LineOptions{}), make([]string, 64)
	pull := func() {
		for n := 0; n < lines; {
			k, err := src.Pull(t.Context(), dst[:min(len(dst), lines-n)])
			if err != nil {
				t.Fatal(err)
			}
			n += k
		}
	}
	pull()
	if allocs := testing.AllocsPerRun(100, pull); allocs != lines {
		t.Fatalf("%v allocations for %d lines", allocs, lines)
	}
}

func TestLinesPanicOfTheReaderIsFinal(t *testing.T) {
	src := stage.Lines(readerFunc(func([]byte) (int, error) { panic(errBoom) }), stage.LineOptions{})
	func() {
		defer func() { _ = recover() }()
		_, _ = src.Pull(t.Context(), make([]string, 1))
		t.Error("Pull did not panic")
	}()
	if err := pullErr(t.Context(), t, src); err == stage.ErrEnd {
		t.Fatal("Pull() = ErrEnd after a panic")
	}
}

// from has the signature of flow.From.
func from[T any](src stage.Source[T]) []T {
	dst := make([]T, 1)
	n, _ := src.Pull(context.Background(), dst)
	return dst[:n]
}

func TestTheTypeOfItemsIsInferredFromPull(t *testing.T) {
	got := from(stage.Lines(strings.NewReader("a\n"), stage.LineOptions{}))
	if !slices.Equal(got, []string{"a"}) {
		t.Fatalf("got %q", got)
	}
	numbers := from(stage.JSONLines[int](strings.NewReader("1\n"), stage.LineOptions{}))
	if !slices.Equal(numbers, []int{1}) {
		t.Fatalf("got %v", numbers)
	}
}

func ExampleLines() {
	src := stage.Lines(strings.NewReader("one\nfar too long\nthree"), stage.LineOptions{Max: 5, Long: stage.SkipLong})
	printAll(src)
	fmt.Println("skipped:", src.Skipped())
	// Output:
	// one
	// three
	// stage: end of stream
	// skipped: 1
}

func BenchmarkLines(b *testing.B) {
	const lines = 4096
	text := []byte(strings.Repeat("a line of text that is about sixty bytes long, more or less\n", lines))
	dst := make([]string, 256)
	b.ReportAllocs()
	for b.Loop() {
		src := stage.Lines(bytes.NewReader(text), stage.LineOptions{})
		for {
			if _, err := src.Pull(b.Context(), dst); err == stage.ErrEnd {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/lines, "ns/line")
}

func BenchmarkLinesScannerBaseline(b *testing.B) {
	const lines = 4096
	text := []byte(strings.Repeat("a line of text that is about sixty bytes long, more or less\n", lines))
	dst := make([]string, 256)
	b.ReportAllocs()
	for b.Loop() {
		sc := bufio.NewScanner(bytes.NewReader(text))
		for i := 0; sc.Scan(); i++ {
			dst[i%len(dst)] = sc.Text()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/lines, "ns/line")
}
