package jetstream

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/weir-go/weir/internal/clock"
)

// postman is the goroutine that sends what is said about deliveries: how they ended, and that they are still alive. So nobody
// who settles waits for a connection, and what can't be sent while it is down is sent when it is back.
type postman struct {
	wg      sync.WaitGroup
	stop    chan struct{}
	changes chan nats.Status
	inbox   string // of confirmations and proofs
	sub     *nats.Subscription
	mail    chan *nats.Msg

	batch []answer // being sent
	pings []ping
	buf   []byte
	proof proof
}

const (
	signsPerWait = 3 // signs of life in AckWait
	// confirmWithin is how long a confirmation may take before the answer is sent again.
	confirmWithin = 2 * time.Second
)

func (p *postman) start(f *Fetcher, b *binding) (err error) {
	p.inbox = f.nc.NewInbox()
	p.mail = make(chan *nats.Msg, 2*b.maxAckPending) // room for answers to what was repeated, too
	if p.sub, err = f.nc.ChanSubscribe(p.inbox+".*", p.mail); err != nil {
		return err
	}
	p.stop = make(chan struct{})
	p.changes = f.nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	p.proof.timer = time.NewTimer(time.Hour)
	f.epoch = f.nc.Stats().Reconnects
	p.wg.Go(func() { f.work(b.ackWait / signsPerWait) })
	return nil
}

// end stops the postman and waits for it.
func (p *postman) end(nc *nats.Conn) {
	close(p.stop)
	p.wg.Wait()
	p.proof.timer.Stop()
	nc.RemoveStatusListener(p.changes)
	_ = p.sub.Unsubscribe() // it fails where the connection is closed, and with it the subscription
}

// work is the postman's goroutine.
func (f *Fetcher) work(every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	p := &f.postman
	for {
		select {
		case <-f.kick:
		case <-tick.C:
			f.keepAlive()
		case m := <-p.mail:
			f.receiveMail(m)
		case <-p.proof.timer.C:
		case s := <-p.changes:
			f.checkStatus(s)
		case <-p.stop:
			return
		}
		f.checkEpoch()
		for f.deliver() {
		}
		f.prove()
	}
}

// deliver sends the answers that wait, and tells whether there may be more. Those that can't be sent wait on.
func (f *Fetcher) deliver() bool {
	if !f.nc.IsConnected() {
		return false
	}
	p := &f.postman
	f.mu.Lock()
	p.batch, f.out = f.out, p.batch[:0]
	if owed := f.line.take(); owed.covers > 0 {
		p.batch = append(p.batch, owed)
	}
	f.mu.Unlock()
	if len(p.batch) == 0 {
		return false
	}
	n, err := f.send(p.batch)
	f.mu.Lock()
	defer f.mu.Unlock()
	now := clock.Now()
	for i := range p.batch[:n] {
		f.sent(&p.batch[i], now)
	}
	f.out = slices.Insert(f.out, 0, p.batch[n:]...)
	f.checkClosed(err)
	clear(p.batch)
	if f.closing {
		f.signal(f.wake)
	}
	return err == nil
}

// send publishes answers, and returns how many went out.
func (f *Fetcher) send(batch []answer) (n int, err error) {
	p := &f.postman
	for i := range batch {
		a := &batch[i]
		body := a.verb.body(int64(a.delay), p.buf[:0])
		if f.cfg.Ack == Confirmed {
			err = f.nc.PublishRequest(a.reply, p.inbox+"."+strconv.FormatUint(a.token, 10), body)
		} else {
			err = f.nc.Publish(a.reply, body)
		}
		if err != nil {
			return i, err
		}
	}
	return len(batch), nil
}

// receiveMail takes in a confirmation or a proof, and all others that have arrived.
func (f *Fetcher) receiveMail(m *nats.Msg) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		f.receiveOne(m)
		select {
		case m = <-f.postman.mail:
			continue
		default:
		}
		break
	}
	if f.closing {
		f.signal(f.wake)
	}
}

func (f *Fetcher) receiveOne(m *nats.Msg) {
	if m.Header.Get(statusHeader) != "" { // nobody was there to take the answer; it is repeated
		f.watch.doubt = true
		return
	}
	n, err := strconv.ParseUint(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:], 10, 64)
	switch {
	case err != nil:
	case f.cfg.Ack == Confirmed:
		f.confirm(n)
	default:
		f.proven(n)
	}
}

// checkStatus takes in that the connection is closed for good. That it is back shows in the number of reconnects.
func (f *Fetcher) checkStatus(s nats.Status) {
	if s != nats.CLOSED {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.checkClosed(errors.Join(nats.ErrConnectionClosed, f.nc.LastError()))
}

// checkEpoch does what there is to do on a new connection: it sends again what may not have arrived on the old one, and signs of
// life. Only behind that a Fetch may ask for messages, or it would be given those that have been acknowledged.
func (f *Fetcher) checkEpoch() {
	epoch := f.nc.Stats().Reconnects
	if !f.nc.IsConnected() {
		return
	}
	f.mu.Lock()
	if epoch == f.epoch {
		f.mu.Unlock()
		return
	}
	f.counts.reconnects++
	f.askAgain(clock.Now())
	f.repeatUnproven()
	f.mu.Unlock()
	for f.deliver() {
	}
	f.keepAlive()
	f.mu.Lock()
	f.epoch = epoch
	f.pulls.renew() // most of it went with the old connection
	f.signal(f.wake)
	f.mu.Unlock()
}
