package flow

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/weir-go/weir/internal/engine"
)

// Run is a pipeline that has been started. Its methods are safe for concurrent use, and may be called after the end.
type Run struct{ run *engine.Run }

// Wait waits for the end and returns the error that [Pipeline.Run] describes. User code that ignores its context is waited for one
// second after a stop; then Wait returns an error that names its stage.
func (r *Run) Wait() error { return r.run.Wait() }

// Done returns a channel that is closed at the end.
func (r *Run) Done() <-chan struct{} { return r.run.Done() }

// Drain ends the intake and lets everything inside finish: it is an end of the stream at every source. Pulls that are waiting are
// cancelled, inlets refuse, partial batches are handed on at once. Sinks get a live context to the end. Drain returns what
// Wait returns. Once ctx is done it turns into a stop, and the error is [ErrStopped] with the cause. A stage of the run must
// not call it, nor Wait: it would wait for itself. Stop, and a Take, may be used from inside.
func (r *Run) Drain(ctx context.Context) error { return r.run.Drain(ctx, ErrStopped) }

// Stop abandons the run: everything inside is given back. It does not wait; Wait returns [ErrStopped] then, unless the run
// has ended before.
func (r *Run) Stop() { r.run.Stop(ErrStopped) }

// Report counts how the items ended, at any time. Items are counted where they leave the pipeline, as they are there: a batch
// that reaches a sink is one, an item that reaches two branches is two. What an operator lets go as its business, as Filter
// does, is not counted here, but in the operator's Stats.
func (r *Run) Report() Report { return Report(r.run.Report()) }

// Graph returns the graph that runs.
func (r *Run) Graph() Graph { return graphOf(r.run) }

// Report says how the items of a run ended.
type Report struct {
	Done      int64 // taken by a sink
	Skipped   int64 // let go by OnError: with Skip, or stored as a dead letter
	Failed    int64 // whose error stops the run, or whose message OnError has delivered again with Redeliver
	GivenBack int64 // not processed: they were inside when the run ended, or nobody wanted them
	Dropped   int64 // by the policies of edges
	Unknown   int64 // in the hands of code that did not return
}

// RunUntilSignal runs p and drains it at the first of the signals, by default SIGINT and SIGTERM. A drain that takes longer
// than grace, and a second signal, stop it. It returns nil after a drain that has finished. A source that can't be interrupted,
// such as stage.Lines over a terminal, keeps a drain waiting for the whole of grace; while Open waits the first signal
// stops.
func RunUntilSignal(ctx context.Context, p Pipeline, grace time.Duration, sig ...os.Signal) error {
	if len(sig) == 0 {
		sig = []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, sig...)
	defer signal.Stop(signals)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, err := startUnless(ctx, cancel, p, signals)
	if err != nil {
		return err
	}
	select {
	case <-r.Done():
		return r.Wait()
	case <-signals:
	}
	ctx, expire := context.WithTimeoutCause(context.WithoutCancel(ctx), grace, fmt.Errorf("not done after %v", grace))
	defer expire()
	go func() {
		select {
		case <-signals:
			r.Stop()
		case <-r.Done():
		}
	}()
	return r.Drain(ctx)
}

// startUnless starts p. A signal that comes while Open is waiting ends the wait.
func startUnless(ctx context.Context, cancel context.CancelCauseFunc, p Pipeline, signals chan os.Signal) (*Run, error) {
	started, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case s := <-signals:
			select {
			case <-started:
				signals <- s // it is for the run; there is room for two
			default:
				cancel(ErrStopped)
			}
		case <-started:
		}
	}()
	r, err := p.Start(ctx)
	close(started)
	<-watched
	return r, err
}
