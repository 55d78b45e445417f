package stage

import (
	"errors"
	"io"
)

const (
	readSize      = 64 << 10 // bytes asked of a reader at a time
	maxEmptyReads = 100      // as in bufio
)

var errBadCount = errors.New("stage: reader returned a count outside its buffer")

// window holds what has been read from r and not been used yet.
type window struct {
	r          io.Reader
	buf        []byte
	start, end int   // buf[start:end] is not used yet
	err        error // what r ended with; nothing is read after it
}

func (w *window) unused() []byte { return w.buf[w.start:w.end] }

func (w *window) use(n int) { w.start += n }

// atEOF reports whether r has ended cleanly: with io.EOF itself, as io.Reader demands. One that is wrapped is an error.
func (w *window) atEOF() bool {
	return w.err == io.EOF //nolint:errorlint // see above
}

// fill reads once, into a buffer of at most limit bytes that must not be full of unused ones. Then there is more to use, or
// err is set, or both.
func (w *window) fill(limit int) {
	if w.err != nil {
		return
	}
	w.makeRoom(limit)
	w.err = errPanicked
	n, err := readSome(w.r, w.buf[w.end:])
	w.end += n
	w.err = err
}

func (w *window) makeRoom(limit int) {
	if w.start > 0 {
		w.end = copy(w.buf, w.unused())
		w.start = 0
	}
	if w.end == len(w.buf) {
		larger := make([]byte, min(max(2*len(w.buf), readSize), limit))
		copy(larger, w.buf)
		w.buf = larger
	}
}

// readSome reads until there is something or an error.
func readSome(r io.Reader, p []byte) (int, error) {
	for range maxEmptyReads {
		n, err := r.Read(p)
		if n < 0 || n > len(p) {
			return 0, errBadCount
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}
