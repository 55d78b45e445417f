package flow_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-go/weir/flow"
)

// toHub ends f in a hub with two members, each in a run of its own. e is the one that stays, and sets the pace. The other leaves,
// drops, fails, or comes late: the first is not to notice.
func (w *world) toHub(f stream, e *end, n int) flow.Pipeline {
	hub := flow.NewBroadcastHub[datum](2, 2*n)
	w.staysIn(hub, e, n)
	other := w.newEnd("hub", 1)
	other.partly = true
	each := func(ctx context.Context, d datum) error {
		if err := nap(ctx, time.Duration(n)*time.Millisecond); err != nil {
			return err
		}
		return other.got.each(ctx, d)
	}
	blocks := flow.Edge[datum]{Capacity: n}
	drops := flow.Edge[datum]{Capacity: n, OnFull: flow.DropNewest, SettleDropped: flow.Ack}
	switch n {
	case 1:
		w.joinHub(hub, blocks, func(f stream) flow.Pipeline { return f.Take(w.s.leave % 20).ForEach(each) })
	case 2:
		w.joinHub(hub, drops, func(f stream) flow.Pipeline { return f.ForEach(each) })
	case 3:
		w.joinHub(hub, drops, func(f stream) flow.Pipeline { return f.BestEffort().ForEach(failsBehind(w.s.leave%20, each)) })
	case 4:
		w.beside(func() {
			time.Sleep(w.s.at / 2)
			w.joinHub(hub, blocks, func(f stream) flow.Pipeline { return f.ForEach(each) })
		})
	default:
		leave := w.joinHub(hub, blocks, func(f stream) flow.Pipeline { return f.ForEach(each) })
		w.beside(func() {
			time.Sleep(w.s.at / 2)
			leave()
			w.s.seen.note("left hub")
		})
	}
	return f.ToHub(hub)
}

// failsBehind is a function whose n-th call fails.
func failsBehind(n int, each func(context.Context, datum) error) func(context.Context, datum) error {
	return func(ctx context.Context, d datum) error {
		if n--; n < 0 {
			return errValue
		}
		return each(ctx, d)
	}
}

// staysIn adds the member that stays. Its run ends well where that of the hub does, and at once where that is stopped.
func (w *world) staysIn(hub *flow.BroadcastHub[datum], e *end, n int) {
	f, _, err := hub.Attach(flow.Edge[datum]{Capacity: n})
	w.wrong(err)
	p := f.ForEach(func(ctx context.Context, d datum) error {
		if err := w.dwell(ctx); err != nil {
			return err
		}
		return e.got.each(ctx, d)
	})
	var r *flow.Run
	w.starts = append(w.starts, func() {
		r, err = p.Start(context.Background())
		w.wrong(err)
	})
	w.tidies = append(w.tidies, func(err error) {
		asked := time.Now()
		got := r.Wait()
		late := time.Since(asked)
		if err == nil && got != nil || got != nil && late > 0 {
			w.wrong(fmt.Errorf("a member of the hub ended with %w, %v behind the hub, which ended with %w", got, late, err))
		}
	})
}

// joinHub adds a member with a run of its own, now or when the hub's run begins.
func (w *world) joinHub(hub *flow.BroadcastHub[datum], e flow.Edge[datum], to func(stream) flow.Pipeline) (leave func()) {
	f, leave, err := hub.Attach(e)
	if err != nil {
		if !errors.Is(err, flow.ErrClosed) {
			w.wrong(fmt.Errorf("a member: %w", err))
		}
		return func() {}
	}
	run := func() { _ = to(f).Run(context.Background()) }
	if w.live == nil {
		w.beside(run)
	} else {
		w.helpers.Go(run)
	}
	return leave
}
