package queue

// ring is a FIFO that grows by doubling up to a bound that its user keeps. Slots are cleared as they empty, so that values can
// be collected.
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
	r.peek(buf[:r.n])
	r.buf, r.head = buf, 0
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

// peek copies the first len(dst) values out.
func (r *ring[T]) peek(dst []T) {
	k := copy(dst, r.buf[r.head:])
	copy(dst[k:], r.buf)
}

// drop forgets the first k values.
func (r *ring[T]) drop(k int) {
	if k == 0 {
		return
	}
	if end := r.head + k; end <= len(r.buf) {
		clear(r.buf[r.head:end])
	} else {
		clear(r.buf[r.head:])
		clear(r.buf[:end-len(r.buf)])
	}
	r.head = r.at(k)
	r.n -= k
}

// pop moves the first len(dst) values to dst.
func (r *ring[T]) pop(dst []T) {
	r.peek(dst)
	r.drop(len(dst))
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

// take forgets the oldest items, at most limit and only those of one mark, and returns when they were accepted and how many
// they are.
func (m *marks) take(limit int) (at int64, n int) {
	first := &m.buf[m.head]
	at, n = first.at, min(limit, first.n)
	if first.n -= n; first.n == 0 {
		m.drop(1)
	}
	return at, n
}

// forget forgets the oldest n items.
func (m *marks) forget(n int) {
	for n > 0 {
		_, k := m.take(n)
		n -= k
	}
}

// oldest returns when the item at the head was accepted, and how many came with it.
func (m *marks) oldest() mark { return m.buf[m.head] }
