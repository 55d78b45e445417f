package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/stage"
)

// watchdog finds out why nothing comes: there is nothing, somebody else has it, the server has forgotten us, or the consumer is no
// more. It asks the server when a Fetch has waited for long. The answer comes in like a message, so Fetch goes on meanwhile.
type watchdog struct {
	subject string // of questions
	sub     *nats.Subscription
	inbox   string // of answers; each question appends its number
	number  uint64
	reply   string // where the answer comes, "" when none is awaited
	asked   int64

	parked      int64         // since when Fetch listens
	last        int64         // when the last message came
	pending     uint64        // what waited behind it
	quiet       time.Duration // after which the server is asked
	impatience  time.Duration // what quiet begins with
	doubt       bool          // the consumer may be gone
	absent      int           // answers in a row that said so
	absentSince int64         // when the first of them came
	gone        jetstream.ErrorCode
	idle        int // answers in a row that said that nothing is left
	strange     int // answers in a row that said that messages wait and may come

	floor      uint64 // everything up to here is acknowledged, as far as is known
	ackPending int
	stalled    string
}

const (
	endInterval   = 50 * time.Millisecond
	doubtInterval = 250 * time.Millisecond
	floorInterval = time.Second
	answerWithin  = 2 * time.Second
	mostQuiet     = 30 * time.Second
	proofs        = 2 // answers that it takes to believe in an end
)

func (w *watchdog) adopt(c *SourceConfig, b *binding) {
	w.subject = apiPrefix(c) + "CONSUMER.INFO." + c.Stream + "." + c.Durable
	w.quiet, w.impatience = b.expiry, b.expiry
	w.pending = b.consumer.NumPending
	w.floor = b.consumer.AckFloor.Stream
	w.doubt, w.absent, w.gone = false, 0, 0
}

// listen makes the inbox of answers. It is not that of messages, which is left whenever requests are given up.
func (w *watchdog) listen(nc *nats.Conn, inbox chan *nats.Msg) (err error) {
	w.inbox = nc.NewInbox()
	w.sub, err = nc.ChanSubscribe(w.inbox+".*", inbox)
	return err
}

// arrived takes in that a message has come.
func (w *watchdog) arrived(now int64, pending uint64) {
	w.last, w.pending = now, pending
	w.idle, w.strange, w.stalled = 0, 0, ""
	w.quiet = w.impatience
}

// awaits tells whether an answer is on its way.
func (w *watchdog) awaits(now int64) bool { return w.reply != "" && now-w.asked < int64(answerWithin) }

// look is what a Fetch does that has waited for a while.
func (f *Fetcher) look(ctx context.Context) {
	f.mu.Lock()
	f.receiveAll(f.emptied) // what has come while the process had no time is no silence
	now := clock.Now()
	f.pulls.check(now)
	gone := f.watch.gone
	f.mu.Unlock()
	if gone != 0 {
		f.revive(ctx, gone)
		return
	}
	if f.curious(now) {
		f.ask(now)
	}
}

// curious tells whether the server should be asked about the consumer.
func (f *Fetcher) curious(now int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := &f.watch
	since := func(t int64) time.Duration { return time.Duration(now - t) }
	if w.awaits(now) || f.final != nil {
		return false
	}
	switch {
	case w.doubt:
		return since(w.asked) >= doubtInterval
	case f.ending:
		return since(w.asked) >= endInterval
	case f.line.absent > 0:
		return since(w.asked) >= f.absentFor()
	default:
		return since(max(w.parked, w.last, w.asked)) >= w.quiet
	}
}

// trackFloor asks from time to time how far everything is acknowledged, for the case that the consumer has to be made again.
func (f *Fetcher) trackFloor(now int64) {
	f.mu.Lock()
	due := f.cfg.Recreate && !f.watch.awaits(now) && now-f.watch.asked >= int64(floorInterval)
	f.mu.Unlock()
	if due {
		f.ask(now)
	}
}

// ask asks the server about the consumer.
func (f *Fetcher) ask(now int64) {
	f.mu.Lock()
	w := &f.watch
	w.number++
	w.reply, w.asked = w.inbox+"."+strconv.FormatUint(w.number, 10), now
	reply := w.reply
	f.mu.Unlock()
	if f.nc.PublishRequest(w.subject, reply, nil) != nil {
		return // not connected; there is no answer then
	}
}

