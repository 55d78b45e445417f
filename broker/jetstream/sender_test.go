package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/jetstream/embedded"
	"github.com/weir-go/weir/flow"
)

func TestSendStoresInOrder(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		for _, window := range []int{1, 7, 0} {
			t.Run(fmt.Sprintf("ordered=%v window=%d", ordered, window), func(t *testing.T) {
				l := newLab(t)
				l.stream()
				s := l.sender(SenderConfig{Window: window, Ordered: ordered})
				if err := s.Send(t.Context(), numbered(1, 100)); err != nil {
					t.Fatal(err)
				}
				if err := s.Send(t.Context(), numbered(101, 1500)); err != nil {
					t.Fatal(err)
				}
				wantNumbersIn(t, bodies(t, l.js), 1, 1500)
				want := SenderStats{Published: 1500}
				if got := s.Stats(); got != want {
					t.Errorf("Stats() = %+v, want %+v", got, want)
				}
			})
		}
	}
}

func TestRepetitionsAreStoredOnce(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		t.Run(fmt.Sprintf("ordered=%v", ordered), func(t *testing.T) {
			l := newLab(t)
			l.stream()
			s := l.sender(SenderConfig{Ordered: ordered})
			before := l.nc.Stats().OutMsgs
			if err := s.Send(t.Context(), numbered(1, 500)); err != nil {
				t.Fatal(err)
			}
			if err := s.Send(t.Context(), numbered(1, 1000)); err != nil { // half of them are new
				t.Fatal(err)
			}
			wantNumbersIn(t, bodies(t, l.js), 1, 1000)
			if st := s.Stats(); st.Published != 1500 || st.Duplicates != 500 {
				t.Errorf("%+v, want 1500 published, of which 500 are duplicates", st)
			}
			if sent := l.nc.Stats().OutMsgs - before; sent > 3500 {
				t.Errorf("%d messages were sent for 1500: it takes a round or two, not one for each", sent)
			}
		})
	}
}

