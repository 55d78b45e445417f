package jetstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
)

// Sender stores messages in a stream. It is a [broker.Sender].
//
//	Backpressure: Send waits while Window messages have no answer. It does not wait for room in the stream.
//	Order:        that of the messages, as long as none fails. With Ordered that holds where the stream is full, and over broken
//	              connections, too; calls of Send then take turns.
//	Errors:       broker.ErrFull, also where the server or the account has no room. broker.ErrRefused for a message that is too large, or
//	              whose subject is not one of the stream's. broker.ErrUnknown where ctx ended before an answer. broker.ErrDeleted.
//	Repetition:   an answer that is late, a broken connection, a change of leader: the message is sent again under the same ID
//	              until there is an answer or ctx ends. The stream recognizes it as long as it remembers IDs (two minutes by
//	              default); after a longer outage it may be stored twice, which Stats().Late counts.
//	Security:     a header that begins with Nats- is not sent, whoever wrote it: such headers are orders to the server. Subjects
//	              are checked against the stream's, as they are when the Sender is opened.
//	Concurrency:  Send may be called by many goroutines.
//	Cost:         0.7 to 0.9 of what the client's asynchronous publishing takes with a message ID and the same window (BenchmarkSend).
type Sender struct {
	nc  *nats.Conn
	cfg SenderConfig

	where    string // for errors
	settings jetstream.StreamConfig
	js       jetstream.JetStream
	inbox    string
	warnings []string
	window   *window
	receipts *receipts

	chain   chain
	chained chan struct{} // of capacity 1: holds whoever sends in order

	batches  sync.Pool
	idPrefix string
	lastID   atomic.Uint64
	opening  sync.Mutex
	used     atomic.Bool // it has been open, or closed
	opened   atomic.Bool
	sub      *nats.Subscription
	changes  chan nats.Status
	watching sync.WaitGroup
	closing  sync.Once
	closeErr error
	counts   senderCounts
}

// NewSender returns a Sender that uses nc, which stays open when it is closed. It does no I/O.
func NewSender(nc *nats.Conn, c SenderConfig) *Sender {
	s := &Sender{nc: nc, cfg: c, where: fmt.Sprintf("stream %q", c.Stream), chained: make(chan struct{}, 1)}
	if s.cfg.Window == 0 {
		s.cfg.Window = defaultWindow
	}
	if s.cfg.AckTimeout == 0 {
		s.cfg.AckTimeout = defaultAckTimeout
	}
	s.batches.New = func() any { return newBatch() }
	return s
}

// Validate implements stage.Validator.
func (s *Sender) Validate() error {
	err := s.cfg.Validate()
	if s.nc == nil {
		return errors.Join(errors.New("jetstream: the connection is nil"), err)
	}
	return err
}

// Open waits for the server, and checks that the stream is fit for what it is to be used for. It may be called again after an error;
// one that is open, or has been closed, is refused: each source, sink and caller needs a Sender of its own.
func (s *Sender) Open(ctx context.Context) error {
	if err := s.Validate(); err != nil {
		return err
	}
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.used.Load() {
		return fmt.Errorf("jetstream: %s: the Sender is open already, or has been closed: each source and sink needs one of its own", s.where)
	}
	if err := s.inspect(ctx); err != nil {
		return err
	}
	return s.listen()
}

