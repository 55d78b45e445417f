package stage

import (
	"context"
	"time"
)

// Meta is what is known of an item beside its value. Plain streams have none. It is a value: whoever gets one has a copy.
type Meta struct {
	ID          string      // stable identity: idempotency key or message id; "" is none
	Key         string      // tenant, customer or flow; also the key of order
	Criticality Criticality // how late this item is refused when there is too much; Critical by default
	Deadline    time.Time   // when the answer is worth nothing any more; the zero time is never
	Attempt     int         // 1 for the first delivery; 0 is not known
	Trace       string      // the trace it belongs to: a W3C traceparent, handed on as it is
}

// Criticality orders items by how long they are kept when there is too much work. The zero value is Critical.
type Criticality int8

// The classes of [Criticality], first to be shed first.
const (
	Sheddable     Criticality = -2 // speculative work and prefetching
	SheddablePlus Criticality = -1 // work that can be done later
	Critical      Criticality = 0  // the default
	CriticalPlus  Criticality = 1  // a user is waiting
)

// String returns the name of the class.
func (c Criticality) String() string {
	switch {
	case c <= Sheddable:
		return "Sheddable"
	case c == SheddablePlus:
		return "SheddablePlus"
	case c == Critical:
		return "Critical"
	default:
		return "CriticalPlus"
	}
}

type metaKey struct{}

// metaContext is what context.WithValue would make, in one allocation instead of two: there is one for each item with metadata.
type metaContext struct {
	context.Context
	meta Meta
}

func (c *metaContext) Value(key any) any {
	if key == (metaKey{}) {
		return &c.meta
	}
	return c.Context.Value(key)
}

// WithMeta returns a context that carries m, for handlers in front of an Inlet.
func WithMeta(ctx context.Context, m Meta) context.Context {
	return &metaContext{Context: ctx, meta: m}
}

// MetaFrom returns the metadata of the item that a user function was called for, and whether it has any.
func MetaFrom(ctx context.Context) (Meta, bool) {
	m, ok := ctx.Value(metaKey{}).(*Meta)
	if !ok {
		return Meta{}, false
	}
	return *m, true
}

// MergePair returns the metadata of a pair made of items with a and b: the strictest class, the earliest deadline, the key,
// identity and trace they agree on, the highest attempt.
func MergePair(a, b Meta) Meta {
	m := a
	m.merge(&b)
	switch {
	case a.Deadline.IsZero():
		m.Deadline = b.Deadline
	case b.Deadline.IsZero() || a.Deadline.Before(b.Deadline):
		m.Deadline = a.Deadline
	default:
		m.Deadline = b.Deadline
	}
	return m
}

// MergeGroup returns the metadata of a group whose members have a and b: as [MergePair], but with the latest deadline, and
// none if one has none, so that one impatient member does not cancel all others.
func MergeGroup(a, b Meta) Meta {
	a.join(&b)
	return a
}

// join makes m the metadata of its group and one more member. It works in place, because a Batch does it for each item.
func (m *Meta) join(b *Meta) {
	m.merge(b)
	switch {
	case m.Deadline.IsZero():
	case b.Deadline.IsZero():
		m.Deadline = time.Time{}
	case b.Deadline.After(m.Deadline):
		m.Deadline = b.Deadline
	}
}

// merge does what pairs and groups have in common.
func (m *Meta) merge(b *Meta) {
	m.Criticality = max(m.Criticality, b.Criticality)
	m.Attempt = max(m.Attempt, b.Attempt)
	if m.Key != b.Key {
		m.Key = ""
	}
	if m.ID != b.ID {
		m.ID = ""
	}
	if m.Trace != b.Trace {
		m.Trace = ""
	}
}
