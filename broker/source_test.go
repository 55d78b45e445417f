package broker_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantSlice[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s = %v, want %v", what, got, want)
	}
}

// calls counts the calls of a handler by value, and fails those that it is told to.
type calls struct {
	mu    sync.Mutex
	n     map[string]int
	fails func(v string, call int) bool
}

func (c *calls) handle(_ context.Context, v string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[v]++
	if c.fails != nil && c.fails(v, c.n[v]) {
		return errBoom
	}
	return nil
}

func run(t *testing.T, s *broker.Source[string], c *calls) {
	t.Helper()
	must(t, flow.FromItems(s).ForEach(c.handle, flow.Name("work"), flow.OnError(flow.Redeliver)).Run(t.Context()))
}

func TestAMessageIsAcknowledgedWhenItsWorkIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk("a", "b", "c")
		s := broker.NewSource(d, text, broker.SourceOptions{})
		run(t, s, &calls{})
		wantSlice(t, "ends", d.endings(), []string{"1 done", "2 done", "3 done"})
		if d.opened != 1 || d.closed == 0 {
			t.Errorf("opened %d times, closed %d times", d.opened, d.closed)
		}
		if st := s.Stats(); st.Received != 3 || st.Done != 3 || st.InFlight != 0 {
			t.Errorf("stats %+v", st)
		}
	})
}

func TestAFailureComesAgainLaterEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk("a")
		var at []time.Duration
		began := time.Now()
		c := &calls{fails: func(_ string, call int) bool {
			at = append(at, time.Since(began))
			return call < 6
		}}
		run(t, broker.NewSource(d, text, broker.SourceOptions{}), c)
		for i, ms := range []int{100, 200, 400, 800, 1600} {
			want := time.Duration(ms) * time.Millisecond
			if pause := at[i+1] - at[i]; pause < want/2 || pause > want {
				t.Errorf("pause %d was %v, want %v to %v", i+1, pause, want/2, want)
			}
		}
	})
}

func TestDeadLetters(t *testing.T) {
	for name, c := range map[string]struct {
		payload string
		attempt int // of the first delivery
		header  broker.Header
		fails   bool
		calls   int
		ends    []string
		reason  string // of the letter; "" is none
	}{
		"healthy":                                    {payload: "a", attempt: 1, calls: 1, ends: []string{"1 done"}},
		"fails up to the limit":                      {payload: "a", attempt: 1, fails: true, calls: 3, ends: []string{"1 failed", "1 failed", "1 terminated"}, reason: "failed"},
		"above the limit, and healthy":               {payload: "a", attempt: 7, calls: 1, ends: []string{"1 done"}},
		"fails here above the limit":                 {payload: "a", attempt: 7, fails: true, calls: 1, ends: []string{"1 terminated"}, reason: "failed"},
		"so far above the limit that it must kill":   {payload: "a", attempt: 8, calls: 0, ends: []string{"1 terminated"}, reason: "killer"},
		"undecodable":                                {payload: "bad", attempt: 1, ends: []string{"1 terminated"}, reason: "undecodable"},
		"a codec that panics":                        {payload: "panic", attempt: 1, ends: []string{"1 terminated"}, reason: "undecodable"},
		"too large":                                  {payload: strings.Repeat("x", 101), attempt: 1, ends: []string{"1 terminated"}, reason: "undecodable"},
		"second time dead":                           {payload: "bad", attempt: 1, header: broker.Header{"Weir-Dead-Hops": {"1"}}, ends: []string{"1 terminated"}, reason: "undecodable"},
		"fourth time dead is the end":                {payload: "bad", attempt: 1, header: broker.Header{"Weir-Dead-Hops": {"3"}}, ends: []string{"1 terminated"}},
		"a forged number of hops is no other than 3": {payload: "bad", attempt: 1, header: broker.Header{"Weir-Dead-Hops": {"99999999999999999999"}}, ends: []string{"1 terminated"}, reason: "undecodable"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, dead := newDesk(c.payload), &shelf{room: 10}
				d.waiting[0].Attempt, d.waiting[0].Header = c.attempt, c.header
				s := broker.NewSource(d, text, broker.SourceOptions{Attempts: 3, MaxMessage: 100, DeadLetters: dead, DeadSubject: "dead"})
				work := &calls{fails: func(string, int) bool { return c.fails }}
				run(t, s, work)
				wantSlice(t, "ends", d.endings(), c.ends)
				if n := work.n[c.payload]; n != c.calls {
					t.Errorf("%d calls, want %d", n, c.calls)
				}
				if c.reason == "" {
					if len(dead.stored) > 0 {
						t.Fatalf("a dead letter: %v", dead.stored)
					}
					return
				}
				if len(dead.stored) != 1 {
					t.Fatalf("%d dead letters, want 1", len(dead.stored))
				}
				m := dead.stored[0]
				if got := m.Header.Get(broker.HeaderDeadReason); got != c.reason {
					t.Errorf("reason %q, want %q", got, c.reason)
				}
				if m.Subject != "dead" || string(m.Data) != c.payload || m.Header.Get(broker.HeaderDeadSubject) != "in" || m.ID == "" {
					t.Errorf("letter %+v", m)
				}
				if c.reason == "failed" && m.Header.Get(broker.HeaderDeadStage) != "work" {
					t.Errorf("stage %q", m.Header.Get(broker.HeaderDeadStage))
				}
				if dead.closed == 0 {
					t.Error("the sender was not closed")
				}
			})
		})
	}
}

