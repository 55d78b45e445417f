package jetstream

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/internal/clock"
)

// judged returns a fetcher that has been told this about its consumer, so often, once a second.
func judged(c SourceConfig, times int, info any) *Fetcher {
	f := NewFetcher(nil, c)
	f.limit = 10
	f.bound = &binding{maxAckPending: 10, ackWait: time.Minute}
	f.watch.sub = &nats.Subscription{}
	f.pulls.credit, f.pulls.expiry = 5, time.Second
	for i := range times {
		tell(f, info, time.Duration(i+1)*time.Second)
	}
	return f
}

// tell has an answer arrive.
func tell(f *Fetcher, info any, at time.Duration) {
	data, err := json.Marshal(info)
	if err != nil {
		panic(err)
	}
	f.watch.asked++
	f.watch.reply = "answer"
	f.receive(&nats.Msg{Subject: "answer", Sub: f.watch.sub, Data: data}, int64(at), int64(at))
}

func infoOf(pending uint64, ackPending int) jetstream.ConsumerInfo {
	return jetstream.ConsumerInfo{NumPending: pending, NumAckPending: ackPending, Config: jetstream.ConsumerConfig{MaxAckPending: 10}}
}

func apiError(code jetstream.ErrorCode) any {
	return map[string]any{"error": jetstream.APIError{Code: 404, ErrorCode: code}}
}

func TestTheWatchdogJudges(t *testing.T) {
	for _, c := range []struct {
		name    string
		times   int
		info    any
		stalled string
		nudges  uint64
	}{
		{"nothing is there", 5, infoOf(0, 3), "", 0},
		{"messages wait, and may come", 1, infoOf(7, 3), "", 1},
		{"messages wait, may come, and do not", 2, infoOf(7, 3), "the server sends none", 2},
		{"somebody else has it all", 1, infoOf(7, 10), "stalled at max ack pending: 10 of 10", 0},
		{"paused", 1, func() any {
			i := infoOf(7, 3)
			i.PauseRemaining = time.Minute
			return i
		}(), "paused", 0},
		{"an error that says nothing about the consumer", 5, apiError(codeUnavailable), "", 0},
	} {
		f := judged(quick(), c.times, c.info)
		if got := f.watch.stalled; !strings.Contains(got, c.stalled) || (got == "") != (c.stalled == "") {
			t.Errorf("%s: stalled %q, want %q", c.name, got, c.stalled)
		}
		if f.counts.nudges != c.nudges || (f.pulls.credit == 0) != (c.nudges > 0) {
			t.Errorf("%s: %d nudges, credit %d, want %d nudges", c.name, f.counts.nudges, f.pulls.credit, c.nudges)
		}
		if f.final != nil {
			t.Errorf("%s: %v", c.name, f.final)
		}
	}
}

// It takes two answers and a second to believe that something is gone: a server that is starting may not know everything yet.
func TestTheWatchdogBelievesInDeletionLate(t *testing.T) {
	for code, name := range map[jetstream.ErrorCode]string{
		jetstream.JSErrCodeConsumerNotFound: "consumer", jetstream.JSErrCodeStreamNotFound: "jetstream: stream",
	} {
		if f := judged(quick(), 1, apiError(code)); f.final != nil || !f.watch.doubt {
			t.Errorf("%s: believed at once: %v", name, f.final)
		}
		f := judged(quick(), 1, apiError(code))
		for range 3 {
			if tell(f, apiError(code), 2*time.Second-1); f.final != nil {
				t.Errorf("%s: believed before a second was over: %v", name, f.final)
			}
		}
		if f := judged(quick(), 2, apiError(code)); !errors.Is(f.final, broker.ErrDeleted) || !strings.Contains(f.final.Error(), name) {
			t.Errorf("%s: %v, want %v", name, f.final, broker.ErrDeleted)
		}
	}
	c := quick()
	c.Recreate = true
	if f := judged(c, 2, apiError(jetstream.JSErrCodeConsumerNotFound)); f.final != nil || f.watch.gone == 0 {
		t.Errorf("with Recreate: %v", f.final)
	}
}

