package main

import (
	"context"
	"iter"
	"os"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// saveEvery is how often the checkpoint may be saved. It bounds what a run repeats that goes on after a kill, beside what was inside.
const saveEvery = 100 * time.Millisecond

// job is one run of the program.
type job struct {
	options
	table    table
	loader   *loader
	failures *failures
	store    flow.CheckpointStore
	durable  *durable    // nil where functions pass through an edge of the pipeline
	quit     atomic.Bool // ends the walk
	places   *places     // set by pipeline
	pipe     *flow.Run   // set by run
}

// pipeline is the job as a blueprint, or the half of it that is wanted. What is read depends on what is loaded: a load that falls
// behind fills the edge functions, be it one of the pipeline or a stream, and where that blocks, the wait goes on to the edges
// in front of it, and from there to the walk.
func (j *job) pipeline() flow.Pipeline {
	switch j.half {
	case halfExtract:
		return j.onlyIn(j.extract())
	case halfLoad:
		return j.load(j.onlyOut())
	}
	return j.load(j.edge(j.extract()))
}

// extract is the half that reads. A file counts as settled when all its functions are in the table, or stored in the stream, or have been
// dropped; the checkpoint is the last one up to which all are.
func (j *job) extract() flow.Flow[function] {
	tree, seqs := os.DirFS(j.src), &numbering{}
	j.places = &places{store: j.store, src: j.src, through: j.through, seqs: seqs}
	open := func(_ context.Context, after string) (stage.Source[stage.At[file]], error) {
		return stage.Seq2(numbered(j.untilQuit(walkBehind(tree, after, j.failures.add)))), nil
	}
	return flow.OpenAt(open, flow.Checkpoint(j.places, flow.SaveEvery(saveEvery)), flow.Name("walk"), flow.SettleDropped(flow.Ack)).
		Buffer(256, flow.Block, flow.Name("files")).
		Parallel(j.parsers, parser{tree}.file, flow.Name("parse"), flow.OnError(flow.DeadLetter(j.failures))).
		Buffer(16, flow.Block, flow.Name("parsed")).
		Map(seqs.number, flow.Name("number")).
		FlatMap(func(p parsed) []function { return p.functions }, flow.Name("flatten"))
}

// load is the half that writes.
func (j *job) load(functions flow.Flow[function]) flow.Pipeline {
	return functions.To(j.loader, flow.Name("load"), flow.Gather(j.batch, 0))
}

// untilQuit ends a walk when the job is told to quit.
func (j *job) untilQuit(paths iter.Seq2[string, error]) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for path, err := range paths {
			if j.quit.Load() || !yield(path, err) {
				return
			}
		}
	}
}

// counts is how far a run has come.
type counts struct {
	elapsed                          time.Duration
	files, failed, extracted, loaded int64
	confirmed                        int64 // by the stream, if there is one
}

func (j *job) counts() counts {
	s := j.summary(nil)
	return counts{
		elapsed: time.Duration(s.Seconds * float64(time.Second)),
		files:   s.Files, failed: s.Failed, extracted: s.Extracted, loaded: s.Loaded, confirmed: s.Published,
	}
}
