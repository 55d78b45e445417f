package flow

import (
	"context"

	"github.com/weir-go/weir/internal/engine"
)

// Expand hands on what fn emits for each value: any number of results, while it runs. It is [Flow.FlatMap] for functions that may
// fail, that wait, or whose results do not fit into a slice.
//
// emit waits for room in the edge behind. Its error says that the result was not handed on, and fn should return it; the call
// fails with it also where fn returns nil. emit may be called from several goroutines as long as fn waits for them; behind the
// return of fn it fails.
//
//	Shape:        T → any number of U, order kept; an edge behind, and so a goroutine of its own together with the
//	              steps in front of it.
//	Emits:        at once.
//	Backpressure: emit waits for room; upstream is asked when there is room for one result, and for no more values
//	              than that.
//	Ends:         with upstream, behind the last call.
//	Errors:       as for TryMap. The wait of an emit ends with fn's context, and so counts for Timeout. OnError
//	              decides about the value: with Skip, DeadLetter and Redeliver what fn emitted before it failed stays
//	              emitted, and Retry calls fn again, so that it emits the same again. A *FullError of an edge with
//	              Reject behind it is decided about, too. There is no limit to how many results a value has, unless
//	              [MaxResults] sets one. A nil fn and a Limit are build errors.
//	Claims:       each result carries a share of its value's claim, and its metadata. The claim settles when fn has
//	              returned and all shares are released. A value whose emit fails because the run ends is given back,
//	              whatever fn makes of that.
//	Cost:         one edge and one goroutine; an allocation for each call, none for a result.
func (f Flow[T]) Expand[U any](fn func(ctx context.Context, v T, emit func(U) error) error, opts ...ExpandOption) Flow[U] {
	var s settings
	each(&s, opts, ExpandOption.expand)
	up := f.node()
	nd := newNode("expand", &s, up.about())
	nd.check(fn != nil, "function must not be nil")
	h := nd.handling(&s)
	nd.check(h.Limit == nil, "Limit does not fit Expand: a permit would be held while its results wait for room")
	if s.results != nil {
		nd.check(*s.results >= 1, argument("MaxResults", ">= 1", *s.results))
		fn = atMost(*s.results, fn)
	}
	return Flow[U]{&pushed[U]{node: nd, write: func(b *build, e edgeSpec[U]) *engine.Link[U] {
		w := b.run.NewWorker()
		in := up.reader(b, w)
		out := e.open(b, s.behind(b, nd, in.Stream))
		b.decided(nd, h, in.Stream)
		engine.Expand(w, b.stage(nd), in, out, fn, h)
		return out
	}}}
}
