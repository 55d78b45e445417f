package flow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// loopGraph is a graph that must not be built, and what is said about it. Some are given a run all the same.
type loopGraph struct {
	name  string
	build func() flow.Pipeline
	want  []string // findings
	fate  loopFate
}

// loopFate is what becomes of a graph that is run unchecked.
type loopFate string

const (
	notRun   loopFate = ""             // it is not run
	stuck    loopFate = "stands still" // and the run says so
	roundsOn loopFate = "goes on"      // for ever
	passes   loopFate = "comes through"
)

type (
	lapFlow = flow.Flow[laps]
	tokens  = flow.Flow[flow.Pair[int, int]]
)

func loopGraphs() []loopGraph {
	return []loopGraph{
		{"G1: a merge fed by a fork behind it, by way of a hub", hubCircle, []string{
			"flow: round (%): it feeds a hub from which its own items come, in the same run: a circle that nothing bounds; write it as a Loop: use Gated(k), Lossy(capacity, policy) or a PrimedLoop",
		}, stuck},
		{"G1: a loop with more inside than its edges hold", func() flow.Pipeline {
			return lapPipeline(500, flow.Gated(20), func(in lapFlow) (out, again lapFlow) {
				out, again = in.Buffer(2, flow.Block).Tap(dear).Split(leaves)
				return out, again.Buffer(2, flow.Block).Map(nextLap).Buffer(2, flow.Block, flow.Name("back"))
			})
		}, []string{
			`flow: loop#2 (%): it lets 20 in, but the edges of the shortest way round hold no more than 6, and nothing moves once they are full: edge "back" needs 16, has 2 (%)`,
		}, stuck},
		{"G2: a join that waits for what comes round, and nothing is there to begin with", func() flow.Pipeline {
			return discard(unending().PrimedLoop(nil, func(in tokens) (out, again flow.Flow[int]) {
				bs := in.Map(leftOfPair).Broadcast(2)
				return bs[0], bs[1]
			}))
		}, []string{"flow: primedloop#2 (%): it has no initial values: the first item would wait for one for ever"}, stuck},
		{"G6: a client that sends five requests before it reads an answer", func() flow.Pipeline {
			return lapPipeline(100, flow.Gated(5), requests)
		}, []string{`flow: loop#2 (%): it lets 5 in, but the edges of the shortest way round hold no more than 3, and nothing moves once they are full: edge "buffer#8" needs 3, has 1 (%)`}, stuck},
		{"G7: calls that are repeated without a bound", func() flow.Pipeline { return lapPipeline(100, nil, round) }, []string{
			"flow: loop#2 (%): it has no form: what goes round would fill the edges until nothing moves; use Gated(k), Lossy(capacity, policy) or a PrimedLoop",
		}, notRun},
		{"G7: or with a bound of nothing", func() flow.Pipeline { return lapPipeline(100, flow.Gated(0), round) }, []string{
			"flow: loop#2 (%): Gated: k must be 1 to 2147483647, got 0: nothing would bound what goes round; use Gated(k), Lossy(capacity, policy) or a PrimedLoop",
		}, notRun},
		{"G8: a crawler with two links on each page", func() flow.Pipeline {
			return discard(flow.FromSlice([]int{1}).Loop(flow.Gated(64), crawlWithoutEnd, flow.Name("crawl")))
		}, []string{
			"flow: crawl (%): Gated(64) counts what it lets in, but links (%) may make many of one, and all of them may go round: write Gated(64).Children(limit), or an edge at the end of again that drops or rejects",
		}, stuck},
		{"G15: a token that is lost", func() flow.Pipeline {
			return discard(unending().PrimedLoop([]int{7}, func(in tokens) (out, again flow.Flow[int]) {
				bs := in.Map(leftOfPair).Broadcast(2)
				return bs[0], bs[1].Filter(even, flow.Name("lost"))
			}))
		}, []string{"flow: primedloop#2 (%): it must hand on one value for each, or it ends up without any and stands still, but lost (%) lets items go"}, stuck},
		{"a token that is nobody knows how many", func() flow.Pipeline {
			return discard(unending().PrimedLoop([]int{7}, func(in tokens) (out, again flow.Flow[int]) {
				bs := in.Map(leftOfPair).Broadcast(2)
				return bs[0], bs[1].FlatMap(func(i int) []int { return []int{i} }, flow.Name("copies"))
			}))
		}, []string{"flow: primedloop#2 (%): it must hand on one value for each, or it ends up without any and stands still, but copies (%) makes any number of items of one"}, notRun},
		{"a batch of more than there are tokens", func() flow.Pipeline {
			return discard(unending().PrimedLoop([]int{7, 8}, func(in tokens) (out, again flow.Flow[int]) {
				pairs := in.Batch(3, 0, flow.Name("three")).FlatMap(func(b []flow.Pair[int, int]) []flow.Pair[int, int] { return b })
				bs := pairs.Map(leftOfPair).Broadcast(2)
				return bs[0], bs[1]
			}))
		}, []string{"flow: three (%): it waits for 3 items, but the loop primedloop#2 (%) never has more than 2 inside: give it a maxWait, a size of at most 2, or the loop more initial values"}, stuck},
		{"tokens that come from elsewhere", func() flow.Pipeline {
			return discard(unending().PrimedLoop([]int{7}, func(in tokens) (out, again flow.Flow[int]) {
				return in.Map(leftOfPair), flow.FromSlice(ints(3))
			}))
		}, []string{"flow: primedloop#2 (%): what goes round again is not made of what its body gets"}, notRun},
		{"tokens without a body", func() flow.Pipeline {
			return discard(unending().PrimedLoop[int, int, flow.Pair[int, int]]([]int{7}, nil))
		}, []string{"flow: primedloop#2 (%): body must not be nil"}, notRun},
		{"tokens without room", func() flow.Pipeline {
			return discard(unending().PrimedLoop([]int{7, 8, 9}, func(in tokens) (out, again flow.Flow[int]) {
				bs := in.Map(leftOfPair).Broadcast(2)
				return bs[0], bs[1].Buffer(2, flow.Block, flow.Name("back"))
			}))
		}, []string{`flow: primedloop#2 (%): its values must fit into its feedback edge: edge "back" needs 3, has 2 (%)`}, notRun},
		{"G20: a merge that prefers its own feedback", func() flow.Pipeline {
			return lapPipeline(10, flow.Gated(4), func(in lapFlow) (out, again lapFlow) {
				out, again = round(in)
				return out, flow.MergePriority(again, flow.FromSlice(lapsOf(3, 2)))
			})
		}, []string{"flow: mergepriority#7 (%): it is fed by its own loop loop#2 (%), and prefers one to the other: what comes in by its input 2 could starve; merge that in front of the Loop"}, passes},
		{"G21: a branch that drops and a zip", func() flow.Pipeline {
			return lapPipeline(10, flow.Gated(4), func(in lapFlow) (out, again lapFlow) {
				bs := in.Broadcast(2, flow.Name("copies"))
				return round(bs[0].ZipWith(bs[1].Buffer(1, flow.DropOldest, flow.Name("recent")), func(a, _ laps) laps { return a }))
			})
		}, []string{`flow: zipwith#5 (%): its inputs 1 and 2 are branches of copies (%), but do not give equally many items, because edge "recent" (%) drops items: from then on its items do not belong together`}, notRun},
		{"T11: a broadcast back into the merge in front of it", func() flow.Pipeline {
			return discard(unending().Loop(flow.Gated(8), func(in flow.Flow[int]) (out, again flow.Flow[int]) {
				bs := in.Tap(func(int) { time.Sleep(time.Millisecond) }).Broadcast(2)
				return bs[0], bs[1]
			}))
		}, []string{
			"flow: loop#2 (%): whatever comes in goes round for ever, and nothing new comes in once 8 are inside: let items leave on the way (Filter, Split), or use Lossy, or a PrimedLoop",
		}, roundsOn},
		{"a batch that never gets full", func() flow.Pipeline {
			return lapPipeline(10, flow.Gated(8), func(in lapFlow) (out, again lapFlow) {
				return round(in.Batch(4, 0, flow.Name("four")).FlatMap(func(b []laps) []laps { return b }))
			})
		}, []string{"flow: four (%): it keeps items until more come, and the loop loop#2 (%) does not end before it lets them go: give it a maxWait, or put it behind the Loop"}, notRun},
		{"items that come in beside the gate", func() flow.Pipeline {
			return lapPipeline(10, flow.Gated(8), func(in lapFlow) (out, again lapFlow) {
				out, again = round(in)
				return out, flow.Merge(again, flow.FromSlice(lapsOf(3, 2)))
			})
		}, []string{"flow: merge#7 (%): its input 2 lets items into the loop loop#2 (%) past what bounds it: merge them in front of the Loop"}, passes},
		{"results that are not of the body", func() flow.Pipeline {
			return lapPipeline(10, flow.Gated(8), func(lapFlow) (out, again lapFlow) {
				return flow.FromSlice(lapsOf(1, 1)), flow.FromSlice(lapsOf(1, 1))
			})
		}, []string{
			"flow: loop#4 (%): what leaves it is not made of what its body gets", "flow: loop#4 (%): what goes round again is not made of what its body gets",
		}, notRun},
		{"nothing goes round", func() flow.Pipeline {
			return lapPipeline(10, flow.Gated(8), func(in lapFlow) (out, again lapFlow) { return in, flow.FromSlice(lapsOf(1, 1)) })
		}, []string{"flow: loop#2 (%): what goes round again is not made of what its body gets"}, notRun},
		{"no body", func() flow.Pipeline { return lapPipeline(10, flow.Gated(8), nil) }, []string{"flow: loop#2 (%): body must not be nil"}, notRun},
		{"a lossy loop that does not drop", func() flow.Pipeline { return lapPipeline(10, flow.Lossy(8, flow.Block), round) }, []string{
			"flow: loop#2 (%): Lossy: policy must be DropNewest or DropOldest, got block",
		}, notRun},
		{"a loop that drops messages and does not say how they end", func() flow.Pipeline {
			return lapsOfBroker(newBroker(3)).Loop(flow.Lossy(8, flow.DropNewest, flow.Name("back")), round).To(stage.Discard[laps]())
		}, []string{"flow: back (%): it can drop messages: say with SettleDropped how a dropped one ends (Ack, Term or Nak), here or at the source"}, notRun},
		{"all at once", func() flow.Pipeline {
			return lapsOfBroker(newBroker(3)).Buffer(0, flow.DropNewest, flow.Name("none")).Loop(nil, round, flow.Name("first")).
				Loop(flow.Gated(2), func(in lapFlow) (out, again lapFlow) {
					return round(in.FlatMap(func(laps) []laps { return nil }, flow.Name("more")))
				}, flow.Name("second")).To(stage.Discard[laps]())
		}, []string{
			"flow: none (%): capacity must be 1 to 2147483647, got 0",
			"flow: first (%): it has no form: what goes round would fill the edges until nothing moves; use Gated(k), Lossy(capacity, policy) or a PrimedLoop",
			"flow: second (%): Gated(2) counts what it lets in, but more (%) may make many of one, and all of them may go round: write Gated(2).Children(limit), or an edge at the end of again that drops or rejects",
			"flow: none (%): it can drop messages: say with SettleDropped how a dropped one ends (Ack, Term or Nak), here or at the source",
		}, notRun},
	}
}

