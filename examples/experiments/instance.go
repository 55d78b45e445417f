package main

import (
	"context"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// instance is one server: an inlet with an edge, and workers that share it.
type instance struct {
	in  *flow.Inlet[job]
	run *flow.Run
}

// newInstance starts one. Each job takes its service time; done hears of it.
func newInstance(edge flow.Edge[job], workers int, done func(job)) (*instance, error) {
	in := flow.NewInlet(edge)
	work := func(_ context.Context, j job) (job, error) {
		time.Sleep(j.service)
		done(j)
		return j, nil
	}
	run, err := in.Flow().Parallel(workers, work, flow.Unordered).To(stage.Discard[job]()).Start(context.Background())
	return &instance{in, run}, err
}

// offer reports whether the job was taken.
func (i *instance) offer(j job) bool {
	_, err := i.in.Offer(context.Background(), j)
	return err == nil
}

// stop abandons what is left.
func (i *instance) stop() {
	i.run.Stop()
	_ = i.run.Wait() // ErrStopped
}
