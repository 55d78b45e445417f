// Command mergelogs merges log files, each of which is in the order of time, into one.
//
//	go run ./examples/mergelogs web.log db.log
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: mergelogs FILE...")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// entry is a line of a file.
type entry struct{ file, line string }

// byTime compares two entries by what their lines begin with, a time in the format of RFC 3339.
func byTime(a, b entry) int {
	at, _, _ := strings.Cut(a.line, " ")
	bt, _, _ := strings.Cut(b.line, " ")
	return strings.Compare(at, bt)
}

// run writes the lines of all files to w, in the order of time. It holds a few lines of each file, however long they are.
func run(ctx context.Context, names []string, w io.Writer) error {
	var logs []flow.Flow[entry]
	for _, name := range names {
		logs = append(logs, lines(name))
	}
	out := bufio.NewWriter(w)
	err := logs[0].MergeSorted(byTime, logs[1:]...).
		ForEach(func(_ context.Context, e entry) error {
			_, err := fmt.Fprintf(out, "%s\t%s\n", e.file, e.line)
			return err
		}).
		Run(ctx)
	return errors.Join(err, out.Flush())
}

// lines is the blueprint for reading one file, which is opened when the pipeline starts and closed when it has ended.
func lines(name string) flow.Flow[entry] {
	open := func(context.Context) (stage.Source[string], error) {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		return &file{stage.Lines(f, stage.LineOptions{}), f}, nil
	}
	return flow.Open(open).Map(func(line string) entry { return entry{name, line} })
}

// file is a source of lines that is closed by the engine.
type file struct {
	stage.Source[string]
	io.Closer
}