// hubCircle feeds a hub with what comes from it.
func hubCircle() flow.Pipeline {
	hub := flow.NewBroadcastHub[int](1, 2)
	back, _, err := hub.Attach(flow.Edge[int]{Name: "back", Capacity: 2})
	if err != nil {
		panic(err)
	}
	bs := flow.Merge(unending(), back).Tap(alone).Broadcast(2)
	return flow.Join(discard(bs[0]), bs[1].ToHub(hub, flow.Name("round")))
}

func lapsOfBroker(b *broker) lapFlow {
	return flow.FromItems(b).Map(func(i int) laps { return laps{id: i, left: i % 7} })
}

// lapPipeline is a loop of n values that go round up to six times.
func lapPipeline(n int, form flow.LoopForm, body func(in lapFlow) (out, again lapFlow)) flow.Pipeline {
	return flow.FromSlice(lapsOf(n, 7)).Loop(form, body).To(stage.Discard[laps]())
}

func dear(laps) { time.Sleep(100 * time.Microsecond) }

func leaves(l laps) bool { return l.left == 0 }

func nextLap(l laps) laps { return laps{l.id, l.left - 1, l.done + 1} }

func leftOfPair(p flow.Pair[int, int]) int { return p.First }

// requests go to a server and come back, over edges of one place.
func requests(in lapFlow) (out, again lapFlow) {
	out, again = in.Buffer(1, flow.Block).Tap(dear).Split(leaves)
	return out, again.Buffer(1, flow.Block).Map(nextLap).Buffer(1, flow.Block)
}

