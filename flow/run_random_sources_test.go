package flow_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// source is where a random graph gets items from: the numbers from first on.
type source struct {
	kind   string
	number int
	point  *point // behind it
	first  int
	lanes  int // its order is that among numbers with the same remainder; 0: it has none

	credit *credit    // what it was asked for
	broker *broker    // how its messages ended; nil: it has none
	shelf  *shelf     // of one with a checkpoint
	push   *publisher // of one that pushes
}

// sourceKinds are the ways to make a source.
func sourceKinds() map[string]func(w *world, src *source) flow.Flow[int] {
	return map[string]func(*world, *source) flow.Flow[int]{
		"items": (*world).messages,
		"from":  func(w *world, src *source) flow.Flow[int] { return flow.From(w.numbers(src), w.called(src)...) },
		"open": func(w *world, src *source) flow.Flow[int] {
			return flow.Open(func(context.Context) (stage.Source[int], error) { return w.numbers(src), nil }, w.called(src)...)
		},
		"func": func(w *world, src *source) flow.Flow[int] {
			return flow.FromFunc(func(ctx context.Context) (int, error) {
				var one [1]int
				_, err := w.numbers(src).Pull(ctx, one[:])
				return one[0], err
			}, w.called(src)...)
		},
		"slice": func(w *world, src *source) flow.Flow[int] { return flow.FromSlice(ints(w.s.items), w.called(src)...) },
		"seq": func(w *world, src *source) flow.Flow[int] {
			return flow.FromSeq(slices.Values(ints(w.s.items)), w.called(src)...)
		},
		"seq2":     func(w *world, src *source) flow.Flow[int] { return flow.FromSeq2(w.sequence(), w.called(src)...) },
		"chan":     (*world).channel,
		"push":     (*world).pushed,
		"inlet":    (*world).inlet,
		"mergehub": (*world).mergeHub,
		"member":   (*world).member,
		"openat":   (*world).resumable,
	}
}

// source returns a new source of a kind.
func (w *world) source(kind string) (*source, stream) {
	src := &source{kind: kind, number: len(w.sources), point: w.point("source"), lanes: 1}
	src.credit = &credit{w: w, src: src}
	w.sources = append(w.sources, src)
	w.s.seen.note("source " + kind)
	f := sourceKinds()[kind](w, src)
	return src, src.point.watch(f.Map(func(i int) datum {
		if src.broker == nil {
			return datum{v: i}
		}
		return datum{v: i, ids: []int{src.number*idSpan + i}}
	}))
}

// called returns the options of a source.
func (w *world) called(src *source) []flow.SourceOption {
	opts := []flow.SourceOption{flow.Name(src.point.name)}
	if w.s.atFrom {
		opts = append(opts, flow.SettleDropped(flow.Ack))
	}
	return opts
}

// fed reports whether another run feeds this one.
func (w *world) fed() bool {
	return slices.ContainsFunc(w.sources, func(src *source) bool { return src.kind == "member" })
}

// came returns what has come from src, and checks that it is what there is, in order.
func (w *world) came(src *source) []datum {
	vs := src.point.got.values()
	next := map[int]int{}
	for _, d := range vs {
		lane := d.v
		if src.lanes > 0 {
			lane = d.v % src.lanes
		}
		if _, begun := next[lane]; !begun {
			next[lane] = lane
			for src.lanes > 0 && next[lane] < src.first {
				next[lane] += src.lanes
			}
		}
		if d.v != next[lane] || d.v >= w.s.items {
			w.wrong(fmt.Errorf("%s: got %v", src.point.name, brief(vs)))
			break
		}
		next[lane] += max(src.lanes, 1)
	}
	if w.exact && w.s.fault != "drain" && len(vs) != w.s.items-src.first {
		w.wrong(fmt.Errorf("%s: %d of %d items came", src.point.name, len(vs), w.s.items-src.first))
	}
	return vs
}

// ready waits until the source has its next answer.
func (w *world) ready(ctx context.Context, src *source) error {
	w.event()
	pause := w.s.pause
	if src.credit.pulls == w.s.quietAt {
		pause += w.s.quiet
	}
	if err := nap(ctx, pause); err != nil {
		return err
	}
	return w.hit()
}

// messages is a source with claims.
func (w *world) messages(src *source) flow.Flow[int] {
	return flow.FromItems(w.broker(src), w.called(src)...)
}

// broker returns the broker of src, with a pause in front of each answer.
func (w *world) broker(src *source) stage.ItemSource[int] {
	b := newBroker(w.s.items)
	b.most, b.stays, b.event = w.s.most, w.s.fault == "drain", w.event
	src.broker = b
	return stage.ItemSourceFunc(func(ctx context.Context, dst []stage.Item[int]) (int, error) {
		return src.credit.ask(len(dst), func() (int, error) {
			if err := w.ready(ctx, src); err != nil {
				return 0, err
			}
			return b.PullItems(ctx, dst)
		})
	})
}

