package broker_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/stage"
)

func TestATokenNamesOneDeliveryOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table broker.Flying
		live, dead := map[uint64]string{}, map[uint64]bool{}
		n := 0
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				n++
				id := strconv.Itoa(n)
				token := table.Put(broker.Delivery{ID: id})
				if _, ok := live[token]; ok || dead[token] {
					t.Fatalf("token %d is given a second time", token)
				}
				live[token] = id
			},
			"take": func(t *rapid.T) {
				for token, id := range live {
					if d, ok := table.Take(token); !ok || d.ID != id {
						t.Fatalf("got %q, %t, want %q", d.ID, ok, id)
					}
					delete(live, token)
					dead[token] = true
					return
				}
			},
			"take again": func(t *rapid.T) {
				for token := range dead {
					if _, ok := table.Take(token); ok {
						t.Fatalf("token %d ends twice", token)
					}
				}
			},
			"": func(t *rapid.T) {
				if table.Size() != len(live) {
					t.Fatalf("size %d, want %d", table.Size(), len(live))
				}
			},
		})
	})
}

func TestBackoffDoublesUpToItsMaximum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "first"))
		most := first + time.Duration(rapid.Int64Range(0, int64(1e6*time.Hour)).Draw(t, "more"))
		attempt := rapid.IntRange(-3, 1<<40).Draw(t, "attempt")
		want := first
		for i := 1; i < attempt && want < most; i++ {
			want *= 2
		}
		want = min(want, most)
		if got := broker.Backoff(first, most)(attempt); got < want/2 || got > want {
			t.Fatalf("Backoff(%v, %v)(%d) = %v, want %v to %v", first, most, attempt, got, want/2, want)
		}
	})
}

func TestSiblingsAreNumberedTheSameAgain(t *testing.T) {
	id := broker.Siblings("edge")
	next := func(origin string, attempt int, want string) {
		t.Helper()
		got, err := id(stage.Meta{ID: origin, Attempt: attempt})
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%s, attempt %d: got %q, %v, want %q", origin, attempt, got, err, want)
		}
	}
	next("s:1", 1, "s:1/edge/1")
	next("s:1", 1, "s:1/edge/2")
	next("s:2", 1, "s:2/edge/1")
	next("s:1", 2, "s:1/edge/1") // it came again
	next("s:1", 2, "s:1/edge/2")
	next("s:2", 1, "") // behind others
	next("", 1, "")
	for i := range 200_000 { // bounded, and the oldest is forgotten
		next(fmt.Sprint("n", i), 1, fmt.Sprint("n", i, "/edge/1"))
	}
	next("s:2", 1, "s:2/edge/1")
}