// crawlWithoutEnd finds two more links on each page.
func crawlWithoutEnd(in flow.Flow[int]) (out, again flow.Flow[int]) {
	bs := in.Broadcast(2)
	return bs[0], bs[1].FlatMap(func(i int) []int { return []int{2 * i, 2*i + 1} }, flow.Name("links"))
}

func TestLoopsThatMustNotBeBuilt(t *testing.T) {
	for _, g := range loopGraphs() {
		t.Run(g.name, func(t *testing.T) {
			err := g.build().Check()
			if err == nil {
				t.Fatal("it is not refused")
			}
			got := strings.Split(lineOf.ReplaceAllString(err.Error(), "(%)"), "\n")
			if !slices.Equal(got, g.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(g.want, "\n"))
			}
			if g.fate != notRun {
				equal(t, "what it does", fateOfLoop(t, g.build()), g.fate)
			}
		})
	}
}

// fateOfLoop runs a pipeline unchecked.
func fateOfLoop(t *testing.T, p flow.Pipeline) (f loopFate) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := flow.Trusting(p).Run(ctx)
		switch _, deadlock := errors.AsType[*flow.DeadlockError](err); {
		case deadlock:
			f = stuck
		case errors.Is(err, context.DeadlineExceeded):
			f = roundsOn
		default:
			must(t, err)
			f = passes
		}
	})
	return f
}

