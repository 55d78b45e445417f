package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// cemetery is a stream for dead letters.
func (l *lab) cemetery(change ...func(*jetstream.StreamConfig)) {
	l.t.Helper()
	cfg := jetstream.StreamConfig{
		Name: "DEAD", Subjects: []string{"dead"}, Discard: jetstream.DiscardNew, MaxMsgs: 1000, MaxAge: time.Hour,
	}
	for _, c := range change {
		c(&cfg)
	}
	l.answered(func(ctx context.Context) error {
		_, err := l.js.CreateStream(ctx, cfg)
		return err
	})
}

// buried is how many dead letters there are.
func (l *lab) buried() int {
	l.t.Helper()
	s, err := l.js.Stream(l.t.Context(), "DEAD")
	if err != nil {
		l.t.Fatal(err)
	}
	return int(s.CachedInfo().State.Msgs)
}

// letter is the n-th dead letter.
func (l *lab) letter(n uint64) *jetstream.RawStreamMsg {
	l.t.Helper()
	s, err := l.js.Stream(l.t.Context(), "DEAD")
	if err != nil {
		l.t.Fatal(err)
	}
	m, err := s.GetMsg(l.t.Context(), n)
	if err != nil {
		l.t.Fatal(err)
	}
	return m
}

// burying is a config with attempts and dead letters.
func (l *lab) burying(attempts int) SourceConfig {
	c := quick()
	c.Attempts, c.DeadSubject = attempts, "dead"
	c.DeadLetters = NewSender(l.nc, SenderConfig{Stream: "DEAD"})
	c.Delay = func(int) time.Duration { return 10 * time.Millisecond }
	return c
}

// rota counts which messages have been handled, by one run after the other.
type rota struct {
	mu       sync.Mutex
	handled  map[string]int
	attempts int // the most deliveries that a message took
	quota    int // of messages: behind them handlers wait for the end of the run; 0: all
}

func newRota() *rota { return &rota{handled: map[string]int{}} }

// enough reports whether the quota is handled.
func (r *rota) enough() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.quota > 0 && len(r.handled) >= r.quota
}

func (r *rota) handle(data []byte, m stage.Meta) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handled[string(data)]++
	r.attempts = max(r.attempts, m.Attempt)
}

func (r *rota) distinct() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.handled)
}

