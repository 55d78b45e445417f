package queue_test

import (
	"errors"
	"time"

	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

var (
	errLeft  = errors.New("consumer has enough")
	errAbort = errors.New("run was stopped")
)

// thing is the value that the tests put: its number, which is also the token of its tag, and its weight.
type thing struct {
	id     int
	weight int64
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
}

func (m *model) fits(v thing) bool {
	return len(m.items) < m.cfg.Capacity &&
		(m.cfg.MaxWeight == 0 || len(m.items) == 0 || m.weight+v.weight <= m.cfg.MaxWeight)
}

func (m *model) accept(v thing) {
	m.items = append(m.items, waiting{v, time.Now()})
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

func (m *model) shed(why queue.Reason) {
	m.drop(m.items[0].thing, why)
	m.remove(1)
}

func (m *model) remove(n int) {
	for _, i := range m.items[:n] {
		m.weight -= i.weight
	}
	m.items = m.items[n:]
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
		case policy == queue.DropNewest:
			m.in++
			m.drop(v, queue.DropFull)
		default:
			for !m.fits(v) {
				m.shed(queue.DropFull)
			}
			m.accept(v)
		}
	}
	return len(values), nil
}

// take returns what a Take of at most limit gets; nothing without an error means that it waits.
func (m *model) take(limit int) (got []int, err error) {
	for m.cfg.MaxWait > 0 && len(m.items) > 0 && time.Since(m.items[0].at) > m.cfg.MaxWait {
		m.shed(queue.DropExpired)
	}
	n := min(limit, len(m.items))
	if m.cfg.Fair && m.consumers > 1 {
		n = min(n, (len(m.items)+m.consumers-1)/m.consumers)
	}
	if n == 0 {
		return nil, m.end
	}
	for _, i := range m.items[:n] {
		got = append(got, i.id)
		m.outcomes[i.id] = stage.Done
	}
	m.remove(n)
	m.out += int64(n)
	return got, nil
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
