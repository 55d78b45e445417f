package cases

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/weir-go/weir/benchmarks/internal/bench"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// DropNewest is row P4: what it costs to refuse an item that a source brings to a full edge, while the consumer is stuck.
func DropNewest() bench.Case {
	return drop("P4", flow.DropNewest, 1.2, "a goroutine that sends with select and default, drops counted", sendOrDrop)
}

// DropOldest is row P4b: what it costs to make room for it.
func DropOldest() bench.Case {
	return drop("P4b", flow.DropOldest, 0.25, "a goroutine that receives one, then sends, drops counted", replaceOldest)
}

// drop is a case in which a full edge drops nearly all items, as policy says; send is what one writes with a channel.
func drop(row string, policy flow.Policy, target float64, against string, send func(chan int64, int64, *atomic.Int64)) bench.Case {
	return bench.Case{
		Row: row, What: "a source in front of a full edge, " + policy.String() + ", consumer stuck", Against: against,
		Figures: bench.PerItem(target), Items: 2_000_000, AllocItems: amortised, NoAllocs: true,
		Weir: func(n int) bench.Trial {
			s := newStuck(n, policy)
			var dropped int64
			p := flow.From(s.source()).Buffer(edge, policy).To(stage.SinkFunc(s.push))
			return bench.Trial{
				Run: func() error {
					r, err := p.Start(context.Background())
					if err != nil {
						return err
					}
					err = r.Wait()
					dropped = r.Stats().Edges[0].Dropped.Total()
					return err
				},
				Verify: func() error { return s.verify(dropped) },
			}
		},
		Baseline: func(n int) bench.Trial {
			s := newStuck(n, policy)
			var dropped atomic.Int64
			return bench.Trial{
				Run: func() error {
					ch := make(chan int64, edge)
					go func() {
						defer close(ch)
						for v := range int64(n) {
							send(ch, v, &dropped)
						}
						close(s.over)
					}()
					for v := range ch {
						s.take(v)
					}
					return nil
				},
				Verify: func() error { return s.verify(dropped.Load()) },
			}
		},
	}
}

// stuck is a consumer that takes something and then waits until all n items have been sent.
type stuck struct {
	total
	n      int64
	policy flow.Policy
	over   chan struct{} // closed when all have been sent
}

func newStuck(n int, policy flow.Policy) *stuck {
	return &stuck{last: -1, n: int64(n), policy: policy, over: make(chan struct{})}
}

// source gives the numbers below n, and then tells the consumer.
func (s *stuck) source() stage.Source[int64] {
	src, ended := numbers(int(s.n)), false
	return stage.SourceFunc(func(ctx context.Context, dst []int64) (int, error) {
		k, err := src.Pull(ctx, dst)
		if err != nil && !ended {
			close(s.over)
			ended = true
		}
		return k, err
	})
}

func (s *stuck) take(v int64) {
	s.add(v)
	<-s.over
}

func (s *stuck) push(_ context.Context, items []int64) error {
	for _, v := range items {
		s.take(v)
	}
	return nil
}

// verify looks at what came: in order, the last item where the oldest were dropped, no item from the end where the newest
// were, and together with what was dropped all of them.
func (s *stuck) verify(dropped int64) error {
	switch {
	case s.disorder:
		return errDisorder
	case (s.last == s.n-1) != (s.policy == flow.DropOldest || s.n <= edge):
		return fmt.Errorf("the last item was %d of %d, with %v", s.last, s.n-1, s.policy)
	case s.count+dropped != s.n:
		return fmt.Errorf("%d items arrived and %d were dropped, want %d together", s.count, dropped, s.n)
	}
	return nil
}
