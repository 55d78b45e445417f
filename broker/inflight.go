package broker

import "sync"

// inflight holds the deliveries that have not settled. A token is a place in it and how often that place was used, so that an old
// token never names a new delivery.
type inflight struct {
	mu     sync.Mutex
	places []place
	free   []uint32
	n      int
}

type place struct {
	delivery Delivery
	uses     uint32
	taken    bool
}

// put keeps a delivery and returns its token.
func (t *inflight) put(d Delivery) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	var i uint32
	if k := len(t.free); k > 0 {
		i, t.free = t.free[k-1], t.free[:k-1]
	} else {
		i = uint32(len(t.places))
		t.places = append(t.places, place{})
	}
	p := &t.places[i]
	p.delivery, p.taken = d, true
	t.n++
	return uint64(p.uses)<<32 | uint64(i)
}

// take ends a token. It reports false for one that has ended already.
func (t *inflight) take(token uint64) (Delivery, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := token & (1<<32 - 1)
	if i >= uint64(len(t.places)) {
		return Delivery{}, false
	}
	p := &t.places[i]
	if !p.taken || p.uses != uint32(token>>32) {
		return Delivery{}, false
	}
	d := p.delivery
	*p = place{uses: p.uses + 1}
	t.free = append(t.free, uint32(i))
	t.n--
	return d, true
}

// size is how many deliveries have not settled.
func (t *inflight) size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n
}