func (s *Sender) inspect(ctx context.Context) error {
	js, err := open(ctx, s.nc, s.cfg.Domain)
	if err != nil {
		return err
	}
	s.js = js
	var info *jetstream.StreamInfo
	name := "jetstream: " + s.where
	err = persist(ctx, name, func(ctx context.Context) error {
		if info, err = s.info(ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	found := checkStream(info, streamUse{role: sending, policy: s.cfg.OnFull, unbounded: s.cfg.Unbounded})
	found = append(found, connAdvice(s.nc)...)
	s.settings = info.Config
	s.chain = chain{last: info.State.LastSeq, known: info.State.LastSeq}
	s.warnings = found.warnings(s.cfg.Tolerate)
	return found.err(s.cfg.Tolerate)
}

// info asks for the stream as it is now.
func (s *Sender) info(ctx context.Context) (*jetstream.StreamInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, infoWait)
	defer cancel()
	stream, err := s.js.Stream(ctx, s.cfg.Stream)
	if err != nil {
		return nil, err
	}
	return stream.CachedInfo(), nil
}

// listen subscribes to the answers and watches the connection.
func (s *Sender) listen() error {
	s.window = newWindow(s.cfg.Window, s.silence)
	s.receipts = newReceipts(s.cfg.Stream)
	s.inbox = s.nc.NewInbox() + "."
	s.idPrefix = rand.Text()[:16] + "." // 80 bits at random
	sub, err := s.nc.Subscribe(s.inbox+"*", s.receive)
	if err != nil {
		return fmt.Errorf("jetstream: %s: %w", s.where, err)
	}
	s.sub = sub
	s.changes = s.nc.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	s.watching.Go(func() {
		for range s.changes {
			s.window.giveUp(nil, errDisconnected) // their answers are lost
		}
	})
	s.used.Store(true)
	s.opened.Store(true)
	return nil
}

// receive is called with the answers, one after the other.
func (s *Sender) receive(m *nats.Msg) {
	ticket, err := strconv.ParseUint(strings.TrimPrefix(m.Subject, s.inbox), 36, 64)
	if err != nil {
		return
	}
	if a, ok := s.receipts.read(m); ok {
		s.window.settle(ticket, a)
	}
}

// silence is why there may be no answer. Who may not publish to a subject is told so by way of the connection.
func (s *Sender) silence() error {
	if err := s.nc.LastError(); err != nil {
		return fmt.Errorf("%w; the last error of the connection: %w", errNoAnswer, err)
	}
	return errNoAnswer
}

// Limits implements [broker.Sender].
func (s *Sender) Limits() broker.Limits {
	l := broker.Limits{
		InFlight: s.cfg.Window,
		Message:  int(s.bounds().least()),
		Messages: max(s.settings.MaxMsgs, 0),
		Bytes:    max(s.settings.MaxBytes, 0),
		Ordered:  s.cfg.Ordered,
	}
	if s.settings.Discard == jetstream.DiscardOld {
		l.Full = broker.DropsOldest
	}
	return l
}

// bounds are those of the server that is connected now: another one of the cluster may have others.
func (s *Sender) bounds() bounds {
	return bounds{
		payload: s.nc.MaxPayload(),
		message: int64(max(s.settings.MaxMsgSize, 0)),
		stored:  max(s.settings.MaxBytes, 0),
	}
}

// Warnings are what Open found that does not stand in the way, and should be known: one replica, a connection that gives up.
func (s *Sender) Warnings() []string { return s.warnings }

// Close ends the subscription for answers. The connection stays open.
func (s *Sender) Close() error {
	s.closing.Do(func() {
		s.used.Store(true)
		if !s.opened.Swap(false) {
			return
		}
		s.nc.RemoveStatusListener(s.changes)
		s.watching.Wait()
		if err := s.sub.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			s.closeErr = fmt.Errorf("jetstream: %s: %w", s.where, err)
		}
	})
	return s.closeErr
}

// Ready returns nil where the Sender is open, connected, and its stream has a leader. That the stream has room it does not say.
func (s *Sender) Ready(ctx context.Context) error {
	if !s.opened.Load() {
		return fmt.Errorf("jetstream: %s: not open", s.where)
	}
	if status := s.nc.Status(); status != nats.CONNECTED {
		return fmt.Errorf("jetstream: %s: the connection is %v", s.where, status)
	}
	info, err := s.info(ctx)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return fmt.Errorf("jetstream: %s: %w", s.where, broker.ErrDeleted)
	case err != nil:
		return fmt.Errorf("jetstream: %s: %w", s.where, err)
	case info.Cluster != nil && info.Cluster.Leader == "":
		return fmt.Errorf("jetstream: %s: it has no leader", s.where)
	}
	return nil
}
