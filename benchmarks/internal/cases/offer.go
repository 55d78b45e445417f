package cases

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/weir-go/weir/benchmarks/internal/bench"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// OfferNewest is row P4 for a single offer, which comes with a context and gets a receipt. Both sides count what they drop for any number of producers: the
// edge always does, and a channel's owner who wants to know must.
func OfferNewest() bench.Case {
	return bench.Case{
		Row: "P4 inlet", What: "Inlet.Offer to a full edge, DropNewest", Against: "select with default on a full channel, drops counted",
		Figures: bench.PerItem(1.2), Items: 8_000_000, AllocItems: amortised, NoAllocs: true,
		Weir: func(n int) bench.Trial {
			in := filledInlet(flow.DropNewest)
			dropped := 0
			return bench.Trial{
				Run: func() error {
					for v := range int64(n) {
						if _, err := in.Offer(context.Background(), edge+v); err != nil {
							dropped++
						}
					}
					return nil
				},
				Verify: func() error {
					return errors.Join(drained(in, 0), counted(dropped, n))
				},
			}
		},
		Baseline: func(n int) bench.Trial {
			ch := filledChannel()
			var dropped atomic.Int64
			return bench.Trial{
				Run: func() error {
					for v := range int64(n) {
						sendOrDrop(ch, edge+v, &dropped)
					}
					return nil
				},
				Verify: func() error {
					return errors.Join(drainedChannel(ch, 0), counted(int(dropped.Load()), n))
				},
			}
		},
	}
}

// OfferOldest is row P4b for a single offer. One lock is a quarter of what the loop costs, so the target of chunks is out of reach.
func OfferOldest() bench.Case {
	return bench.Case{
		Row: "P4b inlet", What: "Inlet.Offer to a full edge, DropOldest", Against: "a loop that receives one, then sends, drops counted",
		Figures: bench.PerItem(1.0), Items: 2_000_000, AllocItems: amortised, NoAllocs: true,
		Weir: func(n int) bench.Trial {
			in := filledInlet(flow.DropOldest)
			refused := 0
			return bench.Trial{
				Run: func() error {
					for v := range int64(n) {
						if _, err := in.Offer(context.Background(), edge+v); err != nil {
							refused++
						}
					}
					return nil
				},
				Verify: func() error {
					return errors.Join(drained(in, int64(n)), counted(refused, 0))
				},
			}
		},
		Baseline: func(n int) bench.Trial {
			ch := filledChannel()
			var dropped atomic.Int64
			return bench.Trial{
				Run: func() error {
					for v := range int64(n) {
						replaceOldest(ch, edge+v, &dropped)
					}
					return nil
				},
				Verify: func() error {
					return errors.Join(drainedChannel(ch, int64(n)), counted(int(dropped.Load()), n))
				},
			}
		},
	}
}

// sendOrDrop sends v if there is room.
func sendOrDrop(ch chan int64, v int64, dropped *atomic.Int64) {
	select {
	case ch <- v:
	default:
		dropped.Add(1)
	}
}

// replaceOldest sends v, and receives to make room for it.
func replaceOldest(ch chan int64, v int64, dropped *atomic.Int64) {
	for {
		select {
		case ch <- v:
			return
		default:
		}
		select {
		case <-ch:
			dropped.Add(1)
		default:
		}
	}
}

// filledInlet returns an inlet whose edge holds the numbers below its capacity.
func filledInlet(p flow.Policy) *flow.Inlet[int64] {
	in := flow.NewInlet(flow.Edge[int64]{Capacity: edge, OnFull: p})
	for v := range int64(edge) {
		if _, err := in.Offer(context.Background(), v); err != nil {
			panic(fmt.Sprintf("offer %d of %d to an empty edge: %v", v, edge, err))
		}
	}
	return in
}

func filledChannel() chan int64 {
	ch := make(chan int64, edge)
	for v := range int64(edge) {
		ch <- v
	}
	return ch
}

// drained verifies that the inlet holds the numbers from first on.
func drained(in *flow.Inlet[int64], first int64) error {
	in.Close()
	t := total{last: -1}
	if err := in.Flow().To(stage.SinkFunc(t.push)).Run(context.Background()); err != nil {
		return err
	}
	return t.verify(edge, sumTo(edge)+edge*first, true)
}

// drainedChannel does so for a channel.
func drainedChannel(ch chan int64, first int64) error {
	close(ch)
	t := total{last: -1}
	for v := range ch {
		t.add(v)
	}
	return t.verify(edge, sumTo(edge)+edge*first, true)
}

func counted(got, want int) error {
	if got != want {
		return fmt.Errorf("%d items were dropped, want %d", got, want)
	}
	return nil
}
