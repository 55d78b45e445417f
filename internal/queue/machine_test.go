package queue_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/internal/claim"
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
	"pgregory.net/rapid"
)

// lost is a call of the Dropped hook.
type lost struct {
	id  int
	why queue.Reason
}

// ledger remembers how tags were settled.
type ledger struct {
	mu       sync.Mutex
	outcomes map[int][]stage.Outcome
}

func (l *ledger) Settle(token uint64, o stage.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outcomes[int(token)] = append(l.outcomes[int(token)], o)
}

// putCall and takeCall are calls that may be waiting.
type putCall struct {
	values   []thing
	tags     []*queue.Tag
	done     chan struct{}
	accepted int // by the model
	over     bool
	n        int
	err      error
}

type takeCall struct {
	limit int
	since time.Time
	until time.Duration // 0: for ever
	w     *queue.Waiter
	over  bool
	ids   []int
	err   error
}

// machine drives a queue and the model of it, in virtual time.
type machine struct {
	m        *model
	q        *queue.Queue[thing]
	nextID   int
	drops    []lost
	settled  *ledger
	put      *putCall
	take     *takeCall
	producer *queue.Waiter
	consumer *queue.Waiter
	blocked  time.Duration
	starved  time.Duration
	tickets  int64
	closed   bool
}

// seldom reports that an end is not due yet: it would leave nothing to try.
func seldom(t *rapid.T) bool {
	return rapid.SampledFrom([]bool{true, true, true, true, true, true, true, true, true, false}).Draw(t, "not now")
}

func newMachine(t *rapid.T, policy queue.Policy, weights bool) *machine {
	s := &machine{settled: &ledger{outcomes: map[int][]stage.Outcome{}}, producer: queue.NewWaiter(), consumer: queue.NewWaiter()}
	cfg := queue.Config[thing]{
		Name:     "e",
		Capacity: rapid.SampledFrom([]int{1, 2, 3, 5, 17, 40}).Draw(t, "capacity"),
		OnFull:   policy,
		Tagged:   rapid.Bool().Draw(t, "tagged"),
		Fair:     rapid.Bool().Draw(t, "fair"),
		MaxWait:  rapid.SampledFrom([]time.Duration{0, 0, 10 * time.Millisecond}).Draw(t, "max wait"),
	}
	if weights {
		cfg.MaxWeight, cfg.Weight = 20, func(v thing) int64 { return v.weight }
	}
	if cfg.Tagged || rapid.Bool().Draw(t, "hook") {
		cfg.Dropped = func(v thing, tag *queue.Tag, why queue.Reason) {
			s.drops = append(s.drops, lost{v.id, why})
			tag.Release(stage.Outcome{Kind: stage.Terminated})
		}
	}
	consumers := rapid.IntRange(1, 3).Draw(t, "consumers")
	s.m = &model{cfg: cfg, consumers: consumers, outcomes: map[int]stage.OutcomeKind{}}
	s.q = queue.New(cfg)
	s.q.AddProducer()
	for range consumers {
		s.q.AddConsumer()
	}
	return s
}

// things makes n values, with tags if the queue has some.
func (s *machine) things(t *rapid.T, n int) (values []thing, tags []*queue.Tag) {
	for range n {
		v := thing{s.nextID, rapid.SampledFrom([]int64{0, 1, 3, 9, 20, 21, 50}).Draw(t, "weight")}
		s.nextID++
		values = append(values, v)
		if s.m.cfg.Tagged {
			tags = append(tags, claim.Claimed(stage.Meta{}, s.settled, uint64(v.id)))
		}
	}
	return values, tags
}

func (s *machine) Put(t *rapid.T) {
	if s.put != nil {
		t.Skip("a producer waits")
	}
	n := rapid.IntRange(0, 2*s.m.cfg.Capacity+1).Draw(t, "n")
	if s.m.cfg.OnFull == queue.Block && s.m.cfg.MaxWait > 0 && s.m.cfg.Dropped != nil {
		// Who is first once the hook has run, the producer or the consumer, is open: keep the producer from waiting.
		n = min(n, s.m.cfg.Capacity-len(s.m.items))
		if s.m.cfg.MaxWeight > 0 {
			n = min(n, 1)
		}
	}
	values, tags := s.things(t, n)
	if n == 1 && s.m.cfg.MaxWait > 0 && s.m.cfg.OnFull == queue.Block && s.m.cfg.MaxWeight > 0 && !s.m.fits(values[0]) {
		s.release(tags)
		t.Skip("it would wait")
	}
	p := &putCall{values: values, tags: tags, done: make(chan struct{})}
	s.put = p
	go func() {
		p.n, p.err = s.q.Put(s.producer, p.values, p.tags, p.done)
		p.over = true
	}()
}

