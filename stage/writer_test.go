package stage_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weir-go/weir/stage"
)

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// recorder remembers each Write, and fails the one that would take it beyond room.
type recorder struct {
	writes []string
	room   int
	err    error
}

func (r *recorder) Write(p []byte) (int, error) {
	if n := r.room; n < len(p) {
		r.room = 0
		r.writes = append(r.writes, string(p[:n]))
		return n, r.err
	}
	r.room -= len(p)
	r.writes = append(r.writes, string(p))
	return len(p), nil
}

func chunks(vs ...string) [][]byte {
	items := make([][]byte, len(vs))
	for i, v := range vs {
		items[i] = []byte(v)
	}
	return items
}

func TestWriterGathersAPush(t *testing.T) {
	big := strings.Repeat("x", 40<<10)
	huge := strings.Repeat("y", 100<<10)
	r := &recorder{room: 1 << 20}
	sink := stage.Writer(r)
	for _, items := range [][]string{{"a", "", "b"}, {"c"}, {""}, {big, "d", big, huge, "e"}} {
		if err := sink.Push(t.Context(), chunks(items...)); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"ab", "c", big + "d", big, huge, "e"}; !slices.Equal(r.writes, want) {
		t.Fatalf("%d writes, want %d: one for each push, up to 64 KiB", len(r.writes), len(want))
	}
}

func TestWriterGoesOnWhenTheWriteStoppedBetweenItems(t *testing.T) {
	for room, want := range map[int][]int{2: {1, 2}, 4: {2}} {
		r := &recorder{room: room, err: errBoom}
		sink := stage.Writer(r)
		err := sink.Push(t.Context(), chunks("aa", "bb", "cc"))
		if got := failedItems(t, err); !slices.Equal(got, want) || !errors.Is(err, errBoom) {
			t.Fatalf("Push() = %v with items %v, want boom for %v", err, got, want)
		}
		r.room = 100
		if err := sink.Push(t.Context(), chunks("dd")); err != nil {
			t.Fatalf("Push() = %v after a failure between items", err)
		}
	}
}

func TestWriterFailsWholeWhenNothingWasWritten(t *testing.T) {
	r := &recorder{err: errBoom}
	sink := stage.Writer(r)
	err := sink.Push(t.Context(), chunks("a", "b"))
	if _, some := errors.AsType[*stage.BatchError](err); some || !errors.Is(err, errBoom) {
		t.Fatalf("Push() = %v, want %v for all", err, errBoom)
	}
	r.room = 100
	if err := sink.Push(t.Context(), chunks("a", "b")); err != nil {
		t.Fatalf("Push() = %v, want nil", err)
	}
}

func TestWriterEndsWhenTheWriteStoppedInsideAnItem(t *testing.T) {
	r := &recorder{room: 3, err: errBoom}
	sink := stage.Writer(r)
	err := sink.Push(t.Context(), chunks("aa", "bb", "cc"))
	if got := failedItems(t, err); !slices.Equal(got, []int{1, 2}) {
		t.Fatalf("items %v failed, want 1 and 2", got)
	}
	r.room = 100
	if err := sink.Push(t.Context(), chunks("bb", "cc")); !errors.Is(err, errBoom) {
		t.Fatalf("Push() = %v, want %v: half an item is in the output", err, errBoom)
	}
	if got := strings.Join(r.writes, ""); got != "aab" {
		t.Fatalf("wrote %q, want nothing behind the torn item", got)
	}
}

func TestWriterEndsAtWritersThatSayNonsense(t *testing.T) {
	for name, w := range map[string]writerFunc{
		"more than there was":          func(p []byte) (int, error) { return len(p) + 1, nil },
		"less than nothing":            func([]byte) (int, error) { return -1, nil },
		"an error, and all is written": func(p []byte) (int, error) { return len(p), errBoom },
	} {
		t.Run(name, func(t *testing.T) {
			sink := stage.Writer(w)
			if err := sink.Push(t.Context(), chunks("a", "b")); err == nil {
				t.Fatal("Push() = nil")
			}
			if err := sink.Push(t.Context(), chunks("a")); err == nil {
				t.Fatal("the second Push() = nil, want the error again")
			}
		})
	}
}

func TestWriterAShortWriteIsAnError(t *testing.T) {
	sink := stage.Writer(&recorder{room: 1}) // returns 1, nil
	if err := sink.Push(t.Context(), chunks("a", "b")); !errors.Is(err, io.ErrShortWrite) {
		t.Fatalf("Push() = %v, want io.ErrShortWrite", err)
	}
}

func TestWriterLooksAtTheContextBetweenWrites(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	huge := strings.Repeat("x", 100<<10)
	sink := stage.Writer(writerFunc(func(p []byte) (int, error) {
		cancel()
		return len(p), nil
	}))
	err := sink.Push(ctx, chunks(huge, huge, "c"))
	if got := failedItems(t, err); !slices.Equal(got, []int{1, 2}) || !errors.Is(err, context.Canceled) {
		t.Fatalf("Push() = %v with items %v, want context.Canceled for 1 and 2", err, got)
	}
}

func TestWriterPanicIsFinal(t *testing.T) {
	sink := stage.Writer(writerFunc(func([]byte) (int, error) { panic(errBoom) }))
	func() {
		defer func() { _ = recover() }()
		_ = sink.Push(t.Context(), chunks("a"))
		t.Error("Push did not panic")
	}()
	if err := sink.Push(t.Context(), chunks("a")); err == nil {
		t.Fatal("Push() = nil after a panic in the writer")
	}
}

func TestWriterDoesNotAllocate(t *testing.T) {
	sink, items := stage.Writer(io.Discard), chunks("a", "b", "c")
	ctx := t.Context()
	if allocs := testing.AllocsPerRun(100, func() { _ = sink.Push(ctx, items) }); allocs != 0 {
		t.Fatalf("Push allocates %v times, want 0", allocs)
	}
}

func ExampleWriter() {
	sink := stage.Writer(os.Stdout)
	_ = sink.Push(context.Background(), [][]byte{[]byte("one\n"), []byte("two\n")})
	// Output:
	// one
	// two
}

func BenchmarkWriter(b *testing.B) {
	const items = 256
	push := make([][]byte, items)
	for i := range push {
		push[i] = bytes.Repeat([]byte("x"), 60)
	}
	sink := stage.Writer(io.Discard)
	b.ReportAllocs()
	for b.Loop() {
		if err := sink.Push(b.Context(), push); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/items, "ns/item")
}
