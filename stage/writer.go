package stage

import (
	"context"
	"fmt"
	"io"
)

const writeSize = 64 << 10 // bytes gathered for one Write

// Writer returns a sink that writes each item to w, as it is: no separator is added.
//
//	Shape:       the items of a push go out together, up to 64 KiB a Write; a larger item has a Write of its
//	             own.
//	Errors:      where a Write fails or is short, *BatchError lists the items that are not known to be written
//	             whole, all others are. If w stopped inside an item, or failed without saying where, every later
//	             Push fails with the same error: anything written behind half an item could not be told from it.
//	             If w stopped between two items, a later Push goes on.
//	Ownership:   w is neither flushed nor closed.
//	Concurrency: one caller at a time. A writer can't be interrupted: a context that is done counts between two
//	             Writes.
//	Cost:        one copy of items that share a Write, in a buffer that is used again: 6 ns for 60 bytes, no
//	             allocation (BenchmarkWriter).
func Writer(w io.Writer) Sink[[]byte] { return &writer{w: w} }

type writer struct {
	w   io.Writer
	buf []byte
	err error // final: w stopped inside an item
}

func (s *writer) Push(ctx context.Context, items [][]byte) error {
	if s.err != nil {
		return s.err
	}
	for first := 0; first < len(items); {
		if ctx.Err() != nil {
			return failFrom(first, len(items), context.Cause(ctx))
		}
		next, out := s.gather(items, first)
		n, err := s.write(out)
		if err != nil {
			whole := s.wholeItems(items[first:next], n, err)
			return failFrom(first+whole, len(items), err)
		}
		first = next
	}
	return nil
}

// gather returns what is to be written next, items[first:next] in one piece.
func (s *writer) gather(items [][]byte, first int) (next int, out []byte) {
	size := len(items[first])
	next = first + 1
	for next < len(items) && size+len(items[next]) <= writeSize {
		size += len(items[next])
		next++
	}
	if next == first+1 {
		return next, items[first]
	}
	s.buf = s.buf[:0]
	for _, item := range items[first:next] {
		s.buf = append(s.buf, item...)
	}
	return next, s.buf
}

// write makes an error of everything but a whole write.
func (s *writer) write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	s.err = errPanicked
	n, err := s.w.Write(p)
	s.err = nil
	switch {
	case n < 0 || n > len(p):
		return -1, fmt.Errorf("stage: writer returned the count %d for %d bytes", n, len(p))
	case err == nil && n < len(p):
		return n, io.ErrShortWrite
	default:
		return n, err
	}
}

// wholeItems returns how many of items are known to be written when a Write of all of them failed with err after n bytes. It
// ends the sink unless w stopped between two items.
func (s *writer) wholeItems(items [][]byte, n int, err error) int {
	for i, item := range items {
		if n < len(item) {
			if n != 0 { // inside the item, or an impossible count
				s.err = err
			}
			return i
		}
		n -= len(item)
	}
	s.err = err // all is written, but w says that something failed
	return len(items) - 1
}
