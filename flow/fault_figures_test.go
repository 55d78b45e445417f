package flow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// F1: a function panics for every item, at two places, and Skip goes on. Right: each failure is an error with a stack, and a place has one
// stack a minute, which all its errors share: a storm of panics costs no storm of stacks.
func TestF1OneStackPerSiteAndMinute(t *testing.T) {
	inBubble(t, "an hour", func(t *testing.T) {
		stacks := map[*byte]int{}
		fails := func(ctx context.Context, i int) (int, error) {
			if err := nap(ctx, time.Second); err != nil {
				return i, err
			}
			if even(i) {
				panic("even")
			}
			panic(errThrown)
		}
		look := flow.If(func(err error) bool {
			e, ok := errors.AsType[*stage.Error](err)
			if !ok || !strings.Contains(string(e.Stack), "fault_figures_test.go") {
				t.Fatalf("%v has the stack %q, want one that leads here", err, e.Stack)
			}
			stacks[&e.Stack[0]]++
			return true
		}, flow.Skip)
		r := start(t, flow.FromSlice(ints(3600)).TryMap(fails, flow.OnError(look)).To(stage.Discard[int]()))
		must(t, r.Wait())
		equal(t, "skipped", r.Report().Skipped, 3600)
		if n := len(stacks); n < 100 || n > 122 {
			t.Errorf("%d stacks in an hour of two places, want one a minute for each", n)
		}
	})
}

// F3: a sink, or a source, does not listen to its context, and the run is drained with five seconds. Right: it returns one second behind
// those five, names who is deaf, and at no time held more than the graph says.
func TestF3ADeafPartAndADrain(t *testing.T) {
	deaf := func(context.Context, int) error { time.Sleep(time.Hour); return nil }
	deafSource := flow.FromFunc(func(context.Context) (int, error) { time.Sleep(time.Hour); return 0, nil }, flow.Name("deaf"))
	b := newBroker(1000)
	for name, p := range map[string]flow.Pipeline{
		"sink":   flow.FromItems(b).Buffer(5, flow.Block).Parallel(3, same).ForEach(deaf, flow.Name("deaf"), flow.Workers(2)),
		"source": deafSource.To(stage.Discard[int]()),
	} {
		inBubble(t, name, func(t *testing.T) {
			r, err := p.Start(context.Background())
			must(t, err)
			time.Sleep(time.Minute)
			synctest.Wait()
			b.mu.Lock()
			held := b.next
			b.mu.Unlock()
			if most := p.Graph().Bound; held > most {
				t.Errorf("%d items are held, want at most %d", held, most)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			began := time.Now()
			err = r.Drain(ctx)
			equal(t, "time", time.Since(began), 6*time.Second)
			wantText(t, err, "the code of deaf has not returned")
			if name == "sink" {
				equal(t, "unknown", r.Report().Unknown, 2)
			}
			time.Sleep(time.Hour) // now they return, and what they had is settled, too
			if name == "sink" {
				synctest.Wait()
				b.once(t)
			}
		})
	}
}

// F4: each goroutine of the run waits for room in the edge in front of it when the context ends. Right: the run returns at once, and what
// was inside is given back.
func TestF4CancelledWhileBlockedOnFullEdges(t *testing.T) {
	inBubble(t, "cancel", func(t *testing.T) {
		b := newBroker(10_000)
		ctx, cancel := context.WithCancelCause(t.Context())
		r, err := flow.FromItems(b).Buffer(4, flow.Block).Map(twice).Buffer(4, flow.Block).Parallel(2, same).ForEach(hang).Start(ctx)
		must(t, err)
		time.Sleep(time.Minute)
		began := time.Now()
		cancel(errCancel)
		wantError(t, r.Wait(), errCancel)
		equal(t, "time", time.Since(began), 0)
		b.once(t)
		equal(t, "done", len(b.kind(stage.Done)), 0)
	})
}

// F18: a source that is quiet for an hour, a day in which the machine is asleep, a sink that takes ten minutes. Right: nothing takes that
// for a fault, whatever limits of time there are in the graph.
func TestF18LongPausesAreNoFaults(t *testing.T) {
	inBubble(t, "pauses", func(t *testing.T) {
		b := newBroker(20)
		pauses := []time.Duration{0, time.Hour, time.Millisecond, 24 * time.Hour, 10 * time.Minute}
		pulls := 0
		slow := stage.ItemSourceFunc(func(ctx context.Context, dst []stage.Item[int]) (int, error) {
			pulls++
			if err := nap(ctx, pauses[pulls%len(pauses)]); err != nil {
				return 0, err
			}
			return b.PullItems(ctx, dst[:1])
		})
		stored := 0
		p := flow.FromItems(slow).
			Edge(flow.Edge[int]{Capacity: 4, MaxWait: 25 * time.Hour, SettleDropped: flow.Nak(0)}).
			Throttle(1, time.Second).
			TryMap(same, flow.Timeout(time.Minute)).
			Batch(3, time.Minute).
			ForEach(func(ctx context.Context, is []int) error { stored += len(is); return nap(ctx, 10*time.Minute) })
		must(t, p.Run(t.Context()))
		b.once(t)
		equal(t, "done", len(b.kind(stage.Done)), 20)
		equal(t, "stored", stored, 20)
	})
}

// F24: the seventh of nine parts does not open. Right: the six that were opened are closed, the last one first, nothing else is touched,
// and the error is that of the seventh with those of closing behind it.
func TestF24TheSeventhOfNinePartsDoesNotOpen(t *testing.T) {
	var log []string
	down, stuck := errors.New("connection refused"), errors.New("can't be closed")
	part := func(i int) *closesBadly {
		c := &closesBadly{}
		c.name, c.log = strconv.Itoa(i), &log
		switch i {
		case 7:
			c.fails = down
		case 3:
			c.stuck = stuck
		}
		return c
	}
	var inputs []flow.Flow[int]
	for i := 1; i <= 5; i++ {
		inputs = append(inputs, flow.From[int](part(i)))
	}
	var outputs []flow.Pipeline
	for i, branch := range flow.Merge(inputs...).Broadcast(4) {
		outputs = append(outputs, branch.To(part(6+i), flow.Name(fmt.Sprint("out", 6+i))))
	}
	_, err := flow.Join(outputs...).Start(t.Context())
	wantStage(t, err, "out7")
	wantError(t, err, down)
	wantError(t, err, stuck)
	want := []string{"open 1", "open 2", "open 3", "open 4", "open 5", "open 6", "open 7"}
	for i := 6; i >= 1; i-- {
		want = append(want, fmt.Sprint("close ", i))
	}
	if !slices.Equal(log, want) {
		t.Errorf("log %q, want %q", log, want)
	}
}

// closesBadly is a part whose Close may fail.
type closesBadly struct {
	opened
	stuck error
}

func (c *closesBadly) Close() error { return errors.Join(c.opened.Close(), c.stuck) }
