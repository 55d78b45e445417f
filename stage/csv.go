package stage

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"io"
)

// CSVOptions are the options of [CSV]. The zero value is ready for use.
type CSVOptions struct {
	Comma   rune // between fields; 0 means ','
	Comment rune // a line that begins with it is passed over; 0 means that there are no comments
	Fields  int  // fields in a record; 0 means as many as in the first record, negative any number
	Max     int  // bytes in a record as it is read, with the blank and comment lines in front; 0 means 1 MiB, at most 1 GiB
}

func (o CSVOptions) validate() error {
	if o.Max < 0 || o.Max > highestMax {
		return fmt.Errorf("stage: CSVOptions.Max must be in 0..%d, got %d", highestMax, o.Max)
	}
	return nil
}

// LongRecordError says that a record is longer than allowed.
type LongRecordError struct {
	Line int64 // where the record begins; the first line is 1
	Max  int   // bytes
}

// Error gives the line and the limit.
func (e *LongRecordError) Error() string {
	return fmt.Sprintf("stage: record on line %d is longer than %d bytes", e.Line, e.Max)
}

// CSV returns a source of the records of r, in the format of encoding/csv.
//
//	Emits:       one record a call: a second one could keep the first waiting.
//	Ends:        when r returns io.EOF between two records.
//	Errors:      all are final. A malformed record gives a *csv.ParseError with its line, one that is too long a
//	             *LongRecordError; an error of r names the line it was reading. Options out of range are an
//	             error of the first Pull.
//	Ownership:   each record is fresh. r is not closed. It is read ahead by at most 64 KiB.
//	Concurrency: one caller at a time. A reader can't be interrupted: a context that is done counts between two
//	             records.
//	Cost:        csv.Reader.Read a record.
func CSV(r io.Reader, o CSVOptions) Source[[]string] {
	in := &recordReader{in: window{r: r}, max: o.Max, line: 1}
	if in.max == 0 {
		in.max = defaultMax
	}
	s := &csvSource{in: in, csv: csv.NewReader(in), err: o.validate()}
	if o.Comma != 0 {
		s.csv.Comma = o.Comma
	}
	s.csv.Comment = o.Comment
	s.csv.FieldsPerRecord = o.Fields
	return s
}

type csvSource struct {
	in  *recordReader
	csv *csv.Reader
	err error
}

func (s *csvSource) Pull(ctx context.Context, dst [][]string) (int, error) {
	if ok, err := proceed(ctx, s.err, len(dst)); !ok {
		return 0, err
	}
	s.err = errPanicked
	record, err := s.read()
	if s.err = err; err != nil {
		return 0, err
	}
	dst[0] = record
	return 1, nil
}

func (s *csvSource) read() ([]string, error) {
	s.in.begin()
	record, err := s.csv.Read()
	switch {
	case s.in.failed != nil: // counts before what the parser says of a record that was cut off
		return nil, s.in.failed
	case err == io.EOF:
		return nil, ErrEnd
	default:
		return record, err
	}
}

// recordReader gives a csv.Reader one line at a time. The parser therefore never reads beyond the record that it was asked
// for, and what it has read is the size of that record.
type recordReader struct {
	in     window
	max    int
	size   int   // bytes of the current record so far
	first  int64 // its first line
	line   int64 // the line being read
	failed error // final; not io.EOF
}

func (r *recordReader) begin() { r.size, r.first = 0, r.line }

// Read returns at most one line, or a part of it.
func (r *recordReader) Read(p []byte) (int, error) {
	if len(r.in.unused()) == 0 {
		r.in.fill(readSize)
	}
	part := r.in.unused()
	switch {
	case len(part) == 0 && r.in.atEOF():
		return 0, io.EOF
	case len(part) == 0:
		return r.fail(fmt.Errorf("stage: read line %d: %w", r.line, r.in.err))
	case r.size == r.max:
		return r.fail(&LongRecordError{Line: r.first, Max: r.max})
	}
	part = part[:min(len(part), r.max-r.size)]
	if i := bytes.IndexByte(part, '\n'); i >= 0 {
		part = part[:i+1]
	}
	n := copy(p, part)
	r.in.use(n)
	r.size += n
	if n > 0 && p[n-1] == '\n' {
		r.line++
	}
	return n, nil
}

func (r *recordReader) fail(err error) (int, error) {
	r.failed = err
	return 0, err
}
