// Command etl extracts every function of a tree of Go files, by default that of the Go standard library, and loads them into a
// database: SQLite in a file, or PostgreSQL. See the README.
//
//	walk ==files==> parse (several) ==parsed==> number -> flatten ==functions==> load
//
// The edge functions is a stream in JetStream, unless -through says otherwise: it outlives the process.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"strings"
	"syscall"
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
	err = j.run(ctx, stderr, signals)
	if err != nil && err != errDrained { //nolint:errorlint // identity: a drain that went well
		complain(stderr, err)
	}
	if e := errors.Join(j.report(ctx, stdout, err), j.close()); e != nil {
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

// prepare opens what the job needs, the folder first: an error leaves nothing behind that was not there.
func prepare(ctx context.Context, o options) (*job, error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	j := &job{options: o, failures: &failures{}}
	if err := j.open(ctx); err != nil {
		if ctx.Err() != nil {
			err = errInterrupted
		}
		return nil, errors.Join(err, j.close())
	}
	j.store = j.table.Checkpoint()
	j.loader = &loader{table: j.table, perRow: o.slow}
	return j, nil
}

func (j *job) open(ctx context.Context) (err error) {
	if j.half != halfLoad {
		if err = j.findSource(ctx); err != nil {
			return err
		}
	}
	tab, err := openTable(ctx, j.db)
	if err != nil {
		return err // without a table, where there would be one that is nil
	}
	j.table = tab
	if j.durable, err = openDurable(ctx, &j.options); err != nil {
		return err
	}
	if j.resume || j.half == halfLoad {
		return nil
	}
	return fresh(ctx, j.table)
}

// close closes what is open. Whatever was written is committed.
func (j *job) close() error {
	var err error
	if j.durable != nil {
		err = j.durable.Close()
	}
	if j.table != nil {
		_ = j.table.Close()
	}
	return err
}

// run runs the pipeline to its end, or to one that a signal asks for: the first drains it, the second stops it.
func (j *job) run(ctx context.Context, stderr io.Writer, signals <-chan os.Signal) error {
	var err error
	if j.pipe, err = j.pipeline().Start(ctx); err != nil {
		return err
	}
	p := newProgress(stderr)
	var files iter.Seq2[string, error]
	if j.half != halfLoad {
		files = walkBehind(os.DirFS(j.src), j.places.behind, func(string, error) {})
	}
	stop := p.start(files, j.counts)
	defer stop()
	select {
	case <-j.pipe.Done():
		return j.pipe.Wait()
	case <-signals:
	}
	p.say("interrupted: " + draining[j.half] + "; interrupt again to stop at once")
	return j.finish(ctx, signals)
}

// draining is what each half does when it is interrupted.
var draining = map[string]string{
	bothHalves:  "loading what has been read",
	halfExtract: "storing what has been read, as far as the stream has room",
	halfLoad:    "loading what has been fetched, the rest stays in the stream",
}

// finish lets everything inside finish, without a limit in time, unless another signal comes.
func (j *job) finish(ctx context.Context, signals <-chan os.Signal) error {
	finished := make(chan error, 1)
	go func() { finished <- j.drain(ctx) }()
	select {
	case err := <-finished:
		if err != nil {
			return err
		}
		return errDrained
	case <-signals:
		j.pipe.Stop()
		return fmt.Errorf("%w twice: %w", errInterrupted, <-finished)
	}
}

// drain ends the intake, that is the walk, and with it, once the stream is empty, the rest. A Drain of the run would leave in the
// stream what is there when the last function has got in. The half that only loads is drained like that.
func (j *job) drain(ctx context.Context) error {
	if j.durable == nil || j.half == halfLoad {
		return j.pipe.Drain(ctx)
	}
	j.quit.Store(true)
	return j.pipe.Wait()
}

// report prints the summary, at once: what stdout gets is whole.
func (j *job) report(ctx context.Context, stdout io.Writer, why error) error {
	if j.pipe == nil {
		return nil
	}
	var out bytes.Buffer
	end, err := j.end(ctx)
	s := j.summary(end)
	switch {
	case j.json:
		err = errors.Join(err, s.json(&out))
	case errors.Is(why, errInterrupted):
		s.printStream(&out)
	default:
		err = errors.Join(err, s.print(&out))
		fmt.Fprintf(&out, "\n%s.\n", j.bottleneck().Why)
		j.failures.print(&out)
		err = errors.Join(err, printTop(ctx, &out, j.table))
	}
	_, werr := out.WriteTo(stdout)
	return errors.Join(err, werr)
}

// end is the level of the stream at the end of the run, nil if there is no stream.
func (j *job) end(ctx context.Context) (*level, error) {
	if j.durable == nil {
		return nil, nil
	}
	l, err := j.durable.level(ctx)
	if err != nil {
		return nil, err
	}
	return &l, nil
}