// The legal forms of the same graphs.
func TestLoopsThatLive(t *testing.T) {
	inBubble(t, "G5: an uneven partition, and the order of all", func(t *testing.T) {
		got := newSeen[int]()
		must(t, flow.FromSlice(ints(100)).Buffer(4, flow.Block).Parallel(2, func(ctx context.Context, i int) (int, error) {
			if i == 7 {
				return i, nap(ctx, time.Minute)
			}
			return i, nil
		}).ForEach(got.each).Run(t.Context()))
		equalSlices(t, "values", got.values(), ints(100))
	})
	t.Run("G6: a gate of three", func(t *testing.T) {
		p := lapPipeline(100, flow.Gated(3), requests)
		must(t, p.Check())
		equal(t, "what it does", fateOfLoop(t, p), passes)
	})
	inBubble(t, "G7: every call fails", retryLoop)
	t.Run("G8: a crawler that drops", func(t *testing.T) {
		p := discard(flow.FromSlice([]int{1}).Loop(flow.Lossy(64, flow.DropNewest), crawlWithoutEnd).Take(1000))
		must(t, p.Check())
		equal(t, "what it does", fateOfLoop(t, p), passes)
	})
	t.Run("a batch with a time", func(t *testing.T) {
		p := lapPipeline(10, flow.Gated(8), func(in lapFlow) (out, again lapFlow) {
			return round(in.Batch(4, time.Millisecond).FlatMap(func(b []laps) []laps { return b }))
		})
		must(t, p.Check())
		equal(t, "what it does", fateOfLoop(t, p), passes)
	})
	t.Run("a branch that leaves and one that goes round", func(t *testing.T) {
		p := lapPipeline(100, flow.Gated(3), func(in lapFlow) (out, again lapFlow) {
			bs := in.Broadcast(2)
			return bs[0], bs[1].Filter(func(l laps) bool { return l.left > 0 }).Map(nextLap)
		})
		must(t, p.Check())
		equal(t, "what it does", fateOfLoop(t, p), passes)
	})
}

