package main

import (
	"context"
	"os"
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
	places   *places   // set by pipeline
	pipe     *flow.Run // set by run
}

// pipeline is the job as a blueprint. What is read depends on what is loaded: a load that falls behind fills the edge
// functions, and where that blocks, the wait goes on to the edges parsed and files, and from there to the walk. A file counts as
// settled when all its functions are in the table, or have been dropped; the checkpoint is the last one up to which all are.
func (j *job) pipeline() flow.Pipeline {
	tree, seqs := os.DirFS(j.src), &numbering{}
	j.places = &places{store: j.store, src: j.src, seqs: seqs}
	open := func(_ context.Context, after string) (stage.Source[stage.At[file]], error) {
		return stage.Seq2(numbered(walkBehind(tree, after, j.failures.add))), nil
	}
	return flow.OpenAt(open, flow.Checkpoint(j.places, flow.SaveEvery(saveEvery)), flow.Name("walk"), flow.SettleDropped(flow.Ack)).
		Buffer(256, flow.Block, flow.Name("files")).
		Parallel(j.parsers, parser{tree}.file, flow.Name("parse"), flow.OnError(flow.DeadLetter(j.failures))).
		Buffer(16, flow.Block, flow.Name("parsed")).
		Map(seqs.number, flow.Name("number")).
		FlatMap(func(p parsed) []function { return p.functions }, flow.Name("flatten")).
		Buffer(j.depth, j.onFull, flow.Name("functions")).
		To(j.loader, flow.Name("load"), flow.Gather(j.batch, 0))
}

// counts is how far a run has come.
type counts struct {
	elapsed                          time.Duration
	files, failed, extracted, loaded int64
}

func (j *job) counts() counts {
	s := newSummary(j.pipe.Stats(), j.loader.rows.Load(), j.failures.count())
	return counts{
		elapsed: time.Duration(s.Seconds * float64(time.Second)),
		files:   s.Files, failed: s.Failed, extracted: s.Extracted, loaded: s.Loaded,
	}
}
