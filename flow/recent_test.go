package flow

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// keys returns what is held, from the oldest to the latest, walking the ring both ways.
func (r *recent[K]) keys(t *rapid.T) (keys []K) {
	for i := r.ring[0].newer; i != 0; i = r.ring[i].newer {
		keys = append(keys, r.ring[i].key)
	}
	n := len(keys)
	for i := r.ring[0].older; i != 0; i = r.ring[i].older {
		if n--; n < 0 || r.ring[i].key != keys[n] {
			t.Fatalf("the ring is %v one way and not the other", keys)
		}
	}
	if n != 0 || len(keys) != len(r.index) || len(keys) > r.most {
		t.Fatalf("%d keys, %d in the index, want as many, and at most %d", len(keys), len(r.index), r.most)
	}
	return keys
}

func TestRecentHoldsTheLatestKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 6).Draw(t, "most")
		r := newRecent[int](most)
		var want []int
		for _, k := range rapid.SliceOfN(rapid.IntRange(0, 9), 1, 200).Draw(t, "keys") {
			i := slices.Index(want, k)
			if got := r.seen(k); got != (i >= 0) {
				t.Fatalf("seen(%d) = %v with %v held", k, got, want)
			}
			if i >= 0 {
				want = slices.Delete(want, i, i+1)
			}
			if want = append(want, k); len(want) > most {
				want = want[1:]
			}
			if got := r.keys(t); !slices.Equal(got, want) {
				t.Fatalf("held are %v, want %v", got, want)
			}
		}
	})
}

func TestRecentHoldsKeysWithinTheirWindow(t *testing.T) {
	type held struct{ key, at int }
	rapid.Check(t, func(t *rapid.T) {
		most, window := rapid.IntRange(1, 6).Draw(t, "most"), rapid.IntRange(1, 20).Draw(t, "window")
		r := newRecent[int](most)
		var want []held
		now := 0
		for _, k := range rapid.SliceOfN(rapid.IntRange(0, 9), 1, 200).Draw(t, "keys") {
			now += rapid.IntRange(0, 4).Draw(t, "pause")
			i := slices.IndexFunc(want, func(h held) bool { return h.key == k })
			repeat := i >= 0 && now-want[i].at < window
			if got := r.within(k, int64(now), int64(window)); got != repeat {
				t.Fatalf("within(%d) at %d = %v with %v held", k, now, got, want)
			}
			if repeat {
				continue
			}
			if i >= 0 {
				want = slices.Delete(want, i, i+1)
			}
			if want = append(want, held{k, now}); len(want) > most {
				want = want[1:]
			}
			r.keys(t)
		}
	})
}

func TestRecentDoesNotHoldWhatItCouldNotFind(t *testing.T) {
	r := newRecent[float64](3)
	for range 1000 {
		if r.seen(math.NaN()) || r.within(math.NaN(), 0, 1) {
			t.Fatal("a NaN was found")
		}
	}
	if len(r.index) != 0 || len(r.ring) != 1 {
		t.Fatalf("%d keys are held, want none", len(r.index))
	}
}
