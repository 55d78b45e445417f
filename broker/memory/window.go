package memory

import "time"

// window remembers the identities of messages stored lately: those within keep, and no more than limit.
type window struct {
	keep  time.Duration
	limit int

	ids   map[string]struct{}
	order []remembered // oldest first, from head on
	head  int
}

type remembered struct {
	id string
	at time.Time
}

func newWindow(keep time.Duration, limit int) window {
	return window{keep: keep, limit: limit, ids: make(map[string]struct{})}
}

// has reports whether id was added within the window.
func (w *window) has(id string, now time.Time) bool {
	for w.head < len(w.order) && now.Sub(w.order[w.head].at) >= w.keep {
		w.forgetOldest()
	}
	_, ok := w.ids[id]
	return ok
}

// add remembers id, which it does not know.
func (w *window) add(id string, now time.Time) {
	if len(w.ids) == w.limit {
		w.forgetOldest()
	}
	w.ids[id] = struct{}{}
	w.order = append(w.order, remembered{id, now})
}

func (w *window) forgetOldest() {
	delete(w.ids, w.order[w.head].id)
	w.order[w.head] = remembered{}
	if w.head++; w.head > len(w.order)/2 {
		left := copy(w.order, w.order[w.head:])
		clear(w.order[left:])
		w.order, w.head = w.order[:left], 0
	}
}
