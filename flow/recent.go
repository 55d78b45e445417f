package flow

// recent is a memory of keys, each with a time. It holds a bounded number of them, in an order from the oldest to the latest, and
// forgets the oldest. It allocates while it grows, and not once it is full.
type recent[K comparable] struct {
	most  int
	index map[K]int32
	// A ring of entries, linked by index so that the collector has no pointers to follow but those in keys. The first is
	// no key: behind it comes the oldest, before it the latest.
	ring []remembered[K]
}

type remembered[K comparable] struct {
	key          K
	at           int64
	older, newer int32
}

func newRecent[K comparable](most int) *recent[K] {
	return &recent[K]{most: most, index: make(map[K]int32), ring: make([]remembered[K], 1)}
}

// seen reports whether k is held, and makes it the latest.
func (r *recent[K]) seen(k K) bool {
	i, held := r.index[k]
	if held {
		r.unlink(i)
		r.link(i)
		return true
	}
	r.add(k, 0)
	return false
}

// within reports whether k is held since less than window before now. If not, it is held from now on, as the latest.
func (r *recent[K]) within(k K, now, window int64) bool {
	i, held := r.index[k]
	switch {
	case !held:
		r.add(k, now)
	case now-r.ring[i].at < window:
		return true
	default:
		r.unlink(i)
		r.link(i)
		r.ring[i].at = now
	}
	return false
}

// add holds a key that is not held, in place of the oldest if there is no room.
func (r *recent[K]) add(k K, at int64) {
	if same := k; same != k {
		return // a NaN could be neither found again nor forgotten
	}
	i := int32(len(r.ring))
	if len(r.ring) <= r.most {
		r.ring = append(r.ring, remembered[K]{})
	} else {
		i = r.ring[0].newer
		r.unlink(i)
		delete(r.index, r.ring[i].key)
	}
	r.ring[i].key, r.ring[i].at = k, at
	r.index[k] = i
	r.link(i)
}

// link puts an entry at the end of the latest.
func (r *recent[K]) link(i int32) {
	last := r.ring[0].older
	r.ring[i].older, r.ring[i].newer = last, 0
	r.ring[last].newer, r.ring[0].older = i, i
}

// unlink takes an entry out.
func (r *recent[K]) unlink(i int32) {
	e := &r.ring[i]
	r.ring[e.older].newer, r.ring[e.newer].older = e.newer, e.older
}