// A letter that can't be stored must not cost the message: F16.
func TestADeadLetterThatIsNotStoredLeavesTheMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, dead := newDesk("bad"), &shelf{}
		s := broker.NewSource(d, text, broker.SourceOptions{DeadLetters: dead, DeadSubject: "dead"})
		time.AfterFunc(time.Minute, func() { dead.free(1) })
		began := time.Now()
		run(t, s, &calls{})
		if took := time.Since(began); took < time.Minute || took > 2*time.Minute {
			t.Errorf("took %v", took)
		}
		if st := s.Stats(); st.DeadLetters != 1 || st.Unburied < 5 || st.Unburied > 12 {
			t.Errorf("stats %+v", st)
		}
	})
}

func TestWithoutDeadLettersAMessageThatCanNotBeDecodedHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk("bad", "a", "b")
		s := broker.NewSource(d, text, broker.SourceOptions{})
		work := &calls{}
		r, err := flow.FromItems(s).ForEach(work.handle).Start(t.Context())
		must(t, err)
		time.Sleep(time.Hour)
		must(t, r.Drain(t.Context()))
		if work.n["a"] != 1 || work.n["b"] != 1 {
			t.Errorf("calls %v", work.n)
		}
		if n := s.Stats().Undecodable; n < 120 || n > 260 {
			t.Errorf("tried %d times in an hour, want once in 15 to 30 s", n)
		}
	})
}

func TestWhatIsGivenBackComesAtOnceAndIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, dead := newDesk("a", "b", "c", "d"), &shelf{room: 10}
		for i := range d.waiting {
			d.waiting[i].Attempt = 3
		}
		s := broker.NewSource(d, text, broker.SourceOptions{Attempts: 3, DeadLetters: dead, DeadSubject: "dead"})
		var seen []string
		must(t, flow.FromItems(s).Buffer(10, flow.Block).Take(1).ForEach(func(_ context.Context, v string) error {
			seen = append(seen, v)
			return nil
		}).Run(t.Context()))
		wantSlice(t, "seen", seen, []string{"a"})
		for _, end := range d.endings()[1:] {
			if !strings.HasSuffix(end, "given back") {
				t.Errorf("%s, want given back", end)
			}
		}
		if st := s.Stats(); st.Failed != 0 || len(dead.stored) != 0 {
			t.Errorf("stats %+v, letters %v", st, dead.stored)
		}
	})
}

