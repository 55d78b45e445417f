package flow_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// What is wrong with the arguments is a build error.
func TestGroupByBuildErrors(t *testing.T) {
	key, group := tens, forwarding
	claims := func() flow.Flow[int] { return flow.FromItems(newBroker(1)) }
	plain := func() flow.Flow[int] { return flow.FromSlice(ints(1)) }
	once := func() flow.Flow[int] { return plain().TryMap(same, flow.NonIdempotent, flow.Name("charge")) }
	tests := []struct {
		name   string
		f      flow.Flow[int]
		groups flow.Groups[int]
		want   string // "": none
	}{
		{"nothing", plain(), flow.Groups[int]{}, ""},
		{"Max < 0", plain(), flow.Groups[int]{Max: -1}, "Max must be 0 to 65536, got -1"},
		{"Max too large", plain(), flow.Groups[int]{Max: 65537}, "Max must be 0 to 65536, got 65537"},
		{"Idle < 0", plain(), flow.Groups[int]{Idle: -1}, "Idle must be >= 0, got -1ns"},
		{"Ended", plain(), flow.Groups[int]{Ended: 2}, "Ended must be Reopen or DropRest, got 2"},
		{"a name", plain(), flow.Groups[int]{Lane: flow.Edge[int]{Name: "x"}}, `Lane: name must be empty, got "x"`},
		{"capacity < 0", plain(), flow.Groups[int]{Lane: flow.Edge[int]{Capacity: -1}}, "Lane: capacity must be 1 to 2147483647, got -1"},
		{"policy", plain(), flow.Groups[int]{Lane: flow.Edge[int]{OnFull: 9}}, "Lane: policy must be"},
		{"the sum", plain(), flow.Groups[int]{Max: 1000, Lane: flow.Edge[int]{Capacity: 1 << 30}}, "Max times the capacity of Lane must be <= 2147483647, got 1000 times 1073741824"},
		{"weight", plain(), flow.Groups[int]{Lane: flow.Edge[int]{MaxWeight: 1}}, "Lane: MaxWeight and Weight go together"},
		{"claims, nothing dropped", claims(), flow.Groups[int]{}, ""},
		{"claims, a dropping lane", claims(), flow.Groups[int]{Lane: flow.Edge[int]{OnFull: flow.DropNewest}}, "its groups can drop messages: say with SettleDropped of Lane"},
		{"claims, a lane with MaxWait", claims(), flow.Groups[int]{Lane: flow.Edge[int]{MaxWait: 1}}, "its groups can drop messages"},
		{"claims, DropRest", claims(), flow.Groups[int]{Ended: flow.DropRest}, "its groups can drop messages"},
		{"claims, said", claims(), flow.Groups[int]{Ended: flow.DropRest, Lane: flow.Edge[int]{SettleDropped: flow.Ack}}, ""},
		{"claims, said at the source", flow.FromItems(newBroker(1), flow.SettleDropped(flow.Ack)), flow.Groups[int]{Ended: flow.DropRest}, ""},
		{"an effect, nothing dropped", once(), flow.Groups[int]{}, ""},
		{"an effect, DropRest", once(), flow.Groups[int]{Ended: flow.DropRest}, "its groups can drop items behind charge, which is NonIdempotent"},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			err := discard(c.f.GroupBy(c.groups, key, group)).Check()
			if c.want == "" {
				must(t, err)
				return
			}
			wantText(t, err, `groupby#\d \(groupby_fault_test.go:\d+\): `+c.want)
		})
	}
	wantText(t, discard(plain().GroupBy[int, int](flow.Groups[int]{}, nil, nil)).Check(), "key must not be nil\n.*group must not be nil")
}

// groupFault is a way in which user code of a GroupBy fails for one item, whose key is another one's than that of all others.
type groupFault struct {
	name   string
	key    func() any                   // of the item; nil: that is in order
	group  func() stage.Stage[int, int] // of its key
	is     error                        // what the cause must be; nil: any
	failed int64                        // items that the stage has counted
}

