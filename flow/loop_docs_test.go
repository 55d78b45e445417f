package flow_test

import (
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// documentedLoops are the loops of docs/deadlock.md that must not be built.
func documentedLoops() []flow.Pipeline {
	calls := func(form flow.LoopForm, name string, body func(in lapFlow) (out, again lapFlow)) flow.Pipeline {
		return flow.FromSlice(lapsOf(9, 3)).Loop(form, body, flow.Name(name)).To(stage.Discard[laps]())
	}
	return []flow.Pipeline{
		calls(flow.Gated(8), "crawl", func(in lapFlow) (out, again lapFlow) {
			bs := in.Broadcast(2)
			return bs[0], bs[1].FlatMap(func(laps) []laps { return nil }, flow.Name("links"))
		}),
		calls(flow.Gated(200), "retry", func(in lapFlow) (out, again lapFlow) {
			out, again = in.Map(nextLap).Split(leaves)
			return out, again.Map(nextLap).Buffer(10, flow.Block, flow.Name("retries"))
		}),
		calls(flow.Gated(8), "retry", func(in lapFlow) (out, again lapFlow) {
			return round(in.Batch(100, 0, flow.Name("hundred")).FlatMap(func(b []laps) []laps { return b }))
		}),
		calls(flow.Gated(8), "retry", func(in lapFlow) (out, again lapFlow) {
			bs := in.Map(nextLap).Broadcast(2)
			return bs[0], bs[1]
		}),
		discard(unending().PrimedLoop(ints(2), func(in tokens) (out, again flow.Flow[int]) {
			bs := in.Broadcast(2)
			return bs[0].Map(leftOfPair), bs[1].Filter(func(p flow.Pair[int, int]) bool { return even(p.Second) }, flow.Name("healthy")).Map(leftOfPair)
		}, flow.Name("pool"))),
	}
}
