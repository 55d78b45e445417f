package stage

import (
	"context"
	"fmt"
	"io"
)

// LongLine says what happens to a line that is longer than LineOptions.Max.
type LongLine int

// What happens to an over-long line.
const (
	FailLong LongLine = iota // the stream ends with a *LongLineError
	SkipLong                 // the line is passed over and counted
)

// LineOptions are the options of [Lines] and [JSONLines]. The zero value is ready for use.
type LineOptions struct {
	Max  int      // bytes in a line, without its end; 0 means 1 MiB, at most 1 GiB
	Long LongLine // what happens to a longer line; FailLong by default
}

const (
	defaultMax = 1 << 20
	highestMax = 1 << 30
)

func (o LineOptions) validate() error {
	if o.Max < 0 || o.Max > highestMax {
		return fmt.Errorf("stage: LineOptions.Max must be in 0..%d, got %d", highestMax, o.Max)
	}
	if o.Long != FailLong && o.Long != SkipLong {
		return fmt.Errorf("stage: LineOptions.Long must be FailLong or SkipLong, got %d", o.Long)
	}
	return nil
}

// LongLineError says that a line is longer than allowed.
type LongLineError struct {
	Line int64 // the first line is 1
	Max  int   // bytes
}

// Error gives the line and the limit.
func (e *LongLineError) Error() string {
	return fmt.Sprintf("stage: line %d is longer than %d bytes", e.Line, e.Max)
}

// LineSource is the source that [Lines] returns, which is the only way to make one.
type LineSource struct{ in *lineReader }

// Lines returns a source of the lines of r, without the "\n" or "\r\n" at their ends. A last line without an end is a line; it
// loses a "\r" at its end as well, as with bufio.ScanLines.
//
//	Emits:       what one read has brought, up to the demand; it reads again only when it has no whole line to
//	             hand out.
//	Ends:        when r returns io.EOF.
//	Errors:      any other error of r, io.ErrUnexpectedEOF included, ends the stream after the whole lines
//	             before it; a line that it cuts off is not handed out. A reader that brings nothing a hundred
//	             times in a row fails with io.ErrNoProgress. For over-long lines see LineOptions; options out of
//	             range are an error of the first Pull.
//	Ownership:   r is not closed. It is read ahead by at most 64 KiB, or Max where that is more.
//	Concurrency: one caller at a time. A reader can't be interrupted: a context that is done counts between two
//	             reads. Where that is too late, close r, or set its deadline, when the context ends.
//	Cost:        80 ns for a line of 60 bytes, as with a bufio.Scanner; one string a line and no other
//	             allocation (BenchmarkLines); memory for one buffer, even where a line has gigabytes.
func Lines(r io.Reader, o LineOptions) *LineSource {
	return &LineSource{in: newLineReader(r, o)}
}

// Pull hands out lines; see [Source].
func (s *LineSource) Pull(ctx context.Context, dst []string) (int, error) {
	return pullLines(ctx, s.in, dst, putString)
}

// Skipped returns how many over-long lines were passed over. It may be called at any time from any goroutine.
func (s *LineSource) Skipped() int64 { return s.in.skipped.Load() }

func putString(dst *string, line []byte) (bool, error) {
	*dst = string(line)
	return true, nil
}