func (s *machine) Offer(t *rapid.T) {
	values, tags := s.things(t, 1)
	var tag *queue.Tag
	if len(tags) > 0 {
		tag = tags[0]
	}
	err := s.q.Offer(values[0], tag)
	var n int
	var want error
	if s.put != nil && s.m.end == nil { // the producer that waits has precedence
		want = &queue.FullError{}
	} else {
		drops := s.m.dropped
		if n, want = s.m.put(values); n == 0 && want == nil {
			want = &queue.FullError{}
		} else if s.m.cfg.OnFull == queue.DropNewest && drops != s.m.dropped ||
			drops[queue.DropTooHeavy] != s.m.dropped[queue.DropTooHeavy] {
			want = queue.ErrDropped
		}
	}
	if s.m.cfg.OnFull == queue.Block && isFull(want) {
		s.m.refused++
	}
	if !sameError(err, want) {
		t.Fatalf("Offer(%v) = %v, want %v", values[0], err, want)
	}
	s.release(tags[min(n, len(tags)):])
}

func (s *machine) Take(t *rapid.T) {
	if s.take != nil {
		t.Skip("a consumer waits")
	}
	c := &takeCall{
		limit: rapid.IntRange(1, s.m.cfg.Capacity+3).Draw(t, "limit"),
		until: time.Duration(rapid.SampledFrom([]int{0, 1, 7, 20}).Draw(t, "timeout")) * time.Millisecond,
		since: time.Now(),
		w:     s.consumer,
	}
	s.take = c
	go func() {
		dst, tags := make([]thing, c.limit), []*queue.Tag(nil)
		if s.m.cfg.Tagged {
			tags = make([]*queue.Tag, c.limit)
		}
		var timeout <-chan time.Time
		if c.until > 0 {
			timeout = time.After(c.until)
		}
		var n int
		n, c.err = s.q.Take(c.w, dst, tags, timeout)
		for i, v := range dst[:n] {
			c.ids = append(c.ids, v.id)
			if s.m.cfg.Tagged {
				tags[i].Release(stage.Outcome{})
			}
		}
		c.over = true
	}()
}

func (s *machine) GiveUp(t *rapid.T) {
	if s.put == nil {
		t.Skip("nobody waits")
	}
	close(s.put.done)
	synctest.Wait()
	s.finishPut(t, queue.ErrGaveUp)
}

func (s *machine) Pass(t *rapid.T) {
	d := time.Duration(rapid.SampledFrom([]int{1, 3, 4, 10, 11, 150}).Draw(t, "ms")) * time.Millisecond
	until := d
	if s.take != nil && s.take.until > 0 {
		until = min(d, s.take.until-time.Since(s.take.since))
	}
	if s.put != nil {
		s.blocked += d
	}
	if s.take != nil {
		s.starved += until
	}
	time.Sleep(d)
	synctest.Wait()
	if c := s.take; c != nil && c.until > 0 && time.Since(c.since) >= c.until {
		s.finishTake(t, nil, queue.ErrTimeout)
		if c.w.Waited != int64(c.until) {
			t.Fatalf("Waited = %v, want %v", time.Duration(c.w.Waited), c.until)
		}
	}
}

func (s *machine) CloseProducer(t *rapid.T) {
	if s.closed || seldom(t) {
		t.Skip("not now")
	}
	s.closed = true
	if s.q.CloseProducer(); s.m.end == nil {
		s.m.end = stage.ErrEnd
	}
}

func (s *machine) Leave(t *rapid.T) {
	if s.m.consumers == 0 || s.m.consumers == 1 && s.take != nil || seldom(t) {
		t.Skip("not now")
	}
	s.q.Leave(errLeft)
	if s.m.consumers--; s.m.consumers == 0 && !errors.Is(s.m.end, errAbort) {
		s.m.stop(queue.ErrLeft)
	}
}

func (s *machine) Abort(t *rapid.T) {
	if errors.Is(s.m.end, errAbort) || seldom(t) {
		t.Skip("not now")
	}
	if s.q.Abort(errAbort); s.m.end != queue.ErrLeft {
		s.m.stop(errAbort)
	}
}

// Check lets everybody get as far as possible, does the same in the model, and compares.
func (s *machine) Check(t *rapid.T) {
	synctest.Wait()
	for moved := int64(-1); moved != s.m.moved(); {
		moved = s.m.moved()
		if p := s.put; p != nil {
			n, err := s.m.put(p.values[p.accepted:])
			p.accepted += n
			if p.accepted == len(p.values) || err != nil {
				s.finishPut(t, err)
			}
		}
		if c := s.take; c != nil {
			if ids, err := s.m.take(c.limit); len(ids) > 0 || err != nil {
				s.finishTake(t, ids, err)
			}
		}
	}
	s.compare(t)
}

