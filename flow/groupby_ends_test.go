package flow_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// hoarding makes stages that keep what comes, and emit one sum of it when their input ends.
func hoarding(int) stage.Stage[int, int] {
	return stage.StageFunc(func(ctx context.Context, in *inInts, out *outInts) error {
		sum := 0
		var held []stage.Item[int]
		for it, err := range in.All(ctx) {
			if err != nil {
				return err
			}
			sum += it.Value
			held = append(held, in.Keep(it))
		}
		if held == nil {
			return nil
		}
		return out.Emit(ctx, stage.Combine(sum, held...))
	})
}

// hanging makes stages that take one item and wait for the end of their context.
func hanging(int) stage.Stage[int, int] {
	return eachItem(func(ctx context.Context, it stage.Item[int], _ *outInts) error { return hang(ctx, it.Value) }, nothing)
}

// However it ends, every message settles once: as given back where it was not worked off.
func TestGroupByEnds(t *testing.T) {
	groups := flow.Groups[int]{Max: 3, Lane: flow.Edge[int]{Capacity: 4, SettleDropped: flow.Term}}
	dropping := groups
	dropping.Ended = flow.DropRest
	drain := func(t *testing.T, r *flow.Run) error { return r.Drain(t.Context()) }
	stop := func(_ *testing.T, r *flow.Run) error { r.Stop(); return r.Wait() }
	over := func(t *testing.T, r *flow.Run) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		return r.Drain(ctx)
	}
	tests := []struct {
		name       string
		groups     flow.Groups[int]
		group      func(int) stage.Stage[int, int]
		end        func(*testing.T, *flow.Run) error
		want       error
		done, lost int // of 30 messages of 3 keys
		took       time.Duration
	}{
		{"drain: groups flush at once", groups, hoarding, drain, nil, 30, 0, 0},
		{"drain: a flush takes its time", groups, newDiary().diligent(0, 5*time.Second), drain, nil, 30, 0, 5 * time.Second},
		{"drain that is too short", groups, hanging, over, flow.ErrStopped, 0, 0, time.Second},
		{"drain of groups that drop", dropping, running(func(context.Context, *inInts, *outInts) error { return nil }), drain, nil, 0, 30, 0},
		{"stop: what is kept is given back", groups, hoarding, stop, flow.ErrStopped, 0, 0, 0},
		{"stop: what waits is given back", groups, hanging, stop, flow.ErrStopped, 0, 0, 0},
		{"stop: what has settled has settled", groups, forwarding, stop, flow.ErrStopped, 30, 0, 0},
	}
	for _, c := range tests {
		inBubble(t, c.name, func(t *testing.T) {
			b := newBroker(30)
			b.stays = true
			r := start(t, discard(flow.FromItems(b).GroupBy(c.groups, modulo(3), c.group)))
			time.Sleep(time.Minute)
			began := time.Now()
			err := c.end(t, r)
			if c.want == nil {
				must(t, err)
			} else {
				wantError(t, err, c.want)
			}
			equal(t, "time", time.Since(began), c.took)
			b.once(t)
			equal(t, "done", len(b.kind(stage.Done)), c.done)
			equal(t, "terminated", len(b.kind(stage.Terminated)), c.lost)
			equal(t, "failed", len(b.kind(stage.Failed)), b.next-c.done-c.lost)
		})
	}
}

// A consumer that wants no more ends all groups, whatever they do, and a source that waits.
func TestGroupByWhoseConsumerLeaves(t *testing.T) {
	chatty := func(k int) stage.Stage[int, int] { // hands on, also at its end
		return stage.StageFunc(func(ctx context.Context, in *inInts, out *outInts) error {
			if err := double(ctx, in, out); err != nil {
				return err
			}
			return out.Emit(ctx, stage.NewItem(-1-k, stage.Meta{}))
		})
	}
	for name, group := range map[string]func(int) stage.Stage[int, int]{"resting": forwarding, "at the end": chatty} {
		inBubble(t, name, func(t *testing.T) {
			b := newBroker(300)
			b.stays = true
			got, err := flow.FromItems(b).GroupBy(flow.Groups[int]{Max: 4}, modulo(7), group).Take(50).Collect(t.Context(), 50)
			must(t, err)
			b.once(t)
			equal(t, "items", len(got), 50)
			messages := len(slices.DeleteFunc(got, func(i int) bool { return i < 0 }))
			if done := len(b.kind(stage.Done)); done > messages || done < messages-4 { // a stage may have had one in hand
				t.Fatalf("%d messages are done, want those of %d items", done, messages)
			}
		})
	}
	inBubble(t, "in a branch", func(t *testing.T) {
		b := newBroker(300)
		got := newSeen[int]()
		bs := flow.FromItems(b).Broadcast(2)
		must(t, flow.Join(
			discard(bs[0].GroupBy(flow.Groups[int]{Max: 4}, modulo(7), hoarding).Take(1)),
			bs[1].ForEach(got.each),
		).Run(t.Context()))
		equalSlices(t, "of the other branch", got.values(), ints(300))
		b.once(t)
	})
}

// A group that waits for room behind it is told when nobody wants more, or when the run stops.
func TestGroupByBackpressure(t *testing.T) {
	inBubble(t, "the sink hangs", func(t *testing.T) {
		b := newBroker(1000)
		r := start(t, flow.FromItems(b).GroupBy(flow.Groups[int]{Max: 2, Lane: flow.Edge[int]{Capacity: 3}}, modulo(2), forwarding).
			Buffer(5, flow.Block).ForEach(hang))
		synctest.Wait()
		if most := 2*(3+1) + 3 + 5 + 1; b.next > most {
			t.Fatalf("%d messages were read, want at most %d", b.next, most)
		}
		stopped(t, r)
		b.once(t)
		equal(t, "given back", len(b.kind(stage.Failed)), b.next)
	})
}

