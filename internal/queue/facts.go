package queue

import (
	"errors"
	"fmt"
	"math"

	"github.com/weir-go/weir/internal/clock"
)

// facts are what a queue knows of an item beside its value: what the user's functions say, asked before the lock is taken.
type facts struct {
	weight   int64
	deadline int64 // by package clock; never where there is none
	cost     int64
	lane     int32
	share    int32 // the weight of the lane's key
}

// MaxShare is the largest weight of a key.
const MaxShare = 1_000_000

// never is the deadline of an item without one.
const never = math.MaxInt64

var (
	// ErrWeight is in what a producer gets for a negative weight. The queue goes on.
	ErrWeight = errors.New("weight must be >= 0")
	// ErrCost is in what a producer gets for a negative cost. The queue goes on.
	ErrCost = errors.New("cost must be >= 0")
	// ErrShare is in what a producer gets for an item whose key has no proper weight. The queue goes on.
	ErrShare = fmt.Errorf("weight of a key must be 1 to %d", MaxShare)
	// ErrKey is in what a producer gets whose item has no lane, because the function that says so did not return. The queue goes on.
	ErrKey = errors.New("the key or class of an item is not known")
)

// WrongItem reports whether a producer got err because of its item, which the queue can't take as it is.
func WrongItem(err error) bool {
	return errors.Is(err, ErrWeight) || errors.Is(err, ErrCost) || errors.Is(err, ErrShare) || errors.Is(err, ErrKey)
}

// asks reports whether items have facts.
func (c *Config[T]) asks() bool {
	return c.MaxWeight > 0 || c.Deadline != nil || c.Order.Kind.slotted()
}

// bare reports whether there is nothing to ask about an item with the tag t.
func (q *Queue[T]) bare(t *Tag) bool { return t == nil && q.tagOnly }

// inspect asks for the facts of each value, before the lock is taken.
func (p *putting[T]) inspect() error {
	if p.w != nil {
		p.facts = p.w.facts[:0]
	}
	var read clock.Moment
	for i, v := range p.values {
		t := p.q.tagOf(p.tags, i)
		if p.q.bare(t) {
			p.facts = append(p.facts, facts{deadline: never})
			continue
		}
		f, err := p.q.factsOf(v, t, &read)
		if err != nil {
			return err
		}
		p.facts = append(p.facts, f)
	}
	if p.w != nil {
		p.w.facts = p.facts
	}
	return nil
}

// factsOf asks the user's functions.
func (q *Queue[T]) factsOf(v T, t *Tag, read *clock.Moment) (f facts, err error) {
	f.deadline = never
	if q.cfg.MaxWeight > 0 {
		if f.weight = q.cfg.Weight(v); f.weight < 0 {
			return f, fmt.Errorf("flow: edge %q: %w, got %d", q.cfg.Name, ErrWeight, f.weight)
		}
	}
	if q.cfg.Deadline != nil {
		if at := q.cfg.Deadline(v, t); !at.IsZero() {
			f.deadline = read.At(at)
		}
	}
	switch q.cfg.Order.Kind {
	case Fair, ByRank:
		lane, share := q.cfg.Lane(v, t)
		if lane < 0 {
			return f, fmt.Errorf("flow: edge %q: %w", q.cfg.Name, ErrKey)
		}
		if share < 1 || share > MaxShare {
			return f, fmt.Errorf("flow: edge %q: %w, got %d", q.cfg.Name, ErrShare, share)
		}
		f.lane, f.share = int32(lane), int32(share)
	case Largest:
		if f.cost = q.cfg.Cost(v); f.cost < 0 {
			return f, fmt.Errorf("flow: edge %q: %w, got %d", q.cfg.Name, ErrCost, f.cost)
		}
	case FIFO, Newest:
	}
	return f, nil
}
