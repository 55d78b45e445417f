package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/stage"
)

// Fetcher reads a durable consumer. It implements [broker.Fetcher] and [broker.Ender]; [Source] is one with a codec.
//
//	Backpressure: no more is asked of the server than the demand and the free part of MaxAckPending. While nobody fetches
//	              nothing is asked for.
//	Order:        the stream's. A message that comes again comes later.
//	Ends:         after EndWhenEmpty; otherwise never by itself. A consumer or stream that was deleted is an error that wraps
//	              broker.ErrDeleted, within 5 s. A server that is down is none: Fetch goes on when it is back.
//	Claims:       acknowledged as [SourceConfig].Ack says. Everything that is not settled is kept alive three times in
//	              AckWait, for up to MaxHold. Close gives back what is left, at once.
//	Concurrency:  one goroutine may fetch at a time. Settle, Stats, Ready and EndWhenEmpty are safe for concurrent use.
//	Cost:         one goroutine, and what the same calls cost by hand (BenchmarkFetch).
type Fetcher struct {
	// Everything that the server sends, messages and statuses, comes through one channel, in order, and is received by whoever
	// is at work: Fetch while it runs, the postman's ticker while it does not. So there is no goroutine per request or message,
	// and what waits for a Fetch is kept alive, too. What is sent about a delivery is sent by the postman.

	nc  *nats.Conn
	cfg SourceConfig

	opening sync.Mutex
	bound   *binding
	inbox   chan *nats.Msg
	timer   *time.Timer // of Fetch
	ids     []byte      // of Fetch

	wake    chan struct{} // has a waiting Fetch look again
	kick    chan struct{} // has the postman look again
	closed  chan struct{} // nobody may fetch any more
	postman postman

	mu       sync.Mutex
	fetching bool
	opened   bool
	closing  bool
	ending   bool  // nothing more will be stored
	final    error // what every Fetch returns
	slots    slots
	ready    fifo     // waiting deliveries, in order
	out      []answer // not sent
	unproven []answer // sent, may not have arrived
	epoch    uint64   // the connection that everything old has been sent on: the number of reconnects
	pulls    pulls
	watch    watchdog
	gaps     gaps
	line     line  // Cumulative
	limit    int   // of deliveries in flight
	starved  bool  // Fetch would ask for more if places became free
	emptied  int64 // when the inbox was last seen empty
	counts   counts
	closeErr error
}

// NewFetcher returns a Fetcher that uses nc, which stays open when it is closed. It does no I/O. Of the config's SourceOptions it takes
// only whether there is an end to the attempts.
func NewFetcher(nc *nats.Conn, c SourceConfig) *Fetcher {
	return &Fetcher{
		nc: nc, cfg: c.withDefaults(),
		wake: make(chan struct{}, 1), kick: make(chan struct{}, 1), closed: make(chan struct{}),
	}
}

var errNotOpen = errors.New("jetstream: not open")

// Validate returns everything that is wrong with the config.
func (f *Fetcher) Validate() error {
	err := f.cfg.Validate()
	if f.nc == nil {
		err = errors.Join(errors.New("jetstream: the connection is nil"), err)
	}
	return err
}

// Open finds or makes the consumer. It waits for a server that is down until ctx ends.
func (f *Fetcher) Open(ctx context.Context) error {
	f.opening.Lock()
	defer f.opening.Unlock()
	if f.bound != nil {
		return nil
	}
	if err := f.Validate(); err != nil {
		return err
	}
	b, err := bind(ctx, f.nc, &f.cfg)
	if err != nil {
		return err
	}
	f.inbox = make(chan *nats.Msg, inboxSize(b))
	f.timer = time.NewTimer(time.Hour)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing {
		return broker.ErrClosed
	}
	if err := f.watch.listen(f.nc, f.inbox); err != nil {
		return fmt.Errorf("%s: %w", f.where(), err)
	}
	if err := f.listenForEvictions(b); err != nil {
		return fmt.Errorf("%s: %w", f.where(), err)
	}
	if err := f.postman.start(f, b); err != nil {
		return fmt.Errorf("%s: %w", f.where(), err)
	}
	f.bound, f.opened = b, true
	f.emptied = clock.Now()
	f.adopt(b)
	return nil
}