func TestRepetitionsAmongNewOnesKeepTheOrder(t *testing.T) {
	l := newLab(t)
	l.stream()
	s := l.sender(SenderConfig{Ordered: true})
	old := numbered(1, 30)
	if err := s.Send(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	var mixed []broker.Message
	fresh := numbered(31, 60)
	for i := range old {
		if mixed = append(mixed, fresh[i]); i%3 != 0 {
			mixed = append(mixed, old[i])
		}
	}
	if err := s.Send(t.Context(), mixed); err != nil {
		t.Fatal(err)
	}
	wantNumbersIn(t, bodies(t, l.js), 1, 60)
}

func TestMessagesWithoutAnIDAreDifferent(t *testing.T) {
	l := newLab(t)
	l.stream()
	s := l.sender(SenderConfig{})
	msgs := make([]broker.Message, 100)
	for i := range msgs {
		msgs[i] = broker.Message{Subject: "s.x", Data: []byte("same")}
	}
	for range 2 {
		if err := s.Send(t.Context(), msgs); err != nil {
			t.Fatal(err)
		}
	}
	if got := l.state().Msgs; got != 200 {
		t.Errorf("%d messages, want 200", got)
	}
}

func TestAFullStreamRefusesExactlyWhatDoesNotFit(t *testing.T) {
	const limit, senders, each = 50, 8, 40
	for _, ordered := range []bool{false, true} {
		t.Run(fmt.Sprintf("ordered=%v", ordered), func(t *testing.T) {
			l := newLab(t)
			l.stream(depth(limit))
			s := l.sender(SenderConfig{Ordered: ordered, Window: 16})
			var stored, full atomic.Int64
			var all sync.WaitGroup
			for i := range senders {
				all.Go(func() {
					errs := failures(t, s.Send(t.Context(), numbered(i*each+1, (i+1)*each)), each)
					stored.Add(int64(count(errs, nil)))
					full.Add(int64(count(errs, broker.ErrFull)))
				})
			}
			all.Wait()
			if stored.Load() != limit || full.Load() != senders*each-limit {
				t.Errorf("%d stored, %d full, want %d and %d", stored.Load(), full.Load(), limit, senders*each-limit)
			}
			if got := l.state().Msgs; got != limit {
				t.Errorf("the stream has %d messages, want %d", got, limit)
			}
			if st := s.Stats(); st.Published != limit || st.Full != senders*each-limit || st.InWindow != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// A consumer makes room all the time, so that a message may get in whose predecessor was refused.
func TestOrderedKeepsTheOrderOnAFullStream(t *testing.T) {
	const total, batch = 3000, 64
	l := newLab(t)
	l.stream(depth(20))
	s := l.sender(SenderConfig{Ordered: true, Window: 32})
	got := l.drain(total)
	for first := 1; first <= total; first += batch {
		msgs := numbered(first, min(first+batch-1, total))
		for len(msgs) > 0 {
			errs := failures(t, s.Send(t.Context(), msgs), len(msgs))
			stored := count(errs, nil)
			if full := count(errs, broker.ErrFull); full != len(msgs)-stored {
				t.Fatalf("%d of %d are full, %d stored", full, len(msgs), stored)
			}
			if n := slices.IndexFunc(errs, func(err error) bool { return err != nil }); n >= 0 && n != stored {
				t.Fatalf("behind message %d, which was refused, another one was stored", n)
			}
			msgs = msgs[stored:]
		}
	}
	wantNumbersIn(t, <-got, 1, total)
	if s.Stats().Full == 0 {
		t.Error("the stream was never full")
	}
}

// drain consumes n messages of stream S and hands over their payloads when it has them all.
func (l *lab) drain(n int) <-chan []string {
	l.t.Helper()
	var c jetstream.Consumer
	l.answered(func(ctx context.Context) (err error) {
		c, err = l.js.CreateConsumer(ctx, "S", jetstream.ConsumerConfig{Durable: "drain", AckPolicy: jetstream.AckExplicitPolicy})
		return err
	})
	done := make(chan []string, 1)
	go func() {
		var all []string
		for len(all) < n && l.t.Context().Err() == nil {
			batch, err := c.Fetch(10, jetstream.FetchMaxWait(500*time.Millisecond))
			if err != nil {
				continue
			}
			for m := range batch.Messages() {
				all = append(all, string(m.Data()))
				_ = m.Ack()
			}
		}
		done <- all
	}()
	return done
}

func TestWhatCanNeverBeStoredIsNotSent(t *testing.T) {
	l := newLab(t)
	l.stream(func(c *jetstream.StreamConfig) { c.MaxMsgSize, c.MaxBytes = 2000, 1<<20 })
	s := l.sender(SenderConfig{})
	sent := l.nc.Stats().OutMsgs
	msgs := []broker.Message{
		{Subject: "s.x", Data: make([]byte, 2000)},
		{Subject: "s.x", Data: make([]byte, 1<<20+1)},
		{Subject: "s.x", Header: broker.Header{"Long": {strings.Repeat("x", 64<<10)}}},
		{Subject: "s.x", Header: broker.Header{"X": {"line 1\r\nNats-Rollup: all"}}},
		{Subject: "s.x", Header: broker.Header{"X: y\r\nNats-Rollup": {"all"}}},
		{Subject: "s.x", Header: broker.Header{"": {"x"}}},
		{Subject: "s.x", ID: "id\r\nNats-Rollup: all"},
		{Subject: "t", Data: []byte("x")},
		{Subject: "$JS.API.STREAM.DELETE.S"},
		{Subject: "s.*"},
		{Subject: "s.a b"},
		{Subject: "s.x\r\nPUB s.y 0\r\n"},
		{Subject: "s..x"},
		{Subject: ""},
	}
	errs := failures(t, s.Send(t.Context(), msgs), len(msgs))
	for i, err := range errs {
		if !errors.Is(err, broker.ErrRefused) || errors.Is(err, broker.ErrFull) {
			t.Errorf("message %d: %v, want ErrRefused", i, err)
		}
	}
	if now := l.nc.Stats().OutMsgs; now != sent {
		t.Errorf("%d messages went over the wire", now-sent)
	}
	if got := s.Limits(); got.Message != 2000 || got.Bytes != 1<<20 || got.Messages != 100_000 || got.Full != broker.RefusesNew {
		t.Errorf("Limits() = %+v", got)
	}
}

// The check of sizes lets through what the server takes, to the byte, and nothing else.
func TestTheLargestMessage(t *testing.T) {
	m := broker.Message{
		Subject: "s.x", ID: "some id", Data: make([]byte, 100),
		Header: broker.Header{"A": {"1", " 22 "}, "Nats-Rollup": {"all"}},
	}
	size, err := headerSize(&m, m.ID, false)
	if err != nil {
		t.Fatal(err)
	}
	size += len(m.Data)
	for _, tt := range []struct {
		limit int
		err   error
	}{{size, nil}, {size - 1, broker.ErrRefused}} {
		l := newLab(t)
		l.stream(func(c *jetstream.StreamConfig) { c.MaxMsgSize = int32(tt.limit) })
		s := l.sender(SenderConfig{})
		if err := s.Send(t.Context(), []broker.Message{m}); !errors.Is(err, tt.err) {
			t.Errorf("limit %d: %v, want %v", tt.limit, err, tt.err)
		}
		// What the server says, for the same message.
		_, err := l.js.PublishMsg(t.Context(), &nats.Msg{
			Subject: m.Subject, Data: m.Data, Header: nats.Header{"A": {"1", " 22 "}, idHeader: {"other i"}},
		})
		if (err == nil) != (tt.err == nil) {
			t.Errorf("limit %d: the server says %v", tt.limit, err)
		}
	}
}

func TestWhatTheServerRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*jetstream.StreamConfig) // while the sender is open
		want   error
	}{
		{"size", func(c *jetstream.StreamConfig) { c.MaxMsgSize = 10 }, broker.ErrRefused},
		{"sealed", func(c *jetstream.StreamConfig) { c.Sealed = true }, broker.ErrRefused},
		{"subject", func(c *jetstream.StreamConfig) { c.Subjects = []string{"t"} }, broker.ErrRefused},
		{"messages", func(c *jetstream.StreamConfig) { c.MaxMsgs = 1 }, broker.ErrFull},
		{"bytes", func(c *jetstream.StreamConfig) { c.MaxBytes = 10 }, broker.ErrFull},
		{"messages of a subject", func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject, c.DiscardNewPerSubject = 1, true }, broker.ErrFull},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t)
			l.stream(limits)
			s := l.sender(SenderConfig{Tolerate: true})
			if err := s.Send(t.Context(), numbered(1, 1)); err != nil {
				t.Fatal(err)
			}
			l.update(tt.change)
			if err := s.Send(t.Context(), numbered(2, 2)); !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
			if got := l.state().Msgs; got != 1 {
				t.Errorf("the stream has %d messages, want 1", got)
			}
		})
	}
}

