package flow

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/weir-go/weir/internal/engine"
)

// Pipeline is the blueprint of a graph with its sinks: what can run. It is immutable, and may run many times, also at the same
// time, as far as its sources and sinks can.
type Pipeline struct {
	leaves  []*leaf
	planned *planned
	watch   *watch // for deadlocks; nil: as usual
}

// newPipeline returns the pipeline with these sinks.
func newPipeline(leaves ...*leaf) Pipeline { return Pipeline{leaves: leaves, planned: new(planned)} }

// Join makes one pipeline of several, which run together: an error in one of them stops all. Their graphs may share parts, the
// branches of a Broadcast for example.
//
//	Ends:   when the sinks of all have ended.
//	Errors: those of all. No sink at all is a build error, and so is the same one twice.
func Join(ps ...Pipeline) Pipeline {
	var all []*leaf
	for _, p := range ps {
		all = append(all, p.leaves...)
	}
	joint := newPipeline(all...)
	joint.watch = joined(ps)
	return joint
}

// Run runs the pipeline and waits for its end. It returns nil if every sink has reached the end of its stream; otherwise the
// first error, a *stage.Error where a stage has failed, joined with later ones that have nothing to do with it. When ctx
// ends the run is abandoned, and Run returns the cause.
func (p Pipeline) Run(ctx context.Context) error {
	r, err := p.Start(ctx)
	if err != nil {
		return err
	}
	return r.Wait()
}

// Start starts the pipeline. Whatever is wrong with the blueprint comes back here, all of it at once, with names and lines.
func (p Pipeline) Start(ctx context.Context) (*Run, error) {
	b, err := p.assemble(ctx, true)
	if err != nil {
		return nil, err
	}
	b.run.Start(ctx, nil)
	return &Run{run: b.run}, nil
}

// Check returns what is wrong with the blueprint, all of it at once, and runs nothing. What can run, but not as well as it should, is no
// error: see [Pipeline.Advice].
func (p Pipeline) Check() error {
	_, err := p.assemble(context.Background(), false)
	return err
}

// assemble builds a run from the blueprint. A live one is going to be started: it opens sources.
func (p Pipeline) assemble(ctx context.Context, live bool) (*build, error) {
	if p.planned == nil {
		p.planned = new(planned) // the zero Pipeline
	}
	b := &build{plan: p.planned.of(p.leaves), ctx: ctx, run: engine.NewRun(), live: live, fans: map[*node]any{}}
	b.bad = append(b.bad, b.plan.bad...)
	b.bad = append(b.bad, p.watch.apply(b.run)...)
	for _, n := range b.onces {
		if live && n.once.Load() {
			b.fail(n, n.usedUp())
		}
	}
	if len(b.bad) > 0 {
		b.attempt(p.leaves)
		return nil, b.err()
	}
	for _, l := range p.leaves {
		l.build(b)
	}
	if live && len(b.bad) == 0 {
		b.claim()
	}
	if len(b.bad) > 0 {
		return nil, errors.Join(b.err(), b.closeOpened())
	}
	if live {
		if err := b.run.Open(ctx); err != nil {
			return nil, errors.Join(err, b.closeOpened())
		}
	}
	return b, nil
}

// attempt adds what only a build finds to what is wrong with a blueprint, as far as that can be built: what is wrong with it may be
// just what a build relies on.
func (b *build) attempt(leaves []*leaf) {
	dry := &build{plan: b.plan, ctx: b.ctx, run: engine.NewRun(), fans: map[*node]any{}}
	defer func() {
		_ = recover() // it is known that something is wrong
		for _, text := range dry.bad {
			if !slices.Contains(b.bad, text) {
				b.bad = append(b.bad, text)
			}
		}
	}()
	for _, l := range leaves {
		l.build(dry)
	}
}

// buildError is all that is wrong with a blueprint.
type buildError struct {
	texts []string
	errs  []error
}

// Error gives one line for each finding.
func (e *buildError) Error() string { return strings.Join(e.texts, "\n") }

// Unwrap returns the errors behind the findings, those of Open for example.
func (e *buildError) Unwrap() []error { return e.errs }

func (b *build) err() error { return &buildError{b.bad, b.errs} }

// closeOpened closes the sources that were opened for a run which does not start, the last one first.
func (b *build) closeOpened() error {
	var errs []error
	for _, src := range slices.Backward(b.opened) {
		if c, ok := src.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}
