// Command deadletter adds up amounts, one JSON object to a line, and writes the lines that it can't use to a file, rejected.jsonl or the
// one that it is told.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

const input = `{"account": "a", "cents": 250}
{"account": "b", "cents": "many"}
{"account": "a", "cents": 50}
not JSON at all
{"cents": 7}
{"account": "b", "cents": 1000}
`

func main() {
	rejects := "rejected.jsonl"
	if len(os.Args) > 1 {
		rejects = os.Args[1]
	}
	if err := run(context.Background(), strings.NewReader(input), rejects, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Booking is a line that makes sense.
type Booking struct {
	Account string `json:"account"`
	Cents   int64  `json:"cents"`
}

// parse returns what a line says.
func parse(line string) (Booking, error) {
	var b Booking
	if err := json.Unmarshal([]byte(line), &b); err != nil {
		return b, err
	}
	if b.Account == "" {
		return b, errors.New("no account")
	}
	return b, nil
}

// run adds up what is in r, and writes what is wrong to the file rejects.
func run(ctx context.Context, r io.Reader, rejects string, w io.Writer) error {
	bad, err := newLetters(rejects)
	if err != nil {
		return err
	}
	sums := map[string]int64{}
	err = flow.From(stage.Lines(r, stage.LineOptions{})).
		TryMap(flow.NoContext(parse), flow.Name("parse"), flow.OnError(flow.DeadLetter(bad))).
		ForEach(func(_ context.Context, b Booking) error { sums[b.Account] += b.Cents; return nil }).
		Run(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "a: %d, b: %d; %d lines are in %s\n", sums["a"], sums["b"], bad.lines, rejects)
	return err
}

// letters is a sink that writes dead letters to a file, one JSON object to a line.
type letters struct {
	file  *os.File
	buf   *bufio.Writer
	lines int
}

func newLetters(name string) (*letters, error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	return &letters{file: f, buf: bufio.NewWriter(f)}, nil
}

// Push writes what a person needs to repair the line and send it again. A line is let go once it is in the file, so the buffer
// is flushed.
func (l *letters) Push(_ context.Context, ds []stage.DeadLetter) error {
	enc := json.NewEncoder(l.buf)
	for _, d := range ds {
		if err := enc.Encode(map[string]any{"line": d.Value, "stage": d.Stage, "error": d.Err.Error()}); err != nil {
			return err
		}
		l.lines++
	}
	return l.buf.Flush()
}

// Close is called once, when the run has ended.
func (l *letters) Close() error { return l.file.Close() }
