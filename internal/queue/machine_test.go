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
	"github.com/weir-go/weir/internal/codel"
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

func newMachine(t *rapid.T, policy queue.Policy, weights bool, kind queue.Kind) *machine {
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
	orders(t, &cfg, kind)
	if cfg.Tagged || kind != queue.FIFO || rapid.Bool().Draw(t, "hook") {
		cfg.Dropped = func(v thing, tag *queue.Tag, why queue.Reason) {
			s.drops = append(s.drops, lost{v.id, why})
			tag.Release(stage.Outcome{Kind: stage.Terminated})
		}
	}
	consumers := rapid.IntRange(1, 3).Draw(t, "consumers")
	s.m = &model{cfg: cfg, consumers: consumers, outcomes: map[int]stage.OutcomeKind{}}
	s.m.order = newModelOrder(s.m, func(id int) bool { return len(s.m.drops) < len(s.drops) && s.drops[len(s.m.drops)].id == id })
	s.q = queue.New(cfg)
	s.q.AddProducer()
	for range consumers {
		s.q.AddConsumer()
	}
	return s
}

// orders sets what an order needs, and lets items be dropped on their way out.
func orders(t *rapid.T, cfg *queue.Config[thing], kind queue.Kind) {
	cfg.Order = queue.Order{Kind: kind, Lanes: modelLanes, Target: 3 * time.Millisecond, Interval: 5 * time.Millisecond, Age: 10 * time.Millisecond}
	cfg.Cost = func(v thing) int64 { return v.weight }
	cfg.Lane = func(v thing, _ *queue.Tag) (int, int) { return v.lane, v.lane + 1 }
	if kind == queue.ByRank {
		cfg.Order.Reserved, cfg.Order.From = rapid.IntRange(0, cfg.Capacity/2).Draw(t, "reserved"), 2
	}
	if rapid.Bool().Draw(t, "deadlines") {
		cfg.Deadline = func(v thing, _ *queue.Tag) time.Time { return v.deadline }
	}
	if kind != queue.Newest && kind != queue.ByRank {
		cfg.CoDel.Target = rapid.SampledFrom([]time.Duration{0, 3 * time.Millisecond}).Draw(t, "target")
		cfg.CoDel.Interval, cfg.CoDel.Law = 10*time.Millisecond, rapid.SampledFrom([]codel.Law{codel.Limit, codel.Root}).Draw(t, "law")
	}
}

// things makes n values, with tags if the queue has some.
func (s *machine) things(t *rapid.T, n int) (values []thing, tags []*queue.Tag) {
	for range n {
		v := thing{id: s.nextID, weight: rapid.SampledFrom([]int64{0, 1, 3, 9, 20, 21, 50}).Draw(t, "weight")}
		if s.m.cfg.Order.Kind != queue.FIFO {
			v.lane = rapid.IntRange(0, modelLanes-1).Draw(t, "lane")
		}
		if s.m.cfg.Deadline != nil {
			if d := rapid.SampledFrom([]int{0, 1, 8, 30, 500}).Draw(t, "deadline"); d > 0 {
				v.deadline = time.Now().Add(time.Duration(d) * time.Millisecond)
			}
		}
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
	// Who is first to drop, the producer or the consumer, and who once the hook has run, is open: keep the producer from waiting, and
	// from dropping what a consumer waits for.
	open := s.m.cfg.Dropped != nil && (s.m.cfg.OnFull == queue.Block || s.take != nil) &&
		(s.m.cfg.MaxWait > 0 || s.m.cfg.Deadline != nil || s.m.cfg.CoDel.Target > 0)
	if open {
		n = min(n, s.m.cfg.Capacity-len(s.m.items))
		if s.m.cfg.MaxWeight > 0 || s.m.cfg.Order.Kind != queue.FIFO {
			n = min(n, 1)
		}
	}
	values, tags := s.things(t, n)
	if n == 1 && open && !s.m.fits(values[0]) {
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
	synctest.Wait() // for the hook, where a consumer has waited
	var n int
	var want error
	lanes := s.m.cfg.Order.Kind == queue.Fair || s.m.cfg.Order.Kind == queue.ByRank
	if s.put != nil && s.m.end == nil && (!lanes || !s.m.fits(values[0])) { // the producer that waits has precedence
		want = &queue.FullError{}
	} else if n, want = s.m.put(values); n == 0 && want == nil {
		want = &queue.FullError{}
	} else if n == 1 && !s.m.has(values[0].id) {
		want = queue.ErrDropped
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
	s.m.order.comes()
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
		s.m.order.waits = -1
		if p := s.put; p != nil {
			n, err := s.m.put(p.values[p.accepted:])
			p.accepted += n
			if p.accepted == len(p.values) || err != nil {
				s.finishPut(t, err)
			} else {
				s.m.order.waits = p.values[p.accepted].lane
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
	s.put, s.m.order.waits = nil, -1
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
						newMachine(t, policy, weights, queue.FIFO).run(t)
					})
				})
			})
		}
	}
}

// run drives both at random.
func (s *machine) run(t *rapid.T) {
	defer s.q.Abort(errAbort) // nobody may be left waiting, also when the test has failed
	t.Repeat(rapid.StateMachineActions(s))
	s.finish(t)
}

func TestOrdersDoWhatTheModelDoes(t *testing.T) {
	all := []queue.Policy{queue.Block, queue.DropNewest, queue.DropOldest, queue.Reject}
	for name, order := range map[string]struct {
		kind     queue.Kind
		policies []queue.Policy
	}{
		"newest":  {queue.Newest, []queue.Policy{queue.DropOldest}},
		"fair":    {queue.Fair, all},
		"by rank": {queue.ByRank, all},
		"largest": {queue.Largest, []queue.Policy{queue.DropNewest, queue.DropOldest}},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				rapid.SyncTest(t, func(t *rapid.T) {
					policy := rapid.SampledFrom(order.policies).Draw(t, "policy")
					weights := policy != queue.Block && rapid.Bool().Draw(t, "weights")
					newMachine(t, policy, weights, order.kind).run(t)
				})
			})
		})
	}
}
