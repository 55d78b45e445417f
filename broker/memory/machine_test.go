package memory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/memory"
	"github.com/weir-go/weir/stage"
	"pgregory.net/rapid"
)

// machine drives a stream and the model of it, in virtual time.
type machine struct {
	m      *model
	s      *memory.Stream
	sender *memory.Sender
	nextID int
}

func newMachine(t *rapid.T, full broker.FullRule, messages int64) *machine {
	cfg := memory.StreamConfig{
		Name:        "model",
		MaxMessages: messages,
		MaxBytes:    rapid.SampledFrom([]int64{200, 500, 30000}).Draw(t, "bytes"),
		Full:        full,
		MaxMessage:  150,
		AckWait:     time.Second, DedupWindow: 3 * time.Second, DedupIDs: 4,
	}
	m := &machine{m: &model{cfg: cfg, inFlight: 4}, s: memory.NewStream(cfg)}
	// Messages go one at a time or three, so that there is an end of a group inside a Send.
	m.sender = m.s.Sender(memory.SendConfig{InFlight: 3})
	if err := m.sender.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		m.open(t)
	}
	return m
}

func (m *machine) open(t *rapid.T) {
	f := m.s.Fetcher(memory.FetchConfig{InFlight: m.m.inFlight, KeepAlive: -1})
	if err := f.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.m.clients = append(m.m.clients, &client{f: f, unsettled: map[uint64]*message{}})
}

func (m *machine) anyClient(t *rapid.T) *client {
	return m.m.clients[rapid.IntRange(0, len(m.m.clients)-1).Draw(t, "client")]
}

func (m *machine) Send(t *rapid.T) {
	if m.m.down {
		t.Skip("it would wait")
	}
	msgs := make([]broker.Message, rapid.IntRange(1, 8).Draw(t, "n"))
	for i := range msgs {
		m.nextID++
		id := m.nextID
		if rapid.IntRange(0, 3).Draw(t, "again") == 0 {
			id = max(id-rapid.IntRange(1, 8).Draw(t, "back"), 1)
		}
		msgs[i] = broker.Message{ID: strconv.Itoa(id), Data: make([]byte, rapid.SampledFrom([]int{0, 10, 60, 120, 160}).Draw(t, "size"))}
	}
	got := make([]error, len(msgs))
	if err := m.sender.Send(t.Context(), msgs); err != nil {
		bad, ok := errors.AsType[*stage.BatchError](err)
		if !ok {
			t.Fatalf("Send returned %v, want a BatchError", err)
		}
		for _, it := range bad.Items {
			got[it.Index] = it.Err
		}
	}
	for i, want := range m.m.send(msgs) {
		if !errors.Is(got[i], want) || want == nil && got[i] != nil {
			t.Fatalf("message %d of %d: %v, want %v", i, len(msgs), got[i], want)
		}
	}
}

func (m *machine) Fetch(t *rapid.T) {
	c := m.anyClient(t)
	dst := make([]broker.Delivery, rapid.IntRange(1, 6).Draw(t, "demand"))
	want := m.m.ready(c, len(dst))
	ctx, cancel := context.WithCancelCause(t.Context())
	var n int
	var err error
	over := make(chan struct{})
	go func() {
		defer close(over)
		n, err = c.f.Fetch(ctx, dst)
	}()
	synctest.Wait()
	gaveUp := errors.New("gave up")
	cancel(gaveUp)
	<-over
	if len(want) == 0 {
		if n != 0 || !errors.Is(err, gaveUp) {
			t.Fatalf("Fetch returned (%d, %v), want it to wait", n, err)
		}
		return
	}
	if n != len(want) || err != nil {
		t.Fatalf("Fetch returned (%d, %v), want (%d, nil)", n, err, len(want))
	}
	for i, s := range want {
		m.m.deliver(c, s, dst[i].Token)
		if dst[i].Sequence != s.sequence || dst[i].Attempt != s.attempts {
			t.Fatalf("delivery %d is message %d, attempt %d; want message %d, attempt %d", i, dst[i].Sequence, dst[i].Attempt, s.sequence, s.attempts)
		}
	}
}

