package cases

import (
	"context"
	"time"

	"github.com/weir-go/weir/benchmarks/internal/bench"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// tenants is how many keys a fair edge has in its row.
const tenants = 16

// unhurried is a time for which no item waits.
const unhurried = time.Minute

// Controls are the rows P8: what it costs an item that an edge looks at it. An edge without a control moves a chunk in two copies and looks
// at none. Newest first is the same at the other end, and CoDel looks at what came together once. A deadline is a call for each item.
// Lanes in turn are a hash, a place and links for each, all but the first under the lock: the goal is out of their reach. Only the row
// of the newest may drop, on both sides: its policy is to.
func Controls() []bench.Case {
	never := time.Now().Add(1000 * time.Hour)
	return []bench.Case{
		control("P8 fair", "fair by 16 keys", 15, flow.Edge[int64]{
			Discipline: flow.FairBy(func(v int64) int64 { return v % tenants }),
		}),
		control("P8 newest", "the newest first, drop-oldest", 3, flow.Edge[int64]{
			OnFull: flow.DropOldest, MaxWait: unhurried, Discipline: flow.AdaptiveLIFO[int64](1, 1), // while anything waits
		}),
		control("P8 codel", "CoDel", 3, flow.Edge[int64]{CoDel: flow.CoDelFor(unhurried)}),
		control("P8 deadline", "a deadline for each item", 4, flow.Edge[int64]{
			Deadline: func(int64) time.Time { return never },
		}),
	}
}

// control is a case in which items go through one edge with a control, in the same chunks as through one without.
func control(row, what string, target float64, e flow.Edge[int64]) bench.Case {
	const goal = 3
	e.Capacity = edge
	figure := bench.Figure{Unit: "ns/item", Target: target, Noisy: true}
	if target > goal {
		figure.Goal = goal
	}
	return bench.Case{
		Row: row, What: "a source, an edge of 1,024 and a sum: " + what, Against: "the same, first in, first out",
		Figures: []bench.Figure{figure},
		Items:   2_000_000, AllocItems: amortised, NoAllocs: true,
		Weir:     through(e, e.Discipline == nil),
		Baseline: through(flow.Edge[int64]{Capacity: edge, OnFull: e.OnFull}, true),
	}
}

// through sends the numbers up to n through an edge. What does not arrive has been dropped, where the edge may.
func through(e flow.Edge[int64], ordered bool) bench.Side {
	return func(n int) bench.Trial {
		var t total
		var dropped int64
		p := flow.From(numbers(n)).Map(addOne).Edge(e).To(stage.SinkFunc(t.push))
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
			Verify: func() error {
				sum := sumTo(int64(n) + 1)
				if dropped > 0 && e.OnFull == flow.DropOldest {
					sum = t.sum // nobody knows which they are
				}
				return t.verify(int64(n)-dropped, sum, ordered)
			},
		}
	}
}
