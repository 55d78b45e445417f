package cases

import (
	"context"
	"slices"
	"time"

	"github.com/weir-go/weir/benchmarks/internal/bench"
	"github.com/weir-go/weir/stage"
)

// interval is the time between two items of the latency case: 10,000 a second.
const interval = 100 * time.Microsecond

// Latency is row P6: an open loop. An item's latency counts from when it should have been sent, however late the sender is.
func Latency() bench.Case {
	return bench.Case{
		Row: "P6", What: "10,000 items a second through P1's graph, latency from the schedule",
		Against: "the same over channels of 1,024", Items: 6_000,
		Figures: []bench.Figure{{Name: "p50", Unit: "us", Target: 1.1}, {Name: "p99", Unit: "us", Target: 1.25, Noisy: true}},
		Weir: func(n int) bench.Trial {
			l := newLatencies(n)
			return l.trial(func() error {
				s := schedule{start: l.start, n: int64(n)}
				return hopFrom(stage.SourceFunc(s.pull), addOne, l.push).Run(context.Background())
			})
		},
		Baseline: func(n int) bench.Trial {
			l := newLatencies(n)
			return l.trial(func() error {
				ch := scheduled(l.start, n)
				for range 3 {
					ch = mapChan(ch, addOne)
				}
				for v := range ch {
					l.arrived(v)
				}
				return nil
			})
		},
	}
}

// latencies are those of the items that have arrived.
type latencies struct {
	total
	n     int
	start time.Time
	took  []time.Duration
}

func newLatencies(n int) *latencies { return &latencies{n: n, took: make([]time.Duration, 0, n)} }

// trial makes a trial of run.
func (l *latencies) trial(run func() error) bench.Trial {
	return bench.Trial{
		Run: func() error {
			l.start = time.Now()
			return run()
		},
		Verify: func() error { return l.verify(int64(l.n), sumTo(int64(l.n))+3*int64(l.n), true) },
		Figures: func() []float64 {
			slices.Sort(l.took)
			us := func(q float64) float64 { return float64(bench.Quantile(l.took, q).Nanoseconds()) / 1e3 }
			return []float64{us(0.50), us(0.99)}
		},
	}
}

// arrived notes the latency of the item v, which three Maps have added one to.
func (l *latencies) arrived(v int64) {
	l.add(v)
	l.took = append(l.took, time.Since(l.start)-time.Duration(v-3)*interval)
}

func (l *latencies) push(_ context.Context, items []int64) error {
	for _, v := range items {
		l.arrived(v)
	}
	return nil
}

// schedule says when which item is due.
type schedule struct {
	start   time.Time
	next, n int64
}

// wait waits until items are due, and returns how many.
func (s *schedule) wait() int64 {
	time.Sleep(time.Until(s.start.Add(time.Duration(s.next) * interval)))
	return min(int64(time.Since(s.start)/interval)+1, s.n) - s.next
}

// pull is a source: it returns what is due.
func (s *schedule) pull(_ context.Context, dst []int64) (int, error) {
	if s.next == s.n {
		return 0, stage.ErrEnd
	}
	k := min(int(s.wait()), len(dst))
	for i := range dst[:k] {
		dst[i] = s.next
		s.next++
	}
	return k, nil
}

// scheduled sends what is due.
func scheduled(start time.Time, n int) <-chan int64 {
	ch := make(chan int64, edge)
	go func() {
		defer close(ch)
		s := schedule{start: start, n: int64(n)}
		for s.next < s.n {
			for range s.wait() {
				ch <- s.next
				s.next++
			}
		}
	}()
	return ch
}