// retryLoop makes a hundred calls, all of which fail, three times each.
func retryLoop(t *testing.T) {
	type call struct{ id, tries int }
	letters, calls := map[int]int{}, 0
	dead := stage.SinkFunc(func(_ context.Context, ls []stage.DeadLetter) error {
		for _, l := range ls {
			letters[l.Value.(call).id]++
		}
		return nil
	})
	try := func(_ context.Context, c call) (call, error) {
		if c.tries == 3 {
			return c, errors.New("it has failed three times")
		}
		calls++
		return call{c.id, c.tries + 1}, nil
	}
	b := newBroker(100)
	must(t, flow.FromItems(b).Map(func(i int) call { return call{id: i} }).Loop(flow.Gated(8), func(in flow.Flow[call]) (out, again flow.Flow[call]) {
		return in.TryMap(try, flow.OnError(flow.DeadLetter(dead))).Split(func(call) bool { return false })
	}).To(stage.Discard[call]()).Run(t.Context()))
	equal(t, "calls", calls, 300)
	equal(t, "dead letters", len(letters), 100)
	for id, times := range letters {
		equal(t, fmt.Sprintf("letters of %d", id), times, 1)
	}
	b.once(t)
	equal(t, "done", len(b.kind(stage.Done)), 100)
}

// G18: no operator reserves room in one edge while it waits for room in another: an input of a Merge waits with an item in hand.
func TestTwoBroadcastsIntoTwoSharedEdgesInOppositeOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := flow.FromSlice(ints(1000)).Broadcast(2), flow.FromSlice(ints(1000)).Broadcast(2)
		first, second := newSeen[int](), newSeen[int]()
		must(t, flow.Join(
			flow.Merge(a[0], b[1]).Buffer(1, flow.Block).ForEach(first.each),
			flow.Merge(b[0], a[1]).Buffer(1, flow.Block).ForEach(second.each),
		).Run(t.Context()))
		for _, got := range [][]int{first.values(), second.values()} {
			slices.Sort(got)
			equalSlices(t, "values", got, slices.Sorted(slices.Values(slices.Concat(ints(1000), ints(1000)))))
		}
	})
}

// What is kept beside the way round does not keep a primed loop waiting: the token is in its other branch.
func TestABatchBesideTheWayRoundOfAPrimedLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := newSeen[int]()
		p := flow.FromSlice(ints(100)).PrimedLoop([]int{7, 8}, func(in tokens) (out, again flow.Flow[int]) {
			bs := in.Map(leftOfPair).Tee(func(f intFlow) flow.Pipeline {
				return f.ForEachBatch(5, 0, func(context.Context, []int) error { return nil })
			}).Broadcast(2)
			return bs[0], bs[1]
		}).ForEach(got.each)
		must(t, p.Check())
		must(t, p.Run(t.Context()))
		equalSlices(t, "values", got.values(), ints(100))
	})
}
