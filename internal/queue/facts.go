package queue

import (
	"errors"
	"fmt"
	"math"
	"slices"

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

// ItemError is what a producer gets for an item that the queue can't take as it is: what a user's function says of it makes no sense,
// or the function has not returned. The queue goes on.
type ItemError struct{ err error }

// Error says what is wrong, and at which edge.
func (e *ItemError) Error() string { return e.err.Error() }

// Unwrap returns what was wrong.
func (e *ItemError) Unwrap() error { return e.err }

// WrongItem reports whether a producer got err because of its item.
func WrongItem(err error) bool {
	_, wrong := errors.AsType[*ItemError](err)
	return wrong
}

func (q *Queue[T]) wrong(format string, args ...any) error {
	return &ItemError{fmt.Errorf("flow: edge %q: "+format, append([]any{q.cfg.Name}, args...)...)}
}

// asks reports whether items have facts.
func (c *Config[T]) asks() bool {
	return c.MaxWeight > 0 || c.Deadline != nil || c.Order.Kind.slotted()
}

// bare reports whether there is nothing to ask about an item with the tag t.
func (q *Queue[T]) bare(t *Tag) bool { return t == nil && q.tagOnly }

// inspect asks for the facts of each value, before the lock is taken.
func (p *putting[T]) inspect() (err error) {
	q := p.q
	if p.w != nil {
		p.w.facts = slices.Grow(p.w.facts[:0], len(p.values))
		p.facts = p.w.facts[:len(p.values)]
	} else {
		p.facts = make([]facts, len(p.values))
	}
	returned := false
	defer q.unlessReturned(&returned, &err)
	var read clock.Moment
	for i, v := range p.values {
		if t := q.tagOf(p.tags, i); q.bare(t) {
			p.facts[i] = facts{deadline: never}
		} else if err = q.ask(&p.facts[i], v, t, &read); err != nil {
			break
		}
	}
	returned = true
	return err
}

// inspectOne returns the facts of one value.
func (q *Queue[T]) inspectOne(v T, t *Tag) (f facts, err error) {
	returned := false
	defer q.unlessReturned(&returned, &err)
	err = q.ask(&f, v, t, new(clock.Moment))
	returned = true
	return f, err
}

// unlessReturned is deferred by what calls the user's functions, and says so where one of them has not returned.
func (q *Queue[T]) unlessReturned(returned *bool, err *error) {
	if !*returned && q.cfg.Failed != nil {
		*err = q.wrong("%w", q.cfg.Failed(recover()))
	}
}

// ask asks the user's functions about a value.
func (q *Queue[T]) ask(f *facts, v T, t *Tag, read *clock.Moment) error {
	*f = facts{deadline: never}
	if q.cfg.MaxWeight > 0 {
		if f.weight = q.cfg.Weight(v); f.weight < 0 {
			return q.wrong("weight must be >= 0, got %d", f.weight)
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
		if share < 1 || share > MaxShare {
			return q.wrong("weight of a key must be 1 to %d, got %d", MaxShare, share)
		}
		f.lane, f.share = int32(lane), int32(share)
	case Largest:
		if f.cost = q.cfg.Cost(v); f.cost < 0 {
			return q.wrong("cost must be >= 0, got %d", f.cost)
		}
	case FIFO, Newest:
	}
	return nil
}
