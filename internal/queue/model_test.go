package queue_test

import (
	"errors"
	"slices"
	"time"

	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

var (
	errLeft  = errors.New("consumer has enough")
	errAbort = errors.New("run was stopped")
)

// thing is the value that the tests put: its number, which is also the token of its tag, its weight, which is its cost as well, and
// what else an order asks for.
type thing struct {
	id       int
	weight   int64
	lane     int
	deadline time.Time
}

// waiting is an item of the model.
type waiting struct {
	thing
	at time.Time
}

// model is what a queue does, one call after the other: a slice and a sum. It knows one producer and one consumer that wait.
type model struct {
	cfg       queue.Config[thing]
	items     []waiting
	weight    int64
	in, out   int64
	dropped   [queue.Reasons]int64
	refused   int64
	oversize  int64
	maxDepth  int
	held      int
	consumers int
	end       error
	drops     []lost
	outcomes  map[int]stage.OutcomeKind // how the tags must have been settled
	order     modelOrder
}

func (m *model) fits(v thing) bool {
	return len(m.items) < m.cfg.Capacity && m.order.admits(v) &&
		(m.cfg.MaxWeight == 0 || len(m.items) == 0 || m.weight+v.weight <= m.cfg.MaxWeight)
}

func (m *model) accept(v thing) {
	m.items = append(m.items, waiting{v, time.Now()})
	m.order.came(v)
	m.weight += v.weight
	m.in++
	m.maxDepth = max(m.maxDepth, len(m.items))
	if m.cfg.MaxWeight > 0 && v.weight > m.cfg.MaxWeight {
		m.oversize++
	}
}

func (m *model) drop(v thing, why queue.Reason) {
	m.dropped[why]++
	if m.cfg.Dropped != nil {
		m.drops = append(m.drops, lost{v.id, why})
		m.outcomes[v.id] = stage.Terminated
	}
}

// shed drops the k-th item.
func (m *model) shed(k int, why queue.Reason) {
	m.drop(m.items[k].thing, why)
	m.remove(k, false)
}

// has reports whether an item waits.
func (m *model) has(id int) bool {
	return slices.ContainsFunc(m.items, func(i waiting) bool { return i.id == id })
}

// remove takes the k-th item away.
func (m *model) remove(k int, served bool) {
	v := m.items[k].thing
	m.weight -= v.weight
	m.items = slices.Delete(m.items, k, k+1)
	m.order.went(v, served)
}

// put returns how many values are the queue's business now, and why it stopped: nil with values left means that it waits.
func (m *model) put(values []thing) (int, error) {
	for i, v := range values {
		heavy := m.cfg.MaxWeight > 0 && v.weight > m.cfg.MaxWeight
		switch policy := m.cfg.OnFull; {
		case m.end == stage.ErrEnd:
			return i, queue.ErrClosed
		case m.end != nil:
			return i, m.end
		case m.fits(v):
			m.accept(v)
		case policy == queue.Block:
			return i, nil
		case policy == queue.Reject:
			m.refused++
			return i, &queue.FullError{}
		case heavy:
			m.in++
			m.drop(v, queue.DropTooHeavy)
		default:
			m.squeeze(v)
		}
	}
	return len(values), nil
}

// squeeze lets one after the other pay for v, until it fits or pays itself.
func (m *model) squeeze(v thing) {
	for !m.fits(v) {
		k := m.order.victim(v)
		if k < 0 {
			m.in++
			m.drop(v, queue.DropFull)
			return
		}
		m.shed(k, queue.DropFull)
	}
	m.accept(v)
}

// take returns what a Take of at most limit gets; nothing without an error means that it waits.
func (m *model) take(limit int) (got []int, err error) {
	m.sift()
	n := min(limit, len(m.items))
	if m.cfg.Fair && m.consumers > 1 {
		n = min(n, (len(m.items)+m.consumers-1)/m.consumers)
	}
	if n == 0 {
		return nil, m.end
	}
	for len(got) < n {
		k := m.order.next()
		if _, drop := m.order.judge(k, false, len(got) == 0); drop {
			break
		}
		if len(got) == 0 {
			m.order.starts(m.items[k].thing)
		}
		id := m.items[k].id
		got = append(got, id)
		m.outcomes[id] = stage.Done
		m.remove(k, true)
	}
	m.out += int64(len(got))
	m.order.took(len(got))
	return got, nil
}

// sift drops what must not start.
func (m *model) sift() {
	for len(m.items) > 0 {
		oldest := m.items[0]
		if m.cfg.MaxWait > 0 && time.Since(oldest.at) > m.cfg.MaxWait {
			m.shed(0, queue.DropExpired)
			continue
		}
		if m.order.late(oldest.thing, true) {
			m.shed(0, queue.DropDeadline)
			continue
		}
		k := m.order.next()
		why, drop := m.order.judge(k, true, true)
		if !drop {
			return
		}
		m.shed(k, why)
	}
}

// moved grows with each item that goes in or out.
func (m *model) moved() int64 { return m.in + m.out + sum(m.dropped) }

func (m *model) stop(end error) {
	m.end = end
	m.held = len(m.items)
	for _, i := range m.items {
		m.outcomes[i.id] = stage.Failed
	}
	m.items = nil
}

func sum(counts [queue.Reasons]int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}

func isFull(err error) bool {
	_, ok := errors.AsType[*queue.FullError](err)
	return ok
}

func sameError(got, want error) bool {
	if isFull(want) {
		return isFull(got)
	}
	return errors.Is(got, want)
}