func TestAServerWithoutRoom(t *testing.T) {
	l := &lab{t: t, cfg: embedded.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0", MaxMemory: 64 << 10}}
	l.start()
	l.use()
	l.stream()
	s := l.sender(SenderConfig{})
	msg := []broker.Message{{Subject: "s.x", Data: make([]byte, 10<<10)}}
	var err error
	for range 20 {
		if err = s.Send(t.Context(), msg); err != nil {
			break
		}
	}
	if !errors.Is(err, broker.ErrFull) || !strings.Contains(err.Error(), "insufficient resources") {
		t.Errorf("%v, want ErrFull because of insufficient resources", err)
	}
	if st := s.Stats(); st.Scarce != 1 || st.Full != 0 {
		t.Errorf("%+v, want 1 scarce", st)
	}
}

func TestControlHeadersAreNotSent(t *testing.T) {
	l := newLab(t)
	l.stream(func(c *jetstream.StreamConfig) { c.AllowRollup, c.AllowMsgTTL = true, true })
	s := l.sender(SenderConfig{})
	if err := s.Send(t.Context(), numbered(1, 5)); err != nil {
		t.Fatal(err)
	}
	header := broker.Header{
		"Nats-Rollup": {"all"}, "nats-rollup": {"all"}, "Nats-TTL": {"1s"}, "Nats-Msg-Id": {"id-1"}, "Nats-Expected-Last-Sequence": {"99"},
		"Nats-Expected-Last-Msg-Id": {"no"}, "Nats-Expected-Stream": {"T"}, "Nats-Batch-Id": {"b"}, "Nats-Batch-Sequence": {"1"},
		"Nats-Schedule": {"@at 2030-01-01T00:00:00Z"}, "Nats-Trace-Dest": {"t"}, "Weir-Key": {"k"},
	}
	if err := s.Send(t.Context(), []broker.Message{{Subject: "s.x", ID: "own", Header: header, Data: []byte("6")}}); err != nil {
		t.Fatal(err)
	}
	wantNumbersIn(t, bodies(t, l.js), 1, 6)
	stream, err := l.js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	m, err := stream.GetMsg(t.Context(), 6)
	if err != nil {
		t.Fatal(err)
	}
	want := nats.Header{idHeader: {"own"}, "Weir-Key": {"k"}}
	if fmt.Sprint(m.Header) != fmt.Sprint(want) {
		t.Errorf("headers %v, want %v", m.Header, want)
	}
	if len(header) != 12 {
		t.Error("the headers of the caller were changed")
	}
}

func TestADeletedStream(t *testing.T) {
	l := newLab(t)
	l.stream()
	s := l.sender(SenderConfig{})
	if err := l.js.DeleteStream(t.Context(), "S"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	errs := failures(t, s.Send(ctx, numbered(1, 10)), 10)
	if n := count(errs, broker.ErrDeleted); n != 10 || ctx.Err() != nil {
		t.Errorf("%d of 10 are ErrDeleted, %v", n, ctx.Err())
	}
	if err := s.Ready(t.Context()); !errors.Is(err, broker.ErrDeleted) {
		t.Errorf("Ready() = %v", err)
	}
}

// A stream that confirms nothing is refused, and one that ceases to confirm while it is in use leaves a Send without an answer.
func TestWithoutAnAnswerTheFateIsUnknown(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		t.Run(fmt.Sprintf("ordered=%v", ordered), func(t *testing.T) {
			l := newLab(t)
			l.stream()
			s := l.sender(SenderConfig{Window: 4, AckTimeout: 50 * time.Millisecond, Ordered: ordered})
			l.update(func(c *jetstream.StreamConfig) { c.NoAck = true })
			cause := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			var watch sync.WaitGroup
			watch.Go(func() {
				until(t, "messages are sent once more", func() bool { return s.Stats().Retried >= 10 })
				cancel(cause)
			})
			errs := failures(t, s.Send(ctx, numbered(1, 10)), 10)
			watch.Wait()
			if count(errs, cause) != 10 {
				t.Errorf("not all errors say why: %v", errs)
			}
			unknown := count(errs, broker.ErrUnknown)
			if unknown < 4 || !ordered && unknown < 10 { // in order the others have to wait for those in front
				t.Errorf("%d of 10 are ErrUnknown: %v", unknown, errs)
			}
			if st := s.Stats(); st.Unknown != int64(unknown) || st.InWindow != 0 {
				t.Errorf("%+v", st)
			}
			l.update(func(c *jetstream.StreamConfig) { c.NoAck = false })
			if err := s.Send(t.Context(), numbered(1, 20)); err != nil {
				t.Fatal(err)
			}
			wantNumbersIn(t, bodies(t, l.js), 1, 20)
		})
	}
}

// A server does not answer a publish that is not allowed.
func TestPermissionsAreNamed(t *testing.T) {
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
		Users: []*server.User{{Username: "u", Password: "p", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Deny: []string{"s.secret"}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	l := labAt(t, strings.Replace(srv.ClientURL(), "://", "://u:p@", 1))
	l.stream()
	s := l.sender(SenderConfig{AckTimeout: 50 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err = s.Send(ctx, []broker.Message{{Subject: "s.secret"}})
	if !errors.Is(err, broker.ErrUnknown) || !errors.Is(err, nats.ErrPermissionViolation) {
		t.Errorf("%v, want ErrUnknown because of a permission", err)
	}
}

func TestWhatHasNotBeenSentIsNotUnknown(t *testing.T) {
	l := newLab(t)
	l.stream()
	s := l.sender(SenderConfig{})
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	errs := failures(t, s.Send(ctx, numbered(1, 10)), 10)
	stored := count(errs, nil)
	if count(errs, broker.ErrUnknown) != 0 || count(errs, cause) != 10-stored {
		t.Errorf("with a context that is done: %v", errs)
	}
	if got := l.state().Msgs; got != uint64(stored) {
		t.Errorf("%d messages are stored, want %d", got, stored)
	}

	l.stop()
	until(t, "the connection is lost", func() bool { return !l.nc.IsConnected() })
	ctx, stop := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, cause)
	defer stop()
	errs = failures(t, s.Send(ctx, numbered(11, 20)), 10)
	if count(errs, broker.ErrUnknown) != 0 || count(errs, cause) != 10 {
		t.Errorf("without a server: %v", errs)
	}
}

// A subject may have other listeners, who answer what they like.
func TestAnswersOfOthersAreIgnored(t *testing.T) {
	l := newLab(t)
	l.stream()
	s := l.sender(SenderConfig{})
	sub, err := l.connect().Subscribe("s.>", func(m *nats.Msg) {
		_ = m.Respond([]byte("thanks"))
		_ = m.Respond(nil)
		_ = m.Respond([]byte(`{"stream":"","seq":1}`))
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := s.Send(t.Context(), numbered(1, 200)); err != nil {
		t.Fatal(err)
	}
	wantNumbersIn(t, bodies(t, l.js), 1, 200)
}

func TestAClosedConnection(t *testing.T) {
	l := newLab(t)
	l.stream()
	nc := l.connect()
	s := l.senderOn(nc, SenderConfig{})
	nc.Close()
	errs := failures(t, s.Send(t.Context(), numbered(1, 3)), 3)
	if count(errs, nats.ErrConnectionClosed) != 3 || count(errs, broker.ErrUnknown) != 0 {
		t.Errorf("%v, want ErrConnectionClosed", errs)
	}
	if err := s.Ready(t.Context()); err == nil {
		t.Error("Ready() = nil")
	}
}

func TestASenderThatIsNotOpen(t *testing.T) {
	l := newLab(t)
	l.stream()
	s := NewSender(l.nc, SenderConfig{Stream: "S"})
	if err := s.Send(t.Context(), numbered(1, 1)); !errors.Is(err, broker.ErrClosed) {
		t.Errorf("before Open: %v", err)
	}
	if err := s.Ready(t.Context()); err == nil {
		t.Error("before Open: Ready() = nil")
	}
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := s.Send(t.Context(), numbered(1, 1)); !errors.Is(err, broker.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := s.Send(t.Context(), nil); err != nil {
		t.Errorf("nothing to send: %v", err)
	}
}

func TestSenderOpenChecksTheStream(t *testing.T) {
	l := newLab(t)
	l.stream(limits, dropOld, func(c *jetstream.StreamConfig) { c.MaxMsgs, c.MaxMsgsPerSubject, c.NoAck = -1, 5, true })
	err := NewSender(l.nc, SenderConfig{Stream: "S"}).Open(t.Context())
	for _, want := range []string{`stream "S": MaxMsgs, MaxBytes`, "MaxMsgsPerSubject", "NoAck"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not name %s", err, want)
		}
	}
	if !errors.Is(err, broker.ErrUnbounded) {
		t.Error("is not ErrUnbounded")
	}
	if err := NewSender(l.nc, SenderConfig{Stream: "T"}).Open(t.Context()); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("no such stream: %v", err)
	}
	l.update(func(c *jetstream.StreamConfig) { c.MaxMsgs, c.NoAck = 10, false })
	s := l.sender(SenderConfig{OnFull: flow.DropOldest, Tolerate: true})
	if w := strings.Join(s.Warnings(), "\n"); !strings.Contains(w, "Storage") {
		t.Errorf("warnings %q do not name Storage", w)
	}
	if s.Limits().Full != broker.DropsOldest {
		t.Error("Limits().Full is not DropsOldest")
	}
}

func TestSenderValidate(t *testing.T) {
	err := NewSender(nil, SenderConfig{Stream: "a.b", Domain: "c.d", Window: 1<<16 + 1, AckTimeout: time.Millisecond, OnFull: 17}).Validate()
	for _, want := range []string{"the connection is nil", "Stream", "Domain", "Window", "AckTimeout", "OnFull"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not name %s", err, want)
		}
	}
}

// Sends of many goroutines share a window that is far smaller than what they send.
func TestManySendsShareAWindow(t *testing.T) {
	l := newLab(t)
	l.stream()
	s := l.sender(SenderConfig{Window: 3})
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for first := 0; first < 200; first += 20 {
				if err := s.Send(t.Context(), numbered(g*1000+first, g*1000+first+19)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	last := make(map[int]int)
	all2 := bodies(t, l.js)
	for _, body := range all2 {
		n, _ := strconv.Atoi(body)
		if n < last[n/1000] {
			t.Fatalf("%d is stored behind %d", n, last[n/1000])
		}
		last[n/1000] = n
	}
	if len(all2) != 1600 {
		t.Errorf("%d messages, want 1600", len(all2))
	}
}

// A Sender that two sources share would be closed by the one for the other.
func TestASenderIsOpenedOnce(t *testing.T) {
	l := newLab(t)
	s := NewSender(l.nc, SenderConfig{Stream: "S"})
	if err := s.Open(t.Context()); err == nil {
		t.Fatal("it was opened without a stream")
	}
	l.stream()
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	refused := func(when string) {
		if err := s.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "one of its own") {
			t.Errorf("Open() of one that %s = %v", when, err)
		}
	}
	refused("is open")
	if err := s.Send(t.Context(), numbered(1, 3)); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	refused("was closed")
}
