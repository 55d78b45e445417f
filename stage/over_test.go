package stage_test

import (
	"context"
	"strings"
	"testing"

	"github.com/weir-go/weir/stage"
)

// once counts how often each token has settled.
type once map[uint64]int

func (o once) Settle(token uint64, _ stage.Outcome) { o[token]++ }

// A stage that uses an item which is over gets an error: the tag may be that of another message by then.
func TestAnItemThatIsOverIsRefused(t *testing.T) {
	type in = stage.In[int]
	type item = stage.Item[int]
	next := func(t *testing.T, i *in) item {
		t.Helper()
		it, err := i.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return it
	}
	tests := map[string]func(t *testing.T, i *in) item{
		"not kept":           func(t *testing.T, i *in) item { it := next(t, i); next(t, i); return it.With(9) },
		"kept and ended":     func(t *testing.T, i *in) item { it := i.Keep(next(t, i)); it.Done(); next(t, i); return it },
		"combined, not kept": func(t *testing.T, i *in) item { return stage.Combine(9, next(t, i)) },
		"combined twice": func(t *testing.T, i *in) item {
			it := i.Keep(next(t, i))
			if err := stage.NewOut(drop).Emit(t.Context(), stage.Combine(9, it)); err != nil {
				t.Errorf("Emit() = %v, want no error", err)
			}
			return stage.Combine(9, it)
		},
		"emitted twice": func(t *testing.T, i *in) item {
			it := stage.Combine(9, i.Keep(next(t, i)))
			if err := stage.NewOut(drop).Emit(t.Context(), it); err != nil {
				t.Errorf("Emit() = %v, want no error", err)
			}
			return it
		},
		"one of two not kept": func(t *testing.T, i *in) item { a := i.Keep(next(t, i)); return stage.Combine(9, a, next(t, i)) },
	}
	for name, use := range tests {
		t.Run(name, func(t *testing.T) {
			settled := once{}
			token := uint64(0)
			i := stage.NewIn(func(context.Context) (item, error) {
				token++
				return stage.Claimed(int(token), stage.Meta{}, settled, token), nil
			})
			err := stage.NewOut(drop).Emit(t.Context(), use(t, i))
			if err == nil || !strings.Contains(err.Error(), "the item is over") {
				t.Errorf("Emit() = %v, want that the item is over", err)
			}
			i.Finish(stage.Outcome{})
			for k := range token {
				if settled[k+1] != 1 {
					t.Errorf("item %d settled %d times, want once", k+1, settled[k+1])
				}
			}
		})
	}
}

// drop releases what is emitted.
func drop(_ context.Context, it stage.Item[int]) error {
	stage.TagOf(it).Release(stage.Outcome{})
	return nil
}

func TestWhatIsOverIsNotKept(t *testing.T) {
	settled := once{}
	token := uint64(0)
	i := stage.NewIn(func(context.Context) (stage.Item[int], error) {
		token++
		return stage.Claimed(int(token), stage.Meta{}, settled, token), nil
	})
	first, _ := i.Next(t.Context())
	i.Keep(i.Keep(first)).Done() // twice is two holds
	_, _ = i.Next(t.Context())
	defer func() {
		if p, _ := recover().(string); !strings.Contains(p, "the item is over") {
			t.Errorf("Keep panics with %q, want that the item is over", p)
		}
	}()
	i.Keep(stage.Item[int]{}) // a plain value is never over
	second, _ := i.Next(t.Context())
	_, _ = i.Next(t.Context())
	i.Keep(second)
}