// receiveInfo takes in the answer. It is called with the lock held.
func (f *Fetcher) receiveInfo(m *nats.Msg, now int64) {
	w := &f.watch
	if m.Subject != w.reply {
		return // too late
	}
	w.reply = ""
	var info struct {
		jetstream.ConsumerInfo
		Error *jetstream.APIError `json:"error"`
	}
	if m.Header.Get(statusHeader) != "" || json.Unmarshal(m.Data, &info) != nil {
		return // JetStream is not there: ask again
	}
	switch {
	case info.Error == nil:
		w.doubt, w.absent = false, 0
		f.judge(&info.ConsumerInfo, now)
	case info.Error.ErrorCode == jetstream.JSErrCodeConsumerNotFound, info.Error.ErrorCode == jetstream.JSErrCodeStreamNotFound:
		w.doubt = true // a server that is starting may not know everything yet
		if w.absent++; w.absent == 1 {
			w.absentSince = now
		}
		if w.absent >= proofs && now-w.absentSince >= int64(longGone) {
			f.missing(info.Error.ErrorCode)
		}
	}
}

// missing takes in that the consumer or the stream is gone.
func (f *Fetcher) missing(code jetstream.ErrorCode) {
	if f.cfg.Recreate && code == jetstream.JSErrCodeConsumerNotFound {
		f.watch.gone = code
		f.signal(f.wake)
		return
	}
	f.fail(deletedError(&f.cfg, code))
}

// judge draws the conclusions from what the server says of the consumer.
func (f *Fetcher) judge(info *jetstream.ConsumerInfo, now int64) {
	w := &f.watch
	w.floor, w.ackPending = max(w.floor, info.AckFloor.Stream), info.NumAckPending
	w.pending = info.NumPending
	if most := info.Config.MaxAckPending; most > 0 {
		f.limit = min(f.bound.maxAckPending, most)
	}
	f.pulls.maxBatch = max(info.Config.MaxRequestBatch, 0)
	f.present(info.NumAckPending)
	if w.last >= w.asked {
		return // messages have come since
	}
	f.judgeEnd(info)
	switch {
	case info.NumPending == 0:
		w.strange, w.stalled = 0, ""
		w.quiet = min(2*w.quiet, mostQuiet)
		return
	case f.slots.used-f.line.away >= f.limit: // it is the pipeline that holds everything
		w.strange, w.stalled = 0, ""
	case info.NumAckPending >= info.Config.MaxAckPending:
		w.stalled = fmt.Sprintf("stalled at max ack pending: %d of %d messages are unsettled, %d of them here; the others wait for their delay or are with other processes",
			info.NumAckPending, info.Config.MaxAckPending, f.slots.used)
	case info.PauseRemaining > 0:
		w.stalled = "the consumer is paused"
	default:
		f.nudge(info, now)
	}
	w.quiet = w.impatience
}

// nudge deals with a server that has messages and does not send them: it is asked anew, in another inbox.
func (f *Fetcher) nudge(info *jetstream.ConsumerInfo, now int64) {
	w := &f.watch
	if w.strange++; w.strange >= proofs {
		w.stalled = fmt.Sprintf("%d messages wait, %d of %d are unsettled, and the server sends none",
			info.NumPending, info.NumAckPending, info.Config.MaxAckPending)
	}
	// What is asked in another inbox is not what stands in this one: a message on its way here would come again behind the others. So
	// nothing is done before all that stands has had the time to be answered.
	if waited := time.Duration(now - max(w.parked, w.last)); waited >= w.impatience && now >= f.pulls.retryAt {
		f.pulls.forget()
		f.counts.nudges++
	}
}

// judgeEnd ends the stream where nothing is left of it and nothing will be added. What this fetcher holds may be settled as done
// later, and may only be settled when a step downstream has seen the end; but not what it is giving back.
func (f *Fetcher) judgeEnd(info *jetstream.ConsumerInfo) {
	w := &f.watch
	if !f.ending || info.NumPending > 0 || info.NumAckPending > f.slots.ending() {
		w.idle = 0
		return
	}
	if w.idle++; w.idle >= proofs {
		f.fail(stage.ErrEnd)
	}
}

// revive makes the consumer again.
func (f *Fetcher) revive(ctx context.Context, code jetstream.ErrorCode) {
	f.mu.Lock()
	position := f.watch.floor
	f.mu.Unlock()
	b, err := recreate(ctx, f.nc, &f.cfg, f.bound, position)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err == nil:
		f.counts.recreated++
		f.slots.lose() // the new consumer delivers them anew
		f.adopt(b)
	case transient(err):
		f.pulls.fail(clock.Now())
	default:
		f.fail(fmt.Errorf("%w: %w", deletedError(&f.cfg, code), err))
	}
}