// adopt takes over what a consumer says of itself. It is called with the lock held.
func (f *Fetcher) adopt(b *binding) {
	f.limit = b.maxAckPending
	f.pulls.adopt(&f.cfg, b)
	f.watch.adopt(&f.cfg, b)
	f.gaps.adopt(b)
	f.line.adopt(f.cfg.Ack == Cumulative, b.consumer)
}

// Limits returns what is known of the consumer and its stream. Before Open that is MaxAckPending, where the config has it.
func (f *Fetcher) Limits() broker.Limits {
	f.opening.Lock()
	b := f.bound
	f.opening.Unlock()
	if b == nil {
		return broker.Limits{InFlight: f.cfg.MaxAckPending}
	}
	stream := &b.stream.Config
	l := broker.Limits{
		InFlight: b.maxAckPending,
		AckWait:  b.ackWait,
		Message:  int(f.nc.MaxPayload()),
		Messages: max(stream.MaxMsgs, 0),
		Bytes:    max(stream.MaxBytes, 0),
	}
	if stream.MaxMsgSize > 0 {
		l.Message = min(l.Message, int(stream.MaxMsgSize))
	}
	if stream.Discard == jetstream.DiscardOld {
		l.Full = broker.DropsOldest
	}
	return l
}

// Fetch waits for a delivery and returns what is there.
func (f *Fetcher) Fetch(ctx context.Context, dst []broker.Delivery) (int, error) {
	if err := f.enter(len(dst)); err != nil || len(dst) == 0 {
		return 0, err
	}
	defer f.leave()
	for ctx.Err() == nil {
		f.pull(len(dst))
		f.gather(len(dst))
		if n, err := f.take(dst); n > 0 || err != nil {
			return n, err
		}
		f.await(ctx)
	}
	return 0, context.Cause(ctx)
}

// EndWhenEmpty says that nothing more will be stored. From then on an empty stream is a clean end: nothing waits, and nothing is
// unsettled but what this Fetcher has delivered.
func (f *Fetcher) EndWhenEmpty() {
	f.mu.Lock()
	f.ending = true
	f.mu.Unlock()
	f.signal(f.wake)
}

// enter makes the caller the one who receives.
func (f *Fetcher) enter(demand int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closing:
		return broker.ErrClosed
	case f.final != nil:
		return f.final
	case !f.opened:
		return errNotOpen
	case demand == 0:
		return nil
	}
	f.fetching = true
	now := clock.Now()
	f.receiveAll(f.emptied)
	f.pulls.heard = now // nobody has listened, so silence proves nothing
	f.watch.parked = now
	return nil
}

func (f *Fetcher) leave() {
	f.mu.Lock()
	f.fetching = false
	f.mu.Unlock()
}

// await waits until there is something to do.
func (f *Fetcher) await(ctx context.Context) {
	f.timer.Reset(f.interval())
	select {
	case m := <-f.inbox:
		f.mu.Lock()
		now := clock.Now()
		f.receive(m, now, now)
		f.receiveAll(now)
		f.mu.Unlock()
	case <-f.timer.C:
		f.look(ctx)
	case <-f.wake:
	case <-f.closed:
	case <-ctx.Done():
	}
}

// interval is how long a waiting Fetch sleeps at most.
func (f *Fetcher) interval() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.pulls.heartbeat
	if wait := time.Duration(f.pulls.retryAt - clock.Now()); wait > 0 {
		d = min(d, wait)
	}
	if f.pulls.silent > 0 {
		d = min(d, f.pulls.heartbeat/secondLook)
	}
	if f.ending || f.watch.doubt {
		d = min(d, endInterval)
	}
	return d
}

// receiveAll receives what has arrived, none of it before since. It is called with the lock held.
func (f *Fetcher) receiveAll(since int64) {
	now := clock.Now()
	for {
		select {
		case m := <-f.inbox:
			f.receive(m, since, now)
		default:
			f.emptied = now
			return
		}
	}
}

