package flow_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// resumable is a source with a checkpoint. It can be opened again at some of its numbers.
func (w *world) resumable(src *source) flow.Flow[int] {
	src.broker = newBroker(w.s.items)
	src.shelf = w.shelves[src.number]
	if src.shelf == nil {
		src.shelf = newShelf()
		w.shelves[src.number] = src.shelf
	}
	src.first = src.saved() + 1
	last := src.saved()
	src.shelf.saving = func(position string) error {
		if at, err := strconv.Atoi(position); err != nil || at <= last {
			w.wrong(fmt.Errorf("%s: position %q is saved behind %d", src.point.name, position, last))
		} else {
			last = at
		}
		return w.hit()
	}
	open := func(_ context.Context, after string) (stage.Source[stage.At[int]], error) {
		if want := src.shelf.at(); after != want {
			w.wrong(fmt.Errorf("%s: opened behind %q, want %q", src.point.name, after, want))
		}
		return w.positions(src), nil
	}
	every := time.Duration(w.s.most) * time.Millisecond
	return flow.OpenAt(open, flow.Checkpoint(src.shelf, flow.SaveEvery(every)), w.called(src)...)
}

// positions gives the numbers of src with their positions. Some have none.
func (w *world) positions(src *source) stage.Source[stage.At[int]] {
	numbers := w.numbers(src)
	return stage.SourceFunc(func(ctx context.Context, dst []stage.At[int]) (int, error) {
		vs := make([]int, len(dst))
		n, err := numbers.Pull(ctx, vs)
		for i, v := range vs[:n] {
			dst[i] = stage.At[int]{Value: v}
			if src.named(v) {
				dst[i].Position = strconv.Itoa(v)
			}
		}
		return n, err
	})
}

// named reports whether number i has a position.
func (src *source) named(i int) bool { return i%3 != 1 }

// saved returns the number at the saved position; -1: there is none.
func (src *source) saved() int {
	at, err := strconv.Atoi(src.shelf.at())
	if err != nil {
		return -1
	}
	return at
}

// record makes the account of the messages of sources with a checkpoint: those up to the saved position are done, or else they
// would not come again. When the run is over the others have failed: they do.
func (w *world) record(over bool) {
	for _, src := range w.sources {
		if src.shelf == nil {
			continue
		}
		b, saved := src.broker, src.saved()
		given, _ := src.credit.total()
		b.mu.Lock()
		clear(b.settled)
		b.next = src.first + int(given)
		for i := range b.next {
			switch {
			case i <= saved:
				b.settled[i] = []stage.Outcome{{}}
			case over:
				b.settled[i] = []stage.Outcome{{Kind: stage.Failed}}
			}
		}
		b.mu.Unlock()
	}
}

// reached checks that a run which ended well has saved all that there was to save. What the members of a hub still hold then is
// not saved any more.
func (w *world) reached() {
	for _, src := range w.sources {
		if src.shelf == nil || w.s.sink == "hub" {
			continue
		}
		want := src.first + len(src.point.got.values()) - 1
		for want >= src.first && !src.named(want) {
			want--
		}
		if got := src.saved(); got != max(want, src.first-1) {
			w.wrong(fmt.Errorf("%s: position %d is saved, want %d", src.point.name, got, want))
		}
	}
}

// resumes reports whether some source has a checkpoint.
func (w *world) resumes() bool {
	return slices.ContainsFunc(w.sources, func(src *source) bool { return src.shelf != nil })
}

// redraw returns the operators as they were drawn, for another run.
func redraw(ops []*op) []*op {
	fresh := make([]*op, len(ops))
	for i, o := range ops {
		fresh[i] = &op{kind: o.kind, n: o.n, m: o.m, source: o.source}
		for _, sub := range o.subs {
			fresh[i].subs = append(fresh[i].subs, redraw(sub))
		}
	}
	return fresh
}
