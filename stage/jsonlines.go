package stage

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/weir-go/weir/internal/strictjson"
)

// LineError is an error in what a line says.
type LineError struct {
	Line int64 // the first line is 1
	Err  error
}

// Error gives the line and the cause.
func (e *LineError) Error() string { return fmt.Sprintf("stage: line %d: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// JSONLineSource is the source that [JSONLines] returns, which is the only way to make one.
type JSONLineSource[T any] struct{ in *lineReader }

// JSONLines returns a source of the JSON values of r, one a line. Blank lines are passed over.
//
//	Emits:       what one read has brought, up to the demand; no line is decoded before it is asked for.
//	Ends:        when r returns io.EOF.
//	Errors:      a line that is no value of T, is nested deeper than 64 levels, or has something behind the value, ends
//	             the stream with a *LineError, of a few hundred bytes at most. To go on behind such a line use Lines
//	             and decode in a step that may fail. Otherwise as Lines.
//	Ownership:   each value is fresh. r is not closed.
//	Concurrency: as Lines.
//	Cost:        json.Unmarshal a line, whose size LineOptions.Max bounds.
func JSONLines[T any](r io.Reader, o LineOptions) *JSONLineSource[T] {
	return &JSONLineSource[T]{in: newLineReader(r, o)}
}

// Pull hands out values; see [Source].
func (s *JSONLineSource[T]) Pull(ctx context.Context, dst []T) (int, error) {
	return pullLines(ctx, s.in, dst, s.decode)
}

// Skipped returns how many over-long lines were passed over. It may be called at any time from any goroutine.
func (s *JSONLineSource[T]) Skipped() int64 { return s.in.skipped.Load() }

func (s *JSONLineSource[T]) decode(dst *T, line []byte) (bool, error) {
	if len(bytes.Trim(line, " \t\r")) == 0 {
		return false, nil
	}
	var v T // not in dst: an UnmarshalJSON may keep its receiver (P8)
	s.in.err = errPanicked
	err := strictjson.Unmarshal(line, &v)
	s.in.err = nil
	if err != nil {
		return false, &LineError{Line: s.in.number, Err: err}
	}
	*dst = v
	return true, nil
}