func TestADropByAFullEdgeIsNoFailureButComesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, dead := newDesk("a", "b", "c", "d"), &shelf{room: 10}
		s := broker.NewSource(d, text, broker.SourceOptions{Attempts: 1, DeadLetters: dead, DeadSubject: "dead"})
		began := time.Now()
		must(t, flow.FromItems(s).Buffer(1, flow.DropNewest, flow.SettleDropped(flow.Nak(0))).
			ForEach(func(context.Context, string) error { time.Sleep(time.Second); return nil }).Run(t.Context()))
		if st := s.Stats(); st.Done != 4 || st.GivenBack == 0 || st.GivenBack > 40 || st.Failed != 0 {
			t.Errorf("stats %+v after %v", st, time.Since(began))
		}
	})
}

// How far above the limit a message may come unseen is the user's to say.
func TestBeyondSaysWhenAMessageIsTakenForAKiller(t *testing.T) {
	for _, c := range []struct {
		beyond, attempt int
		handled         bool
	}{
		{0, 7, true},
		{0, 8, false},
		{100, 102, true},
		{100, 103, false},
		{-1, 1 << 30, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			d, dead, work := newDesk("a"), &shelf{room: 10}, &calls{}
			d.waiting[0].Attempt = c.attempt
			run(t, broker.NewSource(d, text, broker.SourceOptions{Attempts: 3, Beyond: c.beyond, DeadLetters: dead, DeadSubject: "dead"}), work)
			if handled := work.n["a"] == 1; handled != c.handled || handled != (len(dead.stored) == 0) {
				t.Errorf("Beyond %d, delivery %d: handled %t, %d dead letters", c.beyond, c.attempt, handled, len(dead.stored))
			}
		})
	}
}

func TestSourceOptionsAreCheckedAllAtOnce(t *testing.T) {
	err := broker.NewSource[string](nil, nil, broker.SourceOptions{MaxMessage: -1, Attempts: -1, DeadSubject: "dead"}).Validate()
	for _, want := range []string{"fetcher", "codec", "MaxMessage", "Attempts", "DeadSubject"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not mention %s", err, want)
		}
	}
	must(t, broker.NewSource(newDesk(), text, broker.SourceOptions{}).Validate())
	if err := broker.NewSource(newDesk(), text, broker.SourceOptions{Attempts: 3}).Validate(); err == nil {
		t.Error("an attempt limit without dead letters is accepted")
	}
}

func TestOpenFailsWithItsParts(t *testing.T) {
	d := newDesk()
	d.openErr = errBoom
	if err := broker.NewSource(d, text, broker.SourceOptions{}).Open(t.Context()); !errors.Is(err, errBoom) {
		t.Errorf("got %v", err)
	}
	d, dead := newDesk(), &shelf{limits: broker.Limits{Message: 999}}
	err := broker.NewSource(d, text, broker.SourceOptions{DeadLetters: dead, DeadSubject: "dead"}).Open(t.Context())
	if err == nil || !strings.Contains(err.Error(), "999") || d.closed != 1 || dead.closed != 1 {
		t.Errorf("got %v, closed %d and %d", err, d.closed, dead.closed)
	}
}

func TestASourceIsReadWithItems(t *testing.T) {
	if _, err := broker.NewSource(newDesk("a"), text, broker.SourceOptions{}).Pull(t.Context(), make([]string, 1)); err == nil {
		t.Error("Pull gives values whose messages never settle")
	}
	synctest.Test(t, func(t *testing.T) {
		d := newDesk("a")
		must(t, flow.From(broker.NewSource(d, text, broker.SourceOptions{})).To(stage.Discard[string]()).Run(t.Context()))
		wantSlice(t, "ends", d.endings(), []string{"1 done"})
	})
}
