package queue

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func anEnd(t *rapid.T) end { return end(rapid.Bool().Draw(t, "tail")) }

// part cuts off the first n of vs at e, the outermost first.
func part[T any](e end, vs []T, n int) (first, rest []T) {
	if e == head {
		return vs[:n], vs[n:]
	}
	first = slices.Clone(vs[len(vs)-n:])
	slices.Reverse(first)
	return first, vs[:len(vs)-n]
}

// A ring is a slice that forgets: whatever is done to it, it holds what a slice would hold, and nothing in its empty slots.
func TestRingHoldsWhatASliceHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.IntRange(1, 70).Draw(t, "bound")
		var r ring[*int]
		var want []*int
		fresh := func(n int) (vs []*int) {
			for range n {
				vs = append(vs, new(int))
			}
			return vs
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				vs := fresh(rapid.IntRange(0, bound-len(want)).Draw(t, "n"))
				r.grow(len(vs), bound)
				r.push(vs)
				want = append(want, vs...)
			},
			"peek and drop": func(t *rapid.T) {
				e := anEnd(t)
				dst := make([]*int, rapid.IntRange(0, len(want)).Draw(t, "n"))
				r.peek(e, dst)
				r.drop(e, len(dst))
				var first []*int
				if first, want = part(e, want, len(dst)); !slices.Equal(dst, first) {
					t.Fatalf("peek(%v) = %v, want %v", e, dst, first)
				}
			},
			"rotate": func(t *rapid.T) {
				if len(want) == 0 || len(want) < len(r.buf) {
					t.Skip("not full")
				}
				v := new(int)
				if got := r.rotate(v); got != want[0] {
					t.Fatalf("rotate() = %p, want %p", got, want[0])
				}
				want = append(want[1:], v)
			},
			"": func(t *rapid.T) {
				got := make([]*int, r.n)
				r.peek(head, got)
				if !slices.Equal(got, want) {
					t.Fatalf("ring holds %v, want %v", got, want)
				}
				if len(r.buf) > bound {
					t.Fatalf("buffer has %d slots, want at most %d", len(r.buf), bound)
				}
				for i := r.n; i < len(r.buf); i++ {
					if r.buf[r.at(i)] != nil {
						t.Fatalf("empty slot %d still holds a value", i)
					}
				}
			},
		})
	})
}

// Marks say of each item when it was accepted, in no more entries than there are items.
func TestMarksKnowWhenEachItemCame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const bound = 40
		var m marks
		var want []int64
		now := int64(0)
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				if len(want) == bound {
					t.Skip("full")
				}
				n := rapid.IntRange(1, bound-len(want)).Draw(t, "n")
				now += rapid.Int64Range(0, 2).Draw(t, "later")
				m.push(now, n, bound)
				want = append(want, slices.Repeat([]int64{now}, n)...)
			},
			"extend": func(t *rapid.T) {
				if len(want) == 0 || len(want) == bound {
					t.Skip("empty or full")
				}
				m.extend(1)
				want = append(want, want[len(want)-1])
			},
			"take": func(t *rapid.T) {
				if len(want) == 0 {
					t.Skip("empty")
				}
				e := anEnd(t)
				limit := rapid.IntRange(1, len(want)).Draw(t, "limit")
				at, n := m.take(e, limit)
				var first []int64
				if first, want = part(e, want, n); n < 1 || n > limit || !slices.Equal(first, slices.Repeat([]int64{at}, n)) {
					t.Fatalf("take(%v, %d) = %d, %d, want a part of %v", e, limit, at, n, first)
				}
			},
			"": func(t *rapid.T) {
				if len(want) == 0 && m.n > 0 || len(want) > 0 && (m.n == 0 || m.oldest().at != want[0] || m.last().at != want[len(want)-1]) {
					t.Fatalf("marks are %v, want %v", m, want)
				}
			},
		})
	})
}

// Items that evict others share clock readings, but only a few of them: with chunks as well as one by one.
func TestEvictingItemsShareFewReadings(t *testing.T) {
	for _, chunk := range []int{1, 3, 100} {
		synctest.Test(t, func(t *testing.T) {
			q := New(Config[int]{Capacity: 640, OnFull: DropOldest})
			w, vs := NewWaiter(), make([]int, chunk)
			for range 5 * 640 / chunk {
				time.Sleep(time.Nanosecond)
				if _, err := q.Put(w, vs, nil, nil); err != nil {
					t.Fatalf("Put() = %v, want nil", err)
				}
			}
			for i := range q.marks.n {
				// 10 of 640 may follow the items of a reading.
				if got := q.marks.buf[q.marks.at(i)].n; got > chunk+10 {
					t.Errorf("chunks of %d: mark %d of %d stands for %d items, want at most %d", chunk, i, q.marks.n, got, chunk+10)
				}
			}
		})
	}
}
