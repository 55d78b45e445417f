package stage_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/weir-go/weir/stage"
)

// oddReaders deliver the same bytes in different pieces.
var oddReaders = map[string]func(io.Reader) io.Reader{
	"whole":     func(r io.Reader) io.Reader { return r },
	"bytes":     iotest.OneByteReader,
	"halves":    iotest.HalfReader,
	"data, err": iotest.DataErrReader,
}

func FuzzLines(f *testing.F) {
	for _, seed := range []string{"", "a\nb", "\r\n\r", "long line\nx\n", "\n\n", "123456789", "a\x00\nb\r\r\n"} {
		f.Add([]byte(seed), 4, false)
		f.Add([]byte(seed), 1, true)
	}
	f.Fuzz(func(t *testing.T, in []byte, limit int, skip bool) {
		limit = 1 + limit&0xff
		o := stage.LineOptions{Max: limit}
		if skip {
			o.Long = stage.SkipLong
		}
		want, long := referenceLines(in, limit, skip)
		for name, odd := range oddReaders {
			src := stage.Lines(odd(bytes.NewReader(in)), o)
			got, err := pullAll(t, src, 3)
			if !slices.Equal(got, want) {
				t.Fatalf("%s: handed out %q, want %q", name, got, want)
			}
			if _, failed := errors.AsType[*stage.LongLineError](err); failed != (long > 0 && !skip) || !failed && err != stage.ErrEnd {
				t.Fatalf("%s: ended with %v; %d lines are too long", name, err, long)
			}
			if skip && src.Skipped() != int64(long) {
				t.Fatalf("%s: Skipped() = %d, want %d", name, src.Skipped(), long)
			}
		}
		failing := stage.Lines(io.MultiReader(bytes.NewReader(in), iotest.ErrReader(errBoom)), o)
		if _, err := pullAll(t, failing, 3); err == stage.ErrEnd {
			t.Fatal("a reader that fails ended the stream cleanly")
		}
	})
}

// referenceLines cuts in with a bufio.Scanner, up to the first line above limit or without such lines.
func referenceLines(in []byte, limit int, skip bool) (want []string, long int) {
	sc := bufio.NewScanner(bytes.NewReader(in))
	sc.Buffer(nil, len(in)+2)
	for sc.Scan() {
		if len(sc.Bytes()) <= limit {
			want = append(want, sc.Text())
			continue
		}
		if long++; !skip {
			break
		}
	}
	return want, long
}
