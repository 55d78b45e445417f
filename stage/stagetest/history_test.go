package stagetest

import (
	"testing"

	"pgregory.net/rapid"
)

// sameKey is the key of every value.
func sameKey(int) string { return "" }

func TestHistories(t *testing.T) {
	for name, c := range map[string]struct {
		puts, takes []event
		key         func(int) string
		want        string
	}{
		"in order":      {[]event{{1, 1, 2}, {2, 3, 4}}, []event{{1, 5, 6}, {2, 7, 8}}, sameKey, ""},
		"at once":       {[]event{{1, 1, 4}, {2, 2, 3}}, []event{{2, 5, 6}, {1, 7, 8}}, sameKey, ""},
		"taken at once": {[]event{{1, 1, 2}, {2, 3, 4}}, []event{{2, 5, 8}, {1, 6, 7}}, sameKey, ""},
		"out of order": {
			[]event{{1, 1, 2}, {2, 3, 4}},
			[]event{{2, 5, 6}, {1, 7, 8}},
			sameKey, "item 1 was put before item 2, and taken behind it",
		},
		"of another class": {
			[]event{{1, 1, 2}, {2, 3, 4}},
			[]event{{2, 5, 6}, {1, 7, 8}},
			func(v int) string { return string(rune(v)) }, "",
		},
		"twice":     {[]event{{1, 1, 2}}, []event{{1, 3, 4}, {1, 5, 6}}, sameKey, "item 1 was taken twice"},
		"made up":   {[]event{{1, 1, 2}}, []event{{7, 3, 4}}, sameKey, "item 7 was taken, and nobody has put it"},
		"too early": {[]event{{1, 3, 4}}, []event{{1, 1, 2}}, sameKey, "item 1 was taken before it was put"},
		"not taken": {[]event{{1, 1, 2}, {2, 3, 4}}, []event{{2, 5, 6}}, sameKey, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := &history{puts: c.puts, takes: c.takes}
			if got := h.check(c.key); got != c.want {
				t.Fatalf("check() = %q, want %q", got, c.want)
			}
		})
	}
}

// The short rule says what a search for an order says.
func TestHistoriesAreJudgedAsBySearch(t *testing.T) {
	right, wrong := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		h := randomHistory(t)
		want := linearizes(h.puts, h.takes, nil)
		if got := h.check(sameKey); (got == "") != want {
			t.Fatalf("check() = %q for puts %v and takes %v, a search says %v", got, h.puts, h.takes, want)
		}
		if want {
			right++
		} else {
			wrong++
		}
	})
	if right == 0 || wrong == 0 {
		t.Fatalf("%d histories were right and %d wrong, want some of both", right, wrong)
	}
}

// randomHistory puts and takes up to four values, each once, at moments that are all different.
func randomHistory(t *rapid.T) *history {
	n := rapid.IntRange(1, 4).Draw(t, "values")
	moments := make([]int64, 4*n)
	for i := range moments {
		moments[i] = int64(i + 1)
	}
	moments = rapid.Permutation(moments).Draw(t, "moments")
	at := func(value int, m []int64) event { return event{value, min(m[0], m[1]), max(m[0], m[1])} }
	h := new(history)
	for v := range n {
		h.puts = append(h.puts, at(v, moments[4*v:]))
		h.takes = append(h.takes, at(v, moments[4*v+2:]))
	}
	return h
}