// numbers is a plain source. In a drain it waits behind the last number.
func (w *world) numbers(src *source) stage.Source[int] {
	return stage.SourceFunc(func(ctx context.Context, dst []int) (int, error) {
		return src.credit.ask(len(dst), func() (int, error) {
			if err := w.ready(ctx, src); err != nil {
				return 0, err
			}
			next := src.first + int(src.credit.given)
			n := min(len(dst), w.s.items-next)
			if w.s.most > 0 {
				n = min(n, w.s.most)
			}
			for i := range n {
				dst[i] = next + i
			}
			switch {
			case n > 0:
				return n, nil
			case w.s.fault == "drain":
				<-ctx.Done()
				return 0, context.Cause(ctx)
			}
			return 0, stage.ErrEnd
		})
	})
}

// sequence may fail.
func (w *world) sequence() iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range w.s.items {
			if !yield(i, w.hit()) {
				return
			}
		}
	}
}

// channel is a source that is fed by a goroutine.
func (w *world) channel(src *source) flow.Flow[int] {
	ch := make(chan int, w.s.most)
	w.beside(func() {
		for i := range w.s.items {
			select {
			case ch <- i:
				time.Sleep(w.s.pause)
			case <-w.over:
				return
			}
		}
		if w.s.fault != "drain" {
			close(ch)
		}
	})
	return flow.FromChan(ch, w.called(src)...)
}

// beside runs fn in a goroutine beside the run.
func (w *world) beside(fn func()) {
	w.starts = append(w.starts, func() { w.helpers.Go(fn) })
}

// inlet is a source in which each number is somebody's who waits until it is done.
func (w *world) inlet(src *source) flow.Flow[int] {
	in := flow.NewInlet(flow.Edge[int]{Name: src.point.name, Capacity: w.s.sinkN})
	src.broker, src.lanes = newBroker(w.s.items), 0
	src.broker.next = w.s.items
	for i := range w.s.items {
		w.beside(func() {
			time.Sleep(time.Duration(i%7) * w.s.pause)
			o := stage.Outcome{Err: in.Do(context.Background(), i)}
			if o.Err != nil {
				o.Kind = stage.Failed
			}
			src.broker.Settle(uint64(i), o)
		})
	}
	w.beside(func() {
		for len(src.point.got.values()) < w.s.items && !w.isOver() {
			time.Sleep(time.Millisecond)
		}
		in.Close()
	})
	return in.Flow()
}

func (w *world) isOver() bool {
	select {
	case <-w.over:
		return true
	default:
		return false
	}
}

// mergeHub is a source with several producers. They put, or offer until there is room.
func (w *world) mergeHub(src *source) flow.Flow[int] {
	src.lanes = w.s.sinkN
	hub := flow.NewMergeHub(src.lanes, flow.Edge[int]{Name: src.point.name, Capacity: w.s.most + 1})
	working := make(chan struct{}, src.lanes)
	for lane := range src.lanes {
		in, err := hub.Attach()
		w.wrong(err)
		w.beside(func() {
			w.produce(in, lane, src.lanes)
			in.Close()
			working <- struct{}{}
		})
	}
	if _, err := hub.Attach(); !errors.Is(err, flow.ErrHubFull) {
		w.wrong(fmt.Errorf("a producer too many got %w, want ErrHubFull", err))
	}
	w.beside(func() {
		for range src.lanes {
			<-working
		}
		if w.s.fault != "drain" {
			hub.Close()
		}
	})
	return hub.Flow()
}

// produce puts every lanes-th number in, until nothing is taken any more.
func (w *world) produce(in *flow.Inlet[int], lane, lanes int) {
	for i := lane; i < w.s.items; i += lanes {
		time.Sleep(w.s.pause)
		var err error
		if i%3 == 0 {
			_, err = in.Put(context.Background(), i)
		} else {
			err = offer(in, i)
		}
		if err != nil {
			if !errors.Is(err, flow.ErrClosed) {
				w.wrong(fmt.Errorf("a producer got %w, want ErrClosed", err))
			}
			return
		}
	}
}

// offer offers i until it is taken.
func offer(in *flow.Inlet[int], i int) error {
	for {
		_, err := in.Offer(context.Background(), i)
		_, full := errors.AsType[*flow.FullError](err)
		if !full || errors.Is(err, flow.ErrClosed) { // a full edge may be what has ended the run
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// member is a source that is a member of a hub, which another run feeds with messages.
func (w *world) member(src *source) flow.Flow[int] {
	hub := flow.NewBroadcastHub[int](1, w.s.most+1)
	f, _, err := hub.Attach(flow.Edge[int]{Name: src.point.name, Capacity: w.s.most + 1})
	w.wrong(err)
	if _, _, err := hub.Attach(flow.Edge[int]{Capacity: 1}); !errors.Is(err, flow.ErrHubFull) {
		w.wrong(fmt.Errorf("a member too many got %w, want ErrHubFull", err))
	}
	feeder := flow.FromItems(w.broker(src)).ToHub(hub)
	var r *flow.Run
	w.starts = append(w.starts, func() {
		r, err = feeder.Start(context.Background())
		w.wrong(err)
	})
	w.tidies = append(w.tidies, func(error) {
		if err := r.Drain(context.Background()); err != nil && !w.struck.Load() {
			w.wrong(fmt.Errorf("the run that feeds the hub: %w", err))
		}
	})
	return f
}

// kinds returns the keys of a table, in order.
func kinds[V any](table map[string]V) []string { return slices.Sorted(maps.Keys(table)) }
