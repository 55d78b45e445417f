package broker

// memo remembers values by key, at most so many; then it forgets the oldest key. It is not safe for concurrent use.
type memo[K comparable, V any] struct {
	most  int
	known map[K]V
	ring  []K // in the order they came
	next  int // to forget
}

// get returns what was last set for k.
func (m *memo[K, V]) get(k K) (V, bool) {
	v, ok := m.known[k]
	return v, ok
}

// set remembers v for k.
func (m *memo[K, V]) set(k K, v V) {
	if m.known == nil {
		m.known = make(map[K]V)
	}
	if _, ok := m.known[k]; !ok {
		m.enter(k)
	}
	m.known[k] = v
}

func (m *memo[K, V]) enter(k K) {
	if len(m.ring) < m.most {
		m.ring = append(m.ring, k)
		return
	}
	delete(m.known, m.ring[m.next])
	m.ring[m.next] = k
	m.next = (m.next + 1) % m.most
}
