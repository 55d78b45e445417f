// Command etl extracts every function of a tree of Go files, by default that of the Go standard library, and loads them into a
// database: SQLite in a file, or PostgreSQL. See the README.
//
//	walk ==files==> parse (several) ==parsed==> number -> flatten ==functions==> load
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/weir-go/weir/flow"
)

// The exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)

	o, err := parseOptions(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitDone
	case err != nil:
		complain(stderr, err)
		return exitUsage
	}
	j, err := prepare(ctx, o)
	if err != nil {
		complain(stderr, err)
		return exitCode(err)
	}
	defer func() { _ = j.table.Close() }() // whatever was written is committed
	err = j.run(ctx, stderr, signals)
	if err != nil && err != errDrained { //nolint:errorlint // identity: a drain that went well
		complain(stderr, err)
	}
	if e := j.report(ctx, stdout, err); e != nil {
		complain(stderr, e)
		err = errors.Join(err, e)
	}
	return exitCode(err)
}

// The ends by signal. While preparing and after a second signal there is nothing to wait for.
var (
	errInterrupted = errors.New("interrupted")
	errDrained     = errors.New("interrupted and drained")
)

func exitCode(err error) int {
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errInterrupted), errors.Is(err, errDrained):
		return exitInterrupted
	default:
		return exitFailed
	}
}

// complain writes an error on one line.
func complain(w io.Writer, err error) {
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\t' })
	_, _ = fmt.Fprintln(w, "etl:", strings.Join(lines, "; ")) // nobody is left to be told of another error
}

// prepare opens what the job needs, the folder first: an error leaves no database behind that was not there.
func prepare(ctx context.Context, o options) (*job, error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	j := &job{options: o, failures: &failures{}}
	err := j.findSource(ctx)
	if err == nil {
		j.table, err = openTable(ctx, o.db)
	}
	if err == nil && !o.resume {
		if err = fresh(ctx, j.table); err != nil {
			_ = j.table.Close() // the error that counts is there
		}
	}
	if err != nil && ctx.Err() != nil {
		err = errInterrupted
	}
	if err != nil {
		return nil, err
	}
	j.store = j.table.Checkpoint()
	j.loader = &loader{table: j.table, perRow: o.slow}
	return j, nil
}

// run runs the pipeline to its end, or to one that a signal asks for: the first drains it, the second stops it.
func (j *job) run(ctx context.Context, stderr io.Writer, signals <-chan os.Signal) error {
	var err error
	if j.pipe, err = j.pipeline().Start(ctx); err != nil {
		return err
	}
	p := newProgress(stderr)
	stop := p.start(walkBehind(os.DirFS(j.src), j.places.behind, func(string, error) {}), j.counts)
	defer stop()
	select {
	case <-j.pipe.Done():
		return j.pipe.Wait()
	case <-signals:
	}
	p.say("interrupted: loading what has been read; interrupt again to stop at once")
	return drain(ctx, j.pipe, signals)
}

// drain lets everything inside finish, without a limit in time, unless another signal comes.
func drain(ctx context.Context, r *flow.Run, signals <-chan os.Signal) error {
	drained := make(chan error, 1)
	go func() { drained <- r.Drain(ctx) }()
	select {
	case err := <-drained:
		if err != nil {
			return err
		}
		return errDrained
	case <-signals:
		r.Stop()
		return fmt.Errorf("%w twice: %w", errInterrupted, <-drained)
	}
}

// report prints the summary, at once: what stdout gets is whole.
func (j *job) report(ctx context.Context, stdout io.Writer, end error) error {
	if j.pipe == nil {
		return nil
	}
	var out bytes.Buffer
	s := newSummary(j.pipe.Stats(), j.loader.rows.Load(), j.failures.count())
	var err error
	switch {
	case j.json:
		err = s.json(&out)
	case errors.Is(end, errInterrupted):
		return nil
	default:
		err = s.print(&out)
		fmt.Fprintf(&out, "\n%s.\n", j.pipe.Stats().Bottleneck().Why)
		j.failures.print(&out)
		err = errors.Join(err, printTop(ctx, &out, j.table))
	}
	_, werr := out.WriteTo(stdout)
	return errors.Join(err, werr)
}
