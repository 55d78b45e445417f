package main

import (
	"os"
	"time"

	"github.com/weir-go/weir/flow"
)

// job is one run of the program.
type job struct {
	options
	table    table
	loader   *loader
	failures *failures
	pipe     *flow.Run // set by run
}

// pipeline is the job as a blueprint. What is read depends on what is loaded: a load that falls behind fills the edge
// functions, and where that blocks, the wait goes on to the edges parsed and files, and from there to the walk.
func (j *job) pipeline() flow.Pipeline {
	tree := os.DirFS(j.src)
	return flow.FromSeq2(walk(tree, j.failures.add), flow.Name("walk")).
		Buffer(256, flow.Block, flow.Name("files")).
		Parallel(j.parsers, parser{tree}.parse, flow.Name("parse"), flow.OnError(flow.DeadLetter(j.failures))).
		Buffer(16, flow.Block, flow.Name("parsed")).
		FlatMap(func(fs []function) []function { return fs }, flow.Name("flatten")).
		Map(numbering(), flow.Name("number")).
		Buffer(j.depth, j.onFull, flow.Name("functions")).
		To(j.loader, flow.Name("load"), flow.Gather(j.batch, 0))
}

// numbering returns a function that numbers functions in the order in which they come, from 1. The parsers keep the order of
// the walk, so a function has the same number in every run.
func numbering() func(function) function {
	seq := int64(0)
	return func(f function) function {
		seq++
		f.seq = seq
		return f
	}
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