// While a request stands its messages may be on their way: it is not given up before it has had the time of one, however often the
// server says that something waits. The end of a stream is asked for every 50 ms.
func TestTheWatchdogIsPatient(t *testing.T) {
	c := quick()
	f := judged(c, 0, nil)
	f.watch.impatience = c.PullExpiry
	f.watch.parked, f.watch.last = int64(5*time.Second), int64(6*time.Second)
	f.watch.asked = f.watch.last
	f.ending = true
	for at := 6 * time.Second; at < 7*time.Second; at += endInterval {
		if tell(f, infoOf(7, 3), at); f.pulls.stale || f.counts.nudges > 0 {
			t.Fatalf("given up %v after the last message", at-6*time.Second)
		}
	}
	if tell(f, infoOf(7, 3), 7*time.Second); !f.pulls.stale || f.counts.nudges != 1 {
		t.Errorf("not given up a second after the last message: %+v", f.pulls)
	}
}

// What has arrived is taken in before silence is looked for.
func TestWhatHasArrivedIsNoSilence(t *testing.T) {
	f := judged(quick(), 0, nil)
	f.inbox = make(chan *nats.Msg, 1)
	f.pulls.sub = &nats.Subscription{}
	f.inbox <- &nats.Msg{Sub: f.pulls.sub, Header: nats.Header{statusHeader: {"100"}}}
	f.pulls.heartbeat = time.Hour
	f.pulls.heard = clock.Now() - int64(3*time.Hour)
	f.watch.parked = clock.Now()
	f.watch.quiet = time.Hour
	if f.look(t.Context()); f.pulls.silent != 0 || f.pulls.credit != 5 {
		t.Errorf("a heartbeat is there: %+v", f.pulls)
	}
}

// Messages that came since the question make the answer worthless.
func TestTheWatchdogIgnoresOldNews(t *testing.T) {
	f := judged(quick(), 0, nil)
	f.watch.reply, f.watch.asked = "answer", 10
	f.watch.arrived(11, 4)
	data, err := json.Marshal(infoOf(7, 3))
	if err != nil {
		t.Fatal(err)
	}
	f.receive(&nats.Msg{Subject: "answer", Sub: f.watch.sub, Data: data}, 12, 12)
	f.receive(&nats.Msg{Subject: "an older answer", Sub: f.watch.sub, Data: data}, 12, 12)
	if f.counts.nudges != 0 || f.watch.strange != 0 || f.watch.reply != "" {
		t.Errorf("%+v", f.watch)
	}
}

// A consumer whose limits have been changed is followed downwards.
func TestTheWatchdogFollowsLimits(t *testing.T) {
	i := infoOf(0, 0)
	i.Config.MaxAckPending, i.Config.MaxRequestBatch = 4, 3
	f := judged(quick(), 1, i)
	if f.limit != 4 || f.pulls.maxBatch != 3 {
		t.Errorf("limit %d, batch %d, want 4 and 3", f.limit, f.pulls.maxBatch)
	}
}

// A message that there is no place for is given back.
func TestMoreThanWasAskedForIsGivenBack(t *testing.T) {
	f := judged(quick(), 0, nil)
	f.limit = 1
	for range 2 {
		f.receive(&nats.Msg{Reply: shortReply}, 1, 1)
	}
	if f.ready.len() != 1 || len(f.out) != 1 || f.out[0].verb != nak || f.out[0].reply != shortReply {
		t.Errorf("%d wait, %+v goes out", f.ready.len(), f.out)
	}
}

// A stream on which nothing happens costs a question now and then, less and less often.
func TestAnIdleStreamCostsLittle(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	asked := make(chan *nats.Msg, 100)
	if _, err := l.nc.ChanSubscribe("$JS.API.CONSUMER.INFO.S.d", asked); err != nil {
		t.Fatal(err)
	}
	c := quick()
	c.PullExpiry = lowestPullExpiry
	f := l.open(c)
	if err := f.Ready(t.Context()); err != nil {
		t.Errorf("Ready() = %v", err)
	}
	rounds := 0
	until(t, "it asks for messages again", func() bool {
		nothing(t, f, 1500*time.Millisecond) // 0.4, 0.8
		rounds++
		return f.Stats().Pulls >= 2
	})
	if n := len(asked); n > 6*rounds {
		t.Errorf("%d questions", n)
	}
	if s := f.Stats(); s.Pulls > uint64(8*rounds) || s.Stalled != "" {
		t.Errorf("%+v", s)
	}
}
