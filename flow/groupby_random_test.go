package flow_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// grouped is a random GroupBy of the messages 0 to items-1, with the key i % keys, and what has come out of it. Its stages hand on the
// items in pairs, which they keep until they are complete, and at their end a single one.
type grouped struct {
	items, keys int
	groups      flow.Groups[int]
	quota       int // items after which a stage returns; 0: at its end
	work, sink  time.Duration
	fault       string
	at          time.Duration // of a stop or a drain
	failAt      int64         // call of user code that fails
	take        int

	calls  atomic.Int64
	struck atomic.Bool
	open   atomic.Int32

	mu  sync.Mutex
	out map[int][]int // by key
	bad []error
}

var groupFaults = []string{"none", "error", "panic", "goexit", "stop", "drain", "take"}

func drawGrouped(rt *rapid.T, fault string) *grouped {
	number := func(least, most int, name string) int { return rapid.IntRange(least, most).Draw(rt, name) }
	ms := func(most int, name string) time.Duration {
		return time.Duration(number(0, most, name)) * time.Millisecond
	}
	return &grouped{
		items: number(0, 150, "items"), keys: number(1, 12, "keys"),
		groups: flow.Groups[int]{
			Max: number(1, 6, "Max"), Idle: ms(6, "Idle"),
			Lane: flow.Edge[int]{
				Capacity: number(1, 5, "Capacity"), SettleDropped: flow.Term,
				OnFull: rapid.SampledFrom([]flow.Policy{flow.Block, flow.Block, flow.DropNewest, flow.DropOldest}).Draw(rt, "OnFull"),
			},
			Ended: rapid.SampledFrom([]flow.EndedGroup{flow.Reopen, flow.DropRest}).Draw(rt, "Ended"),
		},
		quota: number(0, 7, "quota"), work: ms(3, "work"), sink: ms(2, "sink"), fault: fault, at: ms(100, "at"),
		failAt: int64(number(1, 300, "failAt")), take: number(0, 60, "take"), out: map[int][]int{},
	}
}

func (s *grouped) String() string {
	return fmt.Sprintf("items %d, keys %d, %+v, quota %d, work %v, sink %v, fault %s, at %v, failAt %d, take %d",
		s.items, s.keys, s.groups, s.quota, s.work, s.sink, s.fault, s.at, s.failAt, s.take)
}

// lossless reports whether nothing is dropped.
func (s *grouped) lossless() bool {
	return s.groups.Lane.OnFull == flow.Block && (s.groups.Ended == flow.Reopen || s.quota == 0)
}

// user is in all user code: one call of it fails.
func (s *grouped) user() error {
	if s.calls.Add(1) != s.failAt {
		return nil
	}
	switch s.fault {
	case "error", "panic", "goexit":
		s.struck.Store(true)
	}
	switch s.fault {
	case "error":
		return errFault
	case "panic":
		panic(errFault)
	case "goexit":
		runtime.Goexit()
	}
	return nil
}

func (s *grouped) key(i int) int {
	if s.user() != nil {
		panic(errFault)
	}
	return i % s.keys
}

func (s *grouped) group(k int) stage.Stage[int, []int] {
	if s.user() != nil {
		panic(errFault)
	}
	return stage.StageFunc(func(ctx context.Context, in *inInts, out *stage.Out[[]int]) error {
		if n := s.open.Add(1); int(n) > s.groups.Max {
			s.wrong(fmt.Errorf("%d groups are open, want at most %d", n, s.groups.Max))
		}
		defer s.open.Add(-1)
		return s.pairs(ctx, k, in, out)
	})
}

// pairs is the stage of key k.
func (s *grouped) pairs(ctx context.Context, k int, in *inInts, out *stage.Out[[]int]) error {
	var first stage.Item[int]
	var err error
	held := false
	for n := 0; s.quota == 0 || n < s.quota; n++ {
		var it stage.Item[int]
		if it, err = in.Next(ctx); err != nil {
			break
		}
		if it.Value%s.keys != k {
			s.wrong(fmt.Errorf("key %d got %d", k, it.Value))
		}
		if err := errors.Join(s.user(), nap(ctx, s.work)); err != nil {
			return err
		}
		if !held {
			first, held = in.Keep(it), true
			continue
		}
		held = false
		if err := out.Emit(ctx, stage.Combine([]int{first.Value, it.Value}, first, in.Keep(it))); err != nil {
			return err
		}
	}
	if err != nil && err != stage.ErrEnd || !held {
		return err
	}
	return out.Emit(ctx, stage.Combine([]int{first.Value}, first))
}