func groupFaultsOfCode() []groupFault {
	stageOf := func(run runInts) func() stage.Stage[int, int] {
		return func() stage.Stage[int, int] { return stage.StageFunc(run) }
	}
	all := []groupFault{
		{"a nil stage", nil, func() stage.Stage[int, int] { return nil }, nil, 1},
		{"a key that can't be compared", func() any { return []int{1} }, nil, nil, 1},
		{"a key that is not itself", func() any { return nan() }, nil, nil, 1},
		{"a NaN inside a key", func() any { return struct{ f float64 }{nan()} }, nil, nil, 1},
		{"an error", nil, stageOf(failing(errA)), errA, 1},
		{"an error before any item", nil, stageOf(func(context.Context, *inInts, *outInts) error { return errA }), errA, 1},
		{"a stage that keeps what it has", nil, stageOf(keeping), nil, 1}, // which is given back: it may have been none of it
	}
	for _, tr := range troubles() {
		bad := groupFault{"key: " + tr.name, func() any { tr.do(); return 0 }, nil, tr.is, 1}
		if errors.Is(tr.is, stage.ErrGoexit) {
			bad.failed = 0 // nobody knows which item it was
		}
		all = append(all, bad,
			groupFault{"group: " + tr.name, nil, func() stage.Stage[int, int] { tr.do(); return nil }, tr.is, 1},
			groupFault{"Run: " + tr.name, nil, stageOf(func(ctx context.Context, in *inInts, _ *outInts) error {
				_, err := in.Next(ctx)
				tr.do()
				return err
			}), tr.is, 1})
	}
	return all
}

// User code that fails stops the run with an error of the stage; every message settles once, and that at fault is not just given
// back.
func TestGroupByUserCodeThatFails(t *testing.T) {
	for _, c := range groupFaultsOfCode() {
		inBubble(t, c.name, func(t *testing.T) {
			b := newBroker(100)
			b.stays = true
			key := func(i int) any {
				switch {
				case i != 33:
					return i % 3
				case c.key != nil:
					return c.key()
				}
				return "bad"
			}
			group := func(k any) stage.Stage[int, int] {
				if k == "bad" {
					return c.group()
				}
				return forwarding(0)
			}
			r := start(t, discard(flow.FromItems(b).GroupBy(flow.Groups[int]{Max: 4}, key, group, flow.Name("groups"))))
			err := r.Wait()
			wantStage(t, err, "groups")
			if c.is != nil {
				wantError(t, err, c.is)
			}
			b.once(t)
			equal(t, "failed", stageStats(t, r, "groups").Failed, c.failed)
			equal(t, "failed in the report", r.Report().Failed, c.failed)
			o := b.outcome(t, 33)
			equal(t, "how the item at fault ended", o.Kind, stage.Failed)
			equal(t, "it was given back", o.GivenBack, strings.Contains(c.name, "keeps"))
		})
	}
}

func nan() float64 {
	zero := 0.0
	return zero / zero
}

func failing(err error) runInts {
	return func(ctx context.Context, in *inInts, _ *outInts) error {
		if _, err := in.Next(ctx); err != nil {
			return err
		}
		return err
	}
}

func keeping(ctx context.Context, in *inInts, _ *outInts) error {
	it, err := in.Next(ctx)
	in.Keep(it)
	return err
}

// A group's error has its key.
func TestGroupByErrorsHaveTheKey(t *testing.T) {
	for name, run := range map[string]runInts{
		"error": failing(errA),
		"panic": func(context.Context, *inInts, *outInts) error { panic(errA) },
	} {
		inBubble(t, name, func(t *testing.T) {
			err := discard(flow.FromSlice(ints(5)).GroupBy(flow.Groups[int]{}, func(int) string { return "ada" },
				func(string) stage.Stage[int, int] { return stage.StageFunc(run) })).Run(t.Context())
			wantError(t, err, errA)
			wantText(t, err, `^groupby#2 \(key "ada"\): `)
		})
	}
}
