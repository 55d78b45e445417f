package stage

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync/atomic"
)

// lineReader cuts what it reads into lines. It never holds more than one line and the rest of one read.
type lineReader struct {
	in       window
	max      int // bytes in a line, without its end
	long     LongLine
	scanned  int          // so much of the unused part has no "\n"
	passing  bool         // inside an over-long line that is passed over
	number   int64        // of the line returned last
	skipped  atomic.Int64 // over-long lines passed over
	err      error        // final
	bufLimit int
}

func newLineReader(r io.Reader, o LineOptions) *lineReader {
	l := &lineReader{in: window{r: r}, max: o.Max, long: o.Long, err: o.validate()}
	if l.max == 0 {
		l.max = defaultMax
	}
	l.bufLimit = max(readSize, l.max+len("\r\n"))
	return l
}

// next returns the next line in the buffer, valid until the next call. Without a whole line there it returns false; then
// either err is set, or fill goes on.
func (l *lineReader) next() ([]byte, bool) {
	for {
		line, ok := l.cut()
		if !ok {
			l.checkPart()
			return nil, false
		}
		l.number++
		if l.passing { // this was the tail of an over-long line
			l.passing = false
			continue
		}
		if line = bytes.TrimSuffix(line, []byte("\r")); len(line) <= l.max {
			return line, true
		}
		if l.tooLong(l.number); l.err != nil {
			return nil, false
		}
	}
}

// cut takes the bytes up to the next "\n" out of the buffer, or the last ones at the end of the input.
func (l *lineReader) cut() ([]byte, bool) {
	part := l.in.unused()
	if i := bytes.IndexByte(part[l.scanned:], '\n'); i >= 0 {
		i += l.scanned
		l.scanned = 0
		l.in.use(i + 1)
		return part[:i], true
	}
	l.scanned = len(part)
	switch {
	case l.in.err == nil:
		return nil, false
	case !l.in.atEOF(): // what is left is not known to be a whole line
		l.err = fmt.Errorf("stage: read line %d: %w", l.number+1, l.in.err)
		return nil, false
	case len(part) == 0:
		l.err = ErrEnd
		return nil, false
	default:
		l.scanned = 0
		l.in.use(len(part))
		return part, true
	}
}

// checkPart looks at the beginning of a line whose end has not been read. One byte above max may still be the "\r".
func (l *lineReader) checkPart() {
	part := len(l.in.unused())
	if !l.passing && part > l.max+1 {
		l.passing = true
		l.tooLong(l.number + 1)
	}
	if l.passing {
		l.in.use(part)
		l.scanned = 0
	}
}

func (l *lineReader) tooLong(line int64) {
	if l.long == SkipLong {
		l.skipped.Add(1)
		return
	}
	if l.err == nil {
		l.err = &LongLineError{Line: line, Max: l.max}
	}
}

// pullLines fills dst with what put makes of each line; put returns false for a line without a value, and an error that is
// then final. It goes to the reader only while it has nothing to hand out, and looks at ctx each time before it does.
func pullLines[T any](ctx context.Context, l *lineReader, dst []T, put func(*T, []byte) (bool, error)) (int, error) {
	for {
		if ok, err := proceed(ctx, l.err, len(dst)); !ok {
			return 0, err
		}
		n := 0
		for n < len(dst) {
			line, ok := l.next()
			if !ok {
				break
			}
			ok, err := put(&dst[n], line)
			if err != nil {
				l.err = err
				break
			}
			if ok {
				n++
			}
		}
		if n > 0 || l.err != nil {
			return n, l.err
		}
		l.in.fill(l.bufLimit)
	}
}
