package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// job is an item: when it came, and what it takes.
type job struct {
	at      time.Time
	service time.Duration
}

// queue is what is measured: arrivals, an edge of the engine, and workers that share it.
type queue struct {
	gap     func(elapsed time.Duration) time.Duration // from one arrival to the next
	service func() time.Duration
	workers int
	edge    flow.Edge[job]
	items   int           // arrivals, or
	length  time.Duration // how long they go on

	door  door                       // who decides about a job; nil: the edge
	ended func(j job, now time.Time) // sees every finished job, one at a time; may be nil
	came  func(j job, err error)     // sees what became of every offer; may be nil
}

// figures are what came of it.
type figures struct {
	offered, refused, done int
	span                   time.Duration // from the first arrival to the last
	stays                  batches       // of finished jobs, in seconds: waiting and service
	longest                time.Duration // wait
	inside                 level         // jobs that wait or are in service
	mu                     sync.Mutex
}

// run offers all jobs and waits until they are done. It is called in a bubble.
func (q queue) run() (f *figures, err error) {
	f = &figures{stays: batches{size: max(q.items/batchCount, 1)}}
	in := flow.NewInlet(q.edge)
	work := func(_ context.Context, j job) (job, error) {
		waited := time.Since(j.at)
		time.Sleep(j.service)
		f.finish(j, waited, time.Now(), q.ended)
		return j, nil
	}
	r, err := in.Flow().Parallel(q.workers, work, flow.Unordered).To(stage.Discard[job]()).Start(context.Background())
	if err != nil {
		return nil, err
	}
	began := time.Now()
	for {
		elapsed := time.Since(began)
		time.Sleep(q.gap(elapsed))
		if f.span = time.Since(began); q.items > 0 && f.offered == q.items || q.length > 0 && f.span > q.length {
			break
		}
		j := job{at: time.Now(), service: q.service()}
		err := q.offer(in, j, f.enter(j.at))
		if err != nil {
			f.refuse(j.at)
		}
		if q.came != nil {
			q.came(j, err)
		}
		if errors.Is(err, flow.ErrClosed) {
			return nil, errors.Join(err, r.Wait())
		}
	}
	return f, r.Drain(context.Background())
}

// offer offers a job; inside is how many wait or are in service.
func (q queue) offer(in *flow.Inlet[job], j job, inside int) error {
	if q.door != nil {
		return q.door(context.Background(), in, j, inside)
	}
	_, err := in.Offer(context.Background(), j)
	return err
}

// enter counts a job and returns how many were there before.
func (f *figures) enter(now time.Time) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.offered++
	f.inside.add(1, now)
	return f.inside.n - 1
}

func (f *figures) refuse(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refused++
	f.inside.add(-1, now)
}

func (f *figures) finish(j job, waited time.Duration, now time.Time, ended func(job, time.Time)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done++
	f.longest = max(f.longest, waited)
	f.stays.add(now.Sub(j.at).Seconds())
	f.inside.add(-1, now)
	if ended != nil {
		ended(j, now)
	}
}

// level is a number that goes up and down, and its mean over time.
type level struct {
	n     int
	since time.Time
	sum   float64 // of n times seconds
	total float64 // seconds
}

func (l *level) add(d int, now time.Time) {
	if !l.since.IsZero() {
		s := now.Sub(l.since).Seconds()
		l.sum += float64(l.n) * s
		l.total += s
	}
	l.n += d
	l.since = now
}

func (l *level) mean() float64 { return l.sum / l.total }

// batchCount is into how many batches a run is divided: few enough for each to be nearly independent of the one before, and
// enough for their spread to mean something.
const batchCount = 30

// batches estimates a mean and its standard error from figures that depend on their predecessors: by the means of long batches,
// which hardly do.
type batches struct {
	size  int
	n     int
	sum   float64
	total float64
	count int
	means []float64
}

func (b *batches) add(v float64) {
	b.total += v
	b.count++
	b.sum += v
	if b.n++; b.n == b.size {
		b.means = append(b.means, b.sum/float64(b.n))
		b.n, b.sum = 0, 0
	}
}

func (b *batches) mean() float64 { return b.total / float64(b.count) }

// err returns the standard error of the mean.
func (b *batches) err() float64 {
	if len(b.means) < 2 {
		return math.Inf(1)
	}
	mean, sum := 0.0, 0.0
	for _, m := range b.means {
		mean += m / float64(len(b.means))
	}
	for _, m := range b.means {
		sum += (m - mean) * (m - mean)
	}
	return math.Sqrt(sum / float64(len(b.means)-1) / float64(len(b.means)))
}

// dice are random numbers that are the same in each run with the same seed.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed*0x9e3779b97f4a7c15, seed))} }

// poisson returns gaps between arrivals that know nothing of each other.
func (d dice) poisson(rate float64) func(time.Duration) time.Duration {
	return func(time.Duration) time.Duration { return seconds(d.ExpFloat64() / rate) }
}

// exponential returns random service times.
func (d dice) exponential(mean time.Duration) func() time.Duration {
	return func() time.Duration { return time.Duration(d.ExpFloat64() * float64(mean)) }
}

// even returns gaps that are all alike.
func even(rate float64) func(time.Duration) time.Duration {
	return func(time.Duration) time.Duration { return seconds(1 / rate) }
}

// always returns service times that are all alike.
func always(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// rejecting is an edge that refuses what does not fit.
func rejecting(capacity int) flow.Edge[job] {
	return flow.Edge[job]{Name: "jobs", Capacity: capacity, OnFull: flow.Reject}
}

// never is the capacity of an edge that no experiment fills.
const never = 1 << 20

// measure runs a queue in a bubble of its own.
func measure(q queue) (f *figures, err error) {
	bubble(func() { f, err = q.run() })
	return f, err
}