func (m *machine) Settle(t *rapid.T) {
	c := m.anyClient(t)
	if len(c.unsettled) == 0 {
		t.Skip("nothing is unsettled")
	}
	var tokens []uint64
	for token := range c.unsettled {
		tokens = append(tokens, token)
	}
	slices.Sort(tokens)
	token := rapid.SampledFrom(tokens).Draw(t, "token")
	o := stage.Outcome{Kind: rapid.SampledFrom([]stage.OutcomeKind{stage.Done, stage.Terminated, stage.Failed}).Draw(t, "kind")}
	if o.Kind == stage.Failed {
		o.Delay = rapid.SampledFrom([]time.Duration{0, 300 * time.Millisecond, 2 * time.Second}).Draw(t, "delay")
		o.GivenBack = rapid.Bool().Draw(t, "given back")
	}
	for range rapid.IntRange(1, 2).Draw(t, "times") { // the second has no effect
		c.f.Settle(token, o)
		m.m.settle(c, token, o)
	}
}

func (m *machine) Sleep(t *rapid.T) {
	time.Sleep(rapid.SampledFrom([]time.Duration{time.Millisecond, 300 * time.Millisecond, 300 * time.Millisecond, time.Second, 3 * time.Second}).Draw(t, "d"))
	synctest.Wait()
}

func (m *machine) Replace(t *rapid.T) {
	if m.m.down {
		t.Skip("Close would wait")
	}
	c := m.anyClient(t)
	if rapid.Bool().Draw(t, "kill") {
		c.f.Kill()
	} else if err := c.f.Close(); err != nil {
		t.Fatal(err)
	} else {
		m.m.giveBack(c)
	}
	m.m.clients = slices.DeleteFunc(m.m.clients, func(other *client) bool { return other == c })
	m.open(t)
}

func (m *machine) DownAndUp(*rapid.T) {
	if m.m.down {
		m.s.Up()
		m.m.up()
		return
	}
	m.s.Down()
	m.m.down = true
}

func (m *machine) Resize(t *rapid.T) {
	messages := rapid.SampledFrom([]int64{0, 1, 3, 8}).Draw(t, "messages")
	bytes := rapid.SampledFrom([]int64{200, 500, 30000}).Draw(t, "bytes")
	if err := m.s.Resize(messages, bytes); err != nil {
		t.Fatal(err)
	}
	m.m.cfg.MaxMessages, m.m.cfg.MaxBytes = messages, bytes
	if m.m.cfg.Full == broker.DropsOldest {
		m.m.evict(0, 0)
	}
}

// Check is run after each step.
func (m *machine) Check(t *rapid.T) {
	if got, want := m.s.Info(), m.m.info(); got != want {
		t.Fatalf("Info() = %+v\nwant     %+v", got, want)
	}
	for i, c := range m.m.clients {
		if got := c.f.Stats(); got != c.stats {
			t.Fatalf("Stats() of client %d = %+v\nwant %+v", i, got, c.stats)
		}
	}
}

func (m *machine) end(t *rapid.T) {
	m.s.Up()
	for _, c := range m.m.clients {
		if err := c.f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAStreamIsItsModel(t *testing.T) {
	for name, full := range map[string]broker.FullRule{"refuses new": broker.RefusesNew, "drops the oldest": broker.DropsOldest} {
		for _, messages := range []int64{0, 1, 3, 8, 100} {
			t.Run(fmt.Sprint(name, " at ", messages), func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					rapid.SyncTest(t, func(t *rapid.T) {
						m := newMachine(t, full, messages)
						defer m.s.Delete() // nobody may be left waiting, also when the test has failed
						t.Repeat(rapid.StateMachineActions(m))
						m.end(t)
					})
				})
			})
		}
	}
}