// shift handles messages until the run ends, or the quota is reached.
func (r *rota) shift(t *testing.T, src *Source[[]byte]) *flow.Run {
	t.Helper()
	run, err := flow.FromItems(src).Buffer(40, flow.Block).ForEach(func(ctx context.Context, data []byte) error {
		if r.enough() {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		m, _ := stage.MetaFrom(ctx)
		r.handle(data, m)
		time.Sleep(200 * time.Microsecond)
		return nil
	}).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// Processes come and go twenty times, every other one without waiting for what it has begun. What each gives back raises the count of
// the server, and is held against no message.
func TestRollingRestartsBuryNothing(t *testing.T) {
	t.Parallel()
	const total, restarts = 1000, 20
	l := newLab(t)
	l.stream()
	l.cemetery()
	l.fill(1, total)
	source := func() *Source[[]byte] {
		c := l.burying(3)
		c.AckWait = time.Minute // longer than any machine stands still
		return NewSource(l.nc, broker.Bytes(), c)
	}
	r := newRota()
	for i := range restarts {
		src := source()
		share, stops := (i+1)*total/(restarts+5), i%2 == 0
		if r.quota = 0; stops {
			r.quota = share
		}
		run := r.shift(t, src)
		until(t, "some more are through", func() bool { return r.distinct() >= share })
		if stops {
			run.Stop()
			_ = run.Wait()
		} else if err := run.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if st := src.Stats(); st.DeadLetters != 0 || st.Failed != 0 || st.LeaseLost != 0 {
			t.Fatalf("run %d: %+v", i, st)
		}
	}
	r.quota = 0
	run := r.shift(t, source())
	l.wantNothingLeft()
	if err := run.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("a message took %d deliveries at most", r.attempts)
	if r.distinct() != total || r.attempts < 2 {
		t.Errorf("%d of %d handled, in %d deliveries at most", r.distinct(), total, r.attempts)
	}
	for n, times := range r.handled {
		if times != 1 {
			t.Errorf("message %s was handled %d times", n, times)
		}
	}
	if got := l.buried(); got != 0 {
		t.Errorf("%d dead letters", got)
	}
}

// Processes die without a word. As long as a message is not delivered five times more often than its limit says, it is not blamed.
func TestDeadProcessesBuryNothing(t *testing.T) {
	t.Parallel()
	const total, deaths = 1000, 6
	l := newLab(t)
	l.stream()
	l.cemetery()
	l.fill(1, total)
	r := newRota()
	for i := range deaths {
		c := l.burying(3)
		c.AckWait = lowestAckWait
		nc := l.connect()
		run := r.shift(t, NewSource(nc, broker.Bytes(), c))
		until(t, "some more are through", func() bool { return r.distinct() >= (i+1)*total/(deaths+5) })
		nc.Close()
		if err := run.Wait(); err == nil {
			t.Fatalf("run %d ended well without a connection", i)
		}
	}
	c := l.burying(3)
	c.AckWait = lowestAckWait
	run := r.shift(t, NewSource(l.nc, broker.Bytes(), c))
	l.wantNothingLeft()
	if err := run.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("a message took %d deliveries at most", r.attempts)
	if r.distinct() != total || l.buried() != 0 {
		t.Errorf("%d of %d handled, %d dead letters", r.distinct(), total, l.buried())
	}
}

// witness is a Sender of dead letters that looks, when one is stored, whether its message still is.
type witness struct {
	*Sender
	l       *lab
	present []bool
}

func (w *witness) Send(ctx context.Context, msgs []broker.Message) error {
	err := w.Sender.Send(ctx, msgs)
	for _, m := range msgs {
		seq, bad := strconv.ParseUint(m.Header.Get(broker.HeaderDeadSequence), 10, 64)
		s, wrong := w.l.js.Stream(ctx, "S")
		if bad != nil || wrong != nil {
			return errors.Join(err, bad, wrong)
		}
		_, gone := s.GetMsg(ctx, seq)
		w.present = append(w.present, err == nil && gone == nil)
	}
	return err
}

// F13 and T56: a message that always fails becomes a dead letter before its last delivery has ended. Only when the letter is confirmed is
// the message terminated. The server never gets to say that deliveries are used up.
func TestT56DeadLetterBeforeTheMessageEnds(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.cemetery()
	if _, err := l.js.CreateConsumer(t.Context(), "S", jetstream.ConsumerConfig{
		Durable: "d", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 100, AckWait: 2 * time.Second, MaxDeliver: 4,
	}); err != nil {
		t.Fatal(err)
	}
	used, err := l.nc.SubscribeSync("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.>")
	if err != nil {
		t.Fatal(err)
	}
	l.fill(1, 20)
	c := l.burying(3)
	w := &witness{Sender: c.DeadLetters.(*Sender), l: l} //nolint:forcetypeassert // burying has made it
	c.DeadLetters = w
	src := NewSource(l.nc, broker.Bytes(), c)
	attempts := map[string]int{}
	run, err := flow.FromItems(src).ForEach(func(_ context.Context, data []byte) error {
		attempts[string(data)]++
		if string(data) == "7" {
			return errors.New("poison, with a secret in it")
		}
		return nil
	}, flow.Name("work"), flow.OnError(flow.Redeliver)).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.wantNothingLeft()
	if err := run.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(attempts) != 20 || attempts["7"] != 3 || l.state().Msgs != 0 || l.buried() != 1 {
		t.Errorf("%v handled, %d left, %d dead letters", attempts, l.state().Msgs, l.buried())
	}
	if !slices.Equal(w.present, []bool{true}) {
		t.Errorf("the message was there when its letter was confirmed: %v", w.present)
	}
	m := l.letter(1)
	for name, want := range map[string]string{
		broker.HeaderDeadReason: "failed", broker.HeaderDeadStage: "work", broker.HeaderDeadSubject: "s.x",
		broker.HeaderDeadSequence: "7", broker.HeaderDeadAttempt: "3", broker.HeaderDeadHops: "1",
	} {
		if got := m.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if string(m.Data) != "7" || strings.Contains(fmt.Sprint(m.Header), "secret") {
		t.Errorf("the letter is %q with %v", m.Data, m.Header)
	}
	if n, _, _ := used.Pending(); n != 0 {
		t.Errorf("the server has given up on %d messages", n)
	}
	if st := src.Stats(); st.DeadLetters != 1 || st.Unburied != 0 || st.Ended != 1 || st.Acked != 19 {
		t.Errorf("%+v", st)
	}
}

// picky is a codec that some payloads upset.
var picky = broker.CodecFunc(nil, func(data []byte, v *string) error {
	switch string(data) {
	case "panic":
		panic("the codec is broken")
	case "error":
		return errors.New("not what it should be")
	}
	*v = string(data)
	return nil
})

// F15: what can't be decoded is a dead letter at once, whatever is wrong with it, and the others go on.
func TestWhatCanNotBeDecodedIsBuried(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.cemetery()
	large := strings.Repeat("x", 1001)
	for _, body := range []string{"a", "panic", "b", "error", "c", large, "d"} {
		if _, err := l.js.Publish(t.Context(), "s.x", []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	c := l.burying(3)
	c.MaxMessage = 1000
	src := NewSource(l.nc, picky, c)
	var got []string
	run, err := flow.FromItems(src).ForEach(func(_ context.Context, v string) error {
		got = append(got, v)
		return nil
	}).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.wantNothingLeft()
	if err := run.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("got %v", got)
	}
	for i, want := range []string{"panic", "error", large} {
		m := l.letter(uint64(i + 1))
		if string(m.Data) != want || m.Header.Get(broker.HeaderDeadReason) != "undecodable" || m.Header.Get(broker.HeaderDeadAttempt) != "1" {
			t.Errorf("letter %d is %.20q with %v", i, m.Data, m.Header)
		}
	}
	if st := src.Stats(); st.Undecodable != 3 || st.DeadLetters != 3 || l.state().Msgs != 0 {
		t.Errorf("%+v", st)
	}
}

// F15: a message that is too large does not go over the wire. It fails alone, and a dead letter says so.
func TestWhatIsTooLargeIsNotSent(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream(func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1000 })
	values := [][]byte{[]byte("1"), make([]byte, 100_000), []byte("2")}
	sink := NewSink(l.nc, broker.Bytes(), SinkConfig[[]byte]{Stream: "S", To: "s.x"})
	var letters []stage.DeadLetter
	dead := stage.SinkFunc(func(_ context.Context, d []stage.DeadLetter) error {
		letters = append(letters, d...)
		return nil
	})
	before := l.nc.Stats().OutBytes
	if err := flow.FromSlice(values).To(sink, flow.OnError(flow.DeadLetter(dead))).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if sent := l.nc.Stats().OutBytes - before; sent > 50_000 {
		t.Errorf("%d bytes went out", sent)
	}
	wantNumbersIn(t, bodies(t, l.js), 1, 2)
	if len(letters) != 1 || !errors.Is(letters[0].Err, broker.ErrRefused) {
		t.Errorf("%d letters: %v", len(letters), letters)
	}
}

// F16: while a dead letter can't be stored its message is not settled. It comes again until it can.
func TestWithoutRoomForDeadLettersNothingIsLost(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.cemetery(depth(1))
	if _, err := l.js.Publish(t.Context(), "dead", nil); err != nil { // it is full
		t.Fatal(err)
	}
	l.fill(1, 5)
	src := NewSource(l.nc, broker.Bytes(), l.burying(2))
	run, err := flow.FromItems(src).ForEach(func(_ context.Context, data []byte) error {
		if string(data) == "3" {
			return errors.New("poison")
		}
		return nil
	}, flow.OnError(flow.Redeliver)).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	until(t, "it could not be stored, again and again", func() bool { return src.Stats().Unburied >= 3 })
	if st := src.Stats(); st.DeadLetters != 0 || st.Ended != 0 || l.state().Msgs != 1 {
		t.Errorf("%+v, %d messages left, want the one", st, l.state().Msgs)
	}
	dead, err := l.js.Stream(t.Context(), "DEAD")
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.wantNothingLeft()
	if err := run.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := string(l.letter(2).Data); got != "3" || l.state().Msgs != 0 || l.buried() != 1 {
		t.Errorf("the letter is %q; %d messages and %d letters", got, l.state().Msgs, l.buried())
	}
}

// F16: the same with a server of dead letters that is down.
func TestWithoutAServerForDeadLettersNothingIsLost(t *testing.T) {
	t.Parallel()
	l, other := newLab(t), newLab(t)
	l.stream()
	other.cemetery()
	l.fill(1, 5)
	c := l.burying(2)
	c.DeadLetters = NewSender(other.nc, SenderConfig{Stream: "DEAD", AckTimeout: 50 * time.Millisecond})
	src := NewSource(l.nc, broker.Bytes(), c)
	failed := make(chan struct{}, 10)
	run, err := flow.FromItems(src).ForEach(func(_ context.Context, data []byte) error {
		if string(data) == "3" {
			failed <- struct{}{}
			return errors.New("poison")
		}
		return nil
	}, flow.OnError(flow.Redeliver)).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	<-failed
	other.stop()
	<-failed // for the last time
	until(t, "the others are through", func() bool { return src.Stats().Acked == 4 })
	if st := src.Stats(); st.DeadLetters != 0 || st.Ended != 0 || l.state().Msgs != 1 {
		t.Errorf("%+v, %d messages left, want the one", st, l.state().Msgs)
	}
	other.start()
	l.wantNothingLeft()
	if err := run.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := string(other.letter(1).Data); got != "3" || l.state().Msgs != 0 || other.buried() != 1 {
		t.Errorf("the letter is %q; %d messages and %d letters", got, l.state().Msgs, other.buried())
	}
}

// F14: a handler that always fails is called no more often than the delays allow.
func TestAFailingHandlerIsNoStorm(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 20)
	src := NewSource(l.nc, broker.Bytes(), quick())
	first := map[string]time.Time{}
	calls := map[string]int{}
	through := 0 // messages that have come four times
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := flow.FromItems(src).ForEach(func(_ context.Context, data []byte) error {
		n, now := string(data), time.Now()
		if calls[n]++; calls[n] == 1 {
			first[n] = now
		}
		least := time.Duration(0) // half of each delay is at random
		for k := range calls[n] - 1 {
			least += 50 * time.Millisecond << k
		}
		if waited := now.Sub(first[n]); waited < least-time.Duration(calls[n])*10*time.Millisecond { // the server's timers are coarse
			t.Errorf("call %d for message %s after %v, want at least %v", calls[n], n, waited, least)
		}
		if calls[n] == 4 {
			if through++; through == 20 {
				cancel()
			}
		}
		return errors.New("bad")
	}, flow.OnError(flow.Redeliver)).Run(ctx)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if len(calls) != 20 {
		t.Errorf("%d messages were handled", len(calls))
	}
}
