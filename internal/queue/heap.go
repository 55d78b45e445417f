package queue

// heap is a priority queue of numbers that knows where each is, so that any of them can move or leave.
type heap struct {
	before func(a, b int32) bool
	of     []int32
	at     []int32 // of a number: its place in of, from 1; 0 where it is not there
}

func newHeap(before func(a, b int32) bool) *heap { return &heap{before: before} }

// first returns the number that is before all others. There is one.
func (h *heap) first() int32 { return h.of[0] }

// fix puts i where it belongs, also where it was not there.
func (h *heap) fix(i int32) {
	for int(i) >= len(h.at) {
		h.at = append(h.at, make([]int32, max(len(h.at), 16))...)
	}
	if h.at[i] == 0 {
		h.of = append(h.of, i)
		h.at[i] = int32(len(h.of))
	}
	if k := int(h.at[i]) - 1; !h.up(k) {
		h.down(k)
	}
}

// remove takes i out, if it is there.
func (h *heap) remove(i int32) {
	if int(i) >= len(h.at) || h.at[i] == 0 {
		return
	}
	k, last := int(h.at[i])-1, len(h.of)-1
	h.swap(k, last)
	h.of = h.of[:last]
	h.at[i] = 0
	if k < last && !h.up(k) {
		h.down(k)
	}
}

func (h *heap) up(k int) (moved bool) {
	for k > 0 {
		parent := (k - 1) / 2
		if !h.before(h.of[k], h.of[parent]) {
			break
		}
		h.swap(k, parent)
		k, moved = parent, true
	}
	return moved
}

func (h *heap) down(k int) {
	for {
		child := 2*k + 1
		if child >= len(h.of) {
			return
		}
		if right := child + 1; right < len(h.of) && h.before(h.of[right], h.of[child]) {
			child = right
		}
		if !h.before(h.of[child], h.of[k]) {
			return
		}
		h.swap(k, child)
		k = child
	}
}

func (h *heap) swap(a, b int) {
	h.of[a], h.of[b] = h.of[b], h.of[a]
	h.at[h.of[a]], h.at[h.of[b]] = int32(a+1), int32(b+1)
}