// receive takes in one message from the server that arrived between since and now. It is called with the lock held.
func (f *Fetcher) receive(m *nats.Msg, since, now int64) {
	current := m.Sub == f.pulls.sub
	if current {
		f.pulls.heard = now
	}
	facts, ok := parseReply(m.Reply)
	if !ok {
		f.receiveStatus(m, current, now)
		return
	}
	f.watch.arrived(now, facts.pending)
	f.gaps.arrived(facts)
	if current {
		f.pulls.got()
	}
	if f.line.on {
		f.receiveInLine(m, facts, since)
		return
	}
	if f.slots.used >= f.limit {
		f.gaps.returned(&slot{facts: facts, evicted: f.gaps.gone(facts.sequence)}, f.limit)
		f.refuse(m)
		return
	}
	f.ready.push(f.accept(m, facts, since))
}

// refuse gives back a message that there is no place for: it was asked for by a request that was held to be gone.
func (f *Fetcher) refuse(m *nats.Msg) {
	f.out = append(f.out, answer{verb: nak, delay: f.pulls.heartbeat, reply: m.Reply})
	f.signal(f.kick)
}

// accept gives a delivery its place.
func (f *Fetcher) accept(m *nats.Msg, facts facts, since int64) int32 {
	i := f.slots.take()
	s := &f.slots.all[i]
	s.state, s.msg, s.reply, s.facts, s.arrived, s.seen = waiting, m, m.Reply, facts, since, since
	s.evicted = f.gaps.gone(facts.sequence)
	return i
}

// take hands out what waits.
func (f *Fetcher) take(dst []broker.Delivery) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing {
		return 0, broker.ErrClosed
	}
	now := clock.Now()
	ids := f.ids[:0]
	for f.ready.len() > 0 && n < len(dst) {
		i := f.ready.pop()
		s := &f.slots.all[i]
		if f.expired(s, now) {
			f.forgo(i) // somebody else has it, or gets it next
			continue
		}
		m := s.msg
		s.state, s.msg = held, nil
		ids = append(ids, f.cfg.Stream...)
		ids = append(ids, ':')
		ids = strconv.AppendUint(ids, s.facts.sequence, 10)
		dst[n] = broker.Delivery{
			Token: token(i, s.gen), Subject: m.Subject, Header: broker.Header(m.Header), Data: m.Data,
			Sequence: s.facts.sequence, Stored: time.Unix(0, int64(s.facts.stored)), Attempt: int(s.facts.attempt),
		}
		f.counts.delivered++
		if s.facts.attempt > 1 {
			f.counts.redelivered++
		}
		n++
	}
	f.ids = ids
	cutIDs(dst[:n], string(ids), len(f.cfg.Stream)+1)
	if n > 0 {
		return n, nil
	}
	return 0, f.final
}

// forgo gives up a delivery that was not fetched in time. It comes again.
func (f *Fetcher) forgo(i int32) {
	f.gaps.returned(&f.slots.all[i], f.limit)
	if f.line.on {
		f.sendAway(&f.slots.all[i])
		return
	}
	f.slots.release(i)
}

// cutIDs gives each delivery its ID, all cut from one string: that is one allocation for all of them.
func cutIDs(ds []broker.Delivery, ids string, lead int) {
	for i := range ds {
		n := lead + digits(ds[i].Sequence)
		ds[i].ID, ids = ids[:n], ids[n:]
	}
}

func digits(n uint64) int {
	d := 1
	for ; n >= 10; n /= 10 {
		d++
	}
	return d
}

// fail makes err the end of the fetcher. The first one counts. It is called with the lock held.
func (f *Fetcher) fail(err error) {
	if f.final == nil {
		f.final = err
	}
	f.signal(f.wake)
}

func (*Fetcher) signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// checkClosed ends the fetcher where its connection has been closed for good. It is called with the lock held.
func (f *Fetcher) checkClosed(err error) {
	if err != nil && errors.Is(err, nats.ErrConnectionClosed) {
		f.fail(fmt.Errorf("%s: %w", f.where(), err))
	}
}

// where names the consumer in errors.
func (f *Fetcher) where() string {
	return fmt.Sprintf("jetstream: consumer %q of stream %q", f.cfg.Durable, f.cfg.Stream)
}

var _ interface {
	broker.Fetcher
	broker.Ender
	stage.Validator
} = (*Fetcher)(nil)