func (s *machine) finishPut(t *rapid.T, err error) {
	p := s.put
	s.put = nil
	if !p.over || p.n != p.accepted || !sameError(p.err, err) {
		t.Fatalf("Put(%v) = %d, %v (over: %v), want %d, %v", p.values, p.n, p.err, p.over, p.accepted, err)
	}
	if s.m.cfg.Tagged {
		s.release(p.tags[p.n:])
	}
}

func (s *machine) finishTake(t *rapid.T, ids []int, err error) {
	c := s.take
	s.take = nil
	if !c.over || !slices.Equal(c.ids, ids) || !sameError(c.err, err) {
		t.Fatalf("Take(%d) = %v, %v (over: %v), want %v, %v", c.limit, c.ids, c.err, c.over, ids, err)
	}
	if len(ids) > 0 {
		if c.w.Ticket != s.tickets {
			t.Fatalf("Ticket = %d, want %d", c.w.Ticket, s.tickets)
		}
		s.tickets++
	}
}

// release settles tags that are still the caller's, as skipped, which no model expects of the queue.
func (s *machine) release(tags []*queue.Tag) {
	for _, tag := range tags {
		tag.Release(stage.Outcome{Kind: stage.Failed, Err: queue.ErrGaveUp})
	}
}

func (s *machine) compare(t *rapid.T) {
	m, st := s.m, s.q.Stats()
	got := fmt.Sprint(st.Depth, st.MaxDepth, st.In, st.Out, st.Dropped, st.Refused, st.Oversize, st.Sojourn.Count())
	want := fmt.Sprint(len(m.items)+m.held, m.maxDepth, m.in, m.out, m.dropped, m.refused, m.oversize, m.out)
	if got != want {
		t.Fatalf("depth, max, in, out, dropped, refused, oversize, sojourns = %s, want %s", got, want)
	}
	if st.Blocked != s.blocked || st.Starved != s.starved {
		t.Fatalf("Blocked, Starved = %v, %v, want %v, %v", st.Blocked, st.Starved, s.blocked, s.starved)
	}
	if m.held == 0 && m.cfg.MaxWeight > 0 && st.Weight != m.weight {
		t.Fatalf("Weight = %d, want %d", st.Weight, m.weight)
	}
	if st.Depth > m.cfg.Capacity || m.cfg.MaxWeight > 0 && st.Weight > m.cfg.MaxWeight && st.Depth > 1 {
		t.Fatalf("depth %d, weight %d: more than capacity %d and weight %d allow", st.Depth, st.Weight, m.cfg.Capacity, m.cfg.MaxWeight)
	}
	if sum(st.Dropped)+st.Out+int64(st.Depth) != st.In {
		t.Fatalf("In = %d, want Out %d + Dropped %v + Depth %d", st.In, st.Out, st.Dropped, st.Depth)
	}
	if !slices.Equal(s.drops, m.drops) {
		t.Fatalf("hook was called with %v, want %v", s.drops, m.drops)
	}
}

// finish stops everything and looks at all tags.
func (s *machine) finish(t *rapid.T) {
	s.q.Abort(errAbort)
	if s.m.end != queue.ErrLeft && !errors.Is(s.m.end, errAbort) {
		s.m.stop(errAbort)
	}
	s.Check(t)
	if !s.m.cfg.Tagged {
		return
	}
	for id := range s.nextID {
		if got := s.settled.outcomes[id]; len(got) != 1 {
			t.Fatalf("tag of item %d was settled %d times, want once: %v", id, len(got), got)
		}
		got, want := s.settled.outcomes[id][0], stage.Failed
		if kind, ok := s.m.outcomes[id]; ok {
			want = kind
		}
		if _, accepted := s.m.outcomes[id]; got.Kind != want || accepted && errors.Is(got.Err, queue.ErrGaveUp) {
			t.Fatalf("tag of item %d was settled with %v, want kind %v", id, got, want)
		}
	}
}

func TestQueueDoesWhatTheModelDoes(t *testing.T) {
	for _, policy := range []queue.Policy{queue.Block, queue.DropNewest, queue.DropOldest, queue.Reject} {
		for name, weights := range map[string]bool{" by count": false, " by weight": true} {
			t.Run(policy.String()+name, func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					rapid.SyncTest(t, func(t *rapid.T) {
						s := newMachine(t, policy, weights)
						defer s.q.Abort(errAbort) // nobody may be left waiting, also when the test has failed
						t.Repeat(rapid.StateMachineActions(s))
						s.finish(t)
					})
				})
			})
		}
	}
}