func (s *grouped) wrong(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bad = append(s.bad, err)
}

// receive is the sink.
func (s *grouped) receive(ctx context.Context, vs []int) error {
	s.mu.Lock()
	for _, v := range vs {
		s.out[v%s.keys] = append(s.out[v%s.keys], v)
	}
	s.mu.Unlock()
	return nap(ctx, s.sink)
}

// run runs it, and returns what is wrong.
func (s *grouped) run(ctx context.Context) error {
	b := newBroker(s.items)
	b.stays = s.fault == "drain" || s.fault == "stop"
	f := flow.FromItems(b).GroupBy(s.groups, s.key, s.group, flow.Name("groups"))
	if s.fault == "take" {
		f = f.Take(s.take)
	}
	r, err := f.ForEach(s.receive).Start(ctx)
	if err != nil {
		return err
	}
	stuck := time.AfterFunc(24*time.Hour, r.Stop)
	defer stuck.Stop()
	switch s.fault {
	case "stop":
		time.Sleep(s.at)
		r.Stop()
		err = r.Wait()
	case "drain":
		time.Sleep(s.at)
		err = r.Drain(context.WithoutCancel(ctx))
	default:
		err = r.Wait()
	}
	s.wrong(b.problem())
	s.wrong(s.ended(err))
	s.wrong(s.figures(r))
	s.wrong(s.compare(b, err))
	return errors.Join(s.bad...)
}

// ended says what is wrong with the error of the run.
func (s *grouped) ended(err error) error {
	switch {
	case err == nil && (s.struck.Load() || s.fault == "stop"):
		return errors.New("the run ended well in spite of the fault")
	case err == nil,
		s.struck.Load() && (errors.Is(err, errFault) || errors.Is(err, stage.ErrGoexit)),
		s.fault == "stop" && errors.Is(err, flow.ErrStopped):
		return nil
	}
	return fmt.Errorf("the run failed: %w", err)
}

// figures says what is wrong with the statistics.
func (s *grouped) figures(r *flow.Run) error {
	stats := r.Stats()
	i := slices.IndexFunc(stats.Edges, func(e flow.EdgeStats) bool { return e.Name == "groups.lanes" })
	e := stats.Edges[i]
	if e.In != e.Out+e.Dropped.Total()+int64(e.Depth) {
		return fmt.Errorf("lanes: in %d, out %d, dropped %v, depth %d", e.In, e.Out, e.Dropped, e.Depth)
	}
	if i = slices.IndexFunc(stats.Stages, func(st flow.StageStats) bool { return st.Groups > 0 }); i >= 0 {
		return fmt.Errorf("%d groups are open at the end", stats.Stages[i].Groups)
	}
	return nil
}

// compare compares with what one stage after the other would do: of each key the items in order, all of them where nothing is
// dropped, and each that came out is done.
func (s *grouped) compare(b *broker, err error) error {
	exact := err == nil && s.fault != "take"
	came := 0
	for k, vs := range s.out {
		if !slices.IsSorted(vs) || len(slices.Compact(slices.Clone(vs))) != len(vs) {
			return fmt.Errorf("of key %d came %v, want the order of the input, each once", k, vs)
		}
		came += len(vs)
	}
	done, dropped, failed := len(b.kind(stage.Done)), len(b.kind(stage.Terminated)), len(b.kind(stage.Failed))
	switch {
	case exact && (done != came || done+dropped != b.next):
		return fmt.Errorf("%d of %d came out, %d are done, %d dropped and %d failed", came, b.next, done, dropped, failed)
	case exact && s.lossless() && dropped > 0:
		return fmt.Errorf("%d messages were dropped", dropped)
	case done > came:
		return fmt.Errorf("%d messages are done, but %d came out", done, came)
	}
	return nil
}

// TestGroupByAsASequence runs random groups against a sequential reference, with a fault at a random moment.
func TestGroupByAsASequence(t *testing.T) {
	for _, fault := range groupFaults {
		t.Run(fault, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				s := drawGrouped(rt, fault)
				var bad error
				synctest.Test(t, func(t *testing.T) { bad = s.run(context.WithoutCancel(t.Context())) })
				if bad != nil {
					rt.Fatalf("%v\n%v", s, bad)
				}
			})
		})
	}
}
