package queue

// end is one of the two of a ring.
type end bool

const (
	head end = false // the oldest first
	tail end = true  // the newest first
)

// ring takes in at its tail and is served at either end. It grows by doubling up to a bound that its user keeps. Slots are cleared as
// they empty, so that values can be collected.
type ring[T any] struct {
	buf  []T
	head int
	n    int
}

// grow makes room for n more, with the buffer never longer than bound.
func (r *ring[T]) grow(n, bound int) {
	if r.n+n <= len(r.buf) {
		return
	}
	size := max(len(r.buf), 16)
	for size < r.n+n {
		size *= 2
	}
	buf := make([]T, min(size, bound))
	r.peek(head, buf[:r.n])
	r.buf, r.head = buf, 0
}

// slot returns the index of the slot k behind the one at e.
func (r *ring[T]) slot(e end, k int) int {
	if e == tail {
		k = r.n - 1 - k
	}
	return r.at(k)
}

// at returns the index of the slot k behind the head.
func (r *ring[T]) at(k int) int {
	i := r.head + k
	if i >= len(r.buf) {
		i -= len(r.buf)
	}
	return i
}

// push appends vs; there is room.
func (r *ring[T]) push(vs []T) {
	i := r.at(r.n)
	k := copy(r.buf[i:], vs)
	copy(r.buf, vs[k:])
	r.n += len(vs)
}

// add appends v; there is room.
func (r *ring[T]) add(v T) {
	r.buf[r.at(r.n)] = v
	r.n++
}

// peek copies the first len(dst) values at e out.
func (r *ring[T]) peek(e end, dst []T) {
	if e == tail {
		for k := range dst {
			dst[k] = r.buf[r.slot(tail, k)]
		}
		return
	}
	k := copy(dst, r.buf[r.head:])
	copy(dst[k:], r.buf)
}

// drop forgets the first k values at e.
func (r *ring[T]) drop(e end, k int) {
	if k == 0 {
		return
	}
	from := r.head
	if e == tail {
		from = r.at(r.n - k)
	} else {
		r.head = r.at(k)
	}
	if end := from + k; end <= len(r.buf) {
		clear(r.buf[from:end])
	} else {
		clear(r.buf[from:])
		clear(r.buf[:end-len(r.buf)])
	}
	r.n -= k
}

// rotate puts v at the end of a full ring in place of the first value, which it returns.
func (r *ring[T]) rotate(v T) (first T) {
	first, r.buf[r.head] = r.buf[r.head], v
	r.head = r.at(1)
	return first
}

// mark says that n items in a row were accepted at one moment.
type mark struct {
	at int64
	n  int
}

// marks remembers when the items of a queue were accepted, run-length encoded.
type marks struct{ ring[mark] }

// push records n items accepted at the moment at. bound is the queue's capacity.
func (m *marks) push(at int64, n, bound int) {
	if m.n > 0 {
		if last := m.last(); last.at >= at {
			last.n += n
			return
		}
	}
	m.grow(1, bound)
	m.ring.push([]mark{{at, n}})
}

// last returns the newest mark; there is one.
func (m *marks) last() *mark { return &m.buf[m.at(m.n-1)] }

// extend counts n more items under the last mark.
func (m *marks) extend(n int) { m.last().n += n }

// take forgets the first items at e, at most limit and only those of one mark, and returns when they were accepted and how many
// they are.
func (m *marks) take(e end, limit int) (at int64, n int) {
	first := &m.buf[m.slot(e, 0)]
	at, n = first.at, min(limit, first.n)
	if first.n -= n; first.n == 0 {
		m.drop(e, 1)
	}
	return at, n
}

// oldest returns when the item at the head was accepted, and how many came with it.
func (m *marks) oldest() mark { return m.buf[m.head] }