// A lane keeps to its policy: what it drops settles as its SettleDropped says, and its figures add up.
func TestGroupByLanesThatDrop(t *testing.T) {
	for _, c := range []struct {
		name string
		lane flow.Edge[int]
		why  flow.DropReason
	}{
		{"newest", flow.Edge[int]{Capacity: 3, OnFull: flow.DropNewest}, flow.DropFull},
		{"oldest", flow.Edge[int]{Capacity: 3, OnFull: flow.DropOldest}, flow.DropFull},
		{"expired", flow.Edge[int]{Capacity: 100, MaxWait: 2500 * time.Millisecond}, flow.DropExpired},
		{"too heavy", flow.Edge[int]{
			Capacity: 100, OnFull: flow.DropNewest, MaxWeight: 2,
			Weight: func(i int) int64 { return int64(1 + 2*(i/10%2)) },
		}, flow.DropTooHeavy},
	} {
		inBubble(t, c.name, func(t *testing.T) {
			b := newBroker(60)
			told := 0
			c.lane.SettleDropped = flow.Nak(time.Hour)
			c.lane.Dropped = func(_ int, why flow.DropReason) {
				if why == c.why {
					told++
				}
			}
			got := newSeen[int]()
			slowly := func(int) stage.Stage[int, int] {
				return eachItem(func(ctx context.Context, it stage.Item[int], out *outInts) error {
					if err := nap(ctx, time.Second); err != nil {
						return err
					}
					return out.Emit(ctx, it)
				}, nothing)
			}
			r := start(t, flow.FromItems(b).GroupBy(flow.Groups[int]{Max: 1, Lane: c.lane}, func(int) int { return 0 }, slowly,
				flow.Name("groups")).ForEach(got.each))
			must(t, r.Wait())
			b.once(t)
			lanes := edgeStats(t, r, "groups.lanes")
			dropped := lanes.Dropped.Total()
			if lanes.Dropped[c.why] == 0 || told == 0 {
				t.Fatalf("dropped %v and told of %d, want some as %v", lanes.Dropped, told, c.why)
			}
			equal(t, "in = out + dropped", lanes.In, lanes.Out+dropped)
			equal(t, "done", int64(len(b.kind(stage.Done))), lanes.Out)
			equal(t, "failed", int64(len(b.kind(stage.Failed))), dropped)
			for _, i := range b.kind(stage.Failed) {
				equal(t, "delay", b.outcome(t, i).Delay, time.Hour)
			}
		})
	}
	inBubble(t, "reject", func(t *testing.T) {
		err := discard(flow.FromSlice(ints(9)).GroupBy(flow.Groups[int]{Lane: flow.Edge[int]{Capacity: 2, OnFull: flow.Reject}},
			func(int) int { return 0 }, hanging, flow.Name("groups"))).Run(t.Context())
		wantStage(t, err, "groups")
		wantText(t, err, `edge "groups.lanes" is full`)
	})
}

// Hooks of a lane that do not return stop the run, and every message settles once.
func TestGroupByHooksThatDoNotReturn(t *testing.T) {
	for _, tr := range troubles() {
		bad := func() { tr.do() }
		for name, groups := range map[string]flow.Groups[int]{
			"weight": {Lane: flow.Edge[int]{MaxWeight: 9, Weight: func(i int) int64 {
				if i == 33 {
					bad()
				}
				return 1
			}}},
			"dropped by DropRest": {Ended: flow.DropRest, Lane: flow.Edge[int]{SettleDropped: flow.Ack, Dropped: func(i int, _ flow.DropReason) {
				if i == 33 {
					bad()
				}
			}}},
			"expired": {Lane: flow.Edge[int]{Capacity: 9, MaxWait: time.Second, SettleDropped: flow.Ack, Dropped: func(int, flow.DropReason) { bad() }}},
		} {
			inBubble(t, name+": "+tr.name, func(t *testing.T) {
				b := newBroker(100)
				b.stays = true
				group := forwarding
				switch name {
				case "dropped by DropRest":
					group = running(func(context.Context, *inInts, *outInts) error { return nil })
				case "expired":
					group = newDiary().diligent(2*time.Second, 0)
				}
				err := discard(flow.FromItems(b).GroupBy(groups, modulo(3), group, flow.Name("groups"))).Run(t.Context())
				wantStage(t, err, "groups.lanes")
				if tr.is != nil {
					wantError(t, err, tr.is)
				}
				b.once(t)
			})
		}
	}
}

// A stage that does not return holds up a stop for a second, and is named.
func TestGroupByDeafStage(t *testing.T) {
	inBubble(t, "one second", func(t *testing.T) {
		wake := make(chan struct{})
		r := start(t, discard(flow.FromSlice(ints(9)).GroupBy(flow.Groups[int]{Max: 2}, modulo(2), running(
			func(ctx context.Context, in *inInts, _ *outInts) error {
				_, err := in.Next(ctx)
				<-wake
				return err
			}), flow.Name("groups"))))
		synctest.Wait()
		began := time.Now()
		r.Stop()
		err := r.Wait()
		wantError(t, err, flow.ErrStopped)
		wantText(t, err, "the code of groups has not returned")
		equal(t, "time", time.Since(began), time.Second)
		equal(t, "unknown", r.Report().Unknown, 2)
		close(wake)
	})
}
