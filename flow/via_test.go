package flow_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// stamped is a flow of n items that carry metadata.
func stamped(n int) flow.Flow[int] {
	return flow.FromSlice(numbers(n)).Stamp(func(int, stage.Meta) stage.Meta { return stage.Meta{Key: "k"} })
}

func numbers(n int) []int {
	vs := make([]int, n)
	for i := range vs {
		vs[i] = i
	}
	return vs
}

func viaFunc(fn func(context.Context, *stage.In[int], *stage.Out[int]) error) stage.Stage[int, int] {
	return stage.StageFunc(fn)
}

func double(ctx context.Context, in *stage.In[int], out *stage.Out[int]) error {
	for it, err := range in.All(ctx) {
		if err != nil {
			return err
		}
		if err := out.Emit(ctx, it.With(2*it.Value)); err != nil {
			return err
		}
	}
	return nil
}

func TestViaHandsItemsOn(t *testing.T) {
	got, err := stamped(1000).Via(viaFunc(double)).Collect(t.Context(), 2000)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if v != 2*i {
			t.Fatalf("got[%d] = %d, want %d", i, v, 2*i)
		}
	}
	if len(got) != 1000 {
		t.Fatalf("%d items, want 1000", len(got))
	}
}

func TestViaThatReturnsEarlyStopsItsUpstream(t *testing.T) {
	endless := flow.FromFunc(func(context.Context) (int, error) { return 1, nil })
	got, err := endless.Via(viaFunc(func(ctx context.Context, in *stage.In[int], out *stage.Out[int]) error {
		for range 3 {
			it, err := in.Next(ctx)
			if err != nil {
				return err
			}
			if err := out.Emit(ctx, it); err != nil {
				return err
			}
		}
		return nil
	})).Collect(t.Context(), 10)
	if err != nil || !slices.Equal(got, []int{1, 1, 1}) {
		t.Fatalf("got %v, %v, want three items and no error", got, err)
	}
}

func TestViaThatFails(t *testing.T) {
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		run  func(context.Context, *stage.In[int], *stage.Out[int]) error
		want func(error) bool
	}{
		"error": {
			func(ctx context.Context, in *stage.In[int], _ *stage.Out[int]) error {
				if _, err := in.Next(ctx); err != nil {
					return err
				}
				return boom
			},
			func(err error) bool { return errors.Is(err, boom) },
		},
		"panic": {
			func(context.Context, *stage.In[int], *stage.Out[int]) error { panic(boom) },
			func(err error) bool { return errors.Is(err, boom) },
		},
		"goexit": {
			func(context.Context, *stage.In[int], *stage.Out[int]) error {
				runtime.Goexit()
				return nil
			},
			func(err error) bool { return errors.Is(err, stage.ErrGoexit) },
		},
		"holding": {
			func(ctx context.Context, in *stage.In[int], _ *stage.Out[int]) error {
				for range 3 {
					it, err := in.Next(ctx)
					if err != nil {
						return err
					}
					in.Keep(it)
				}
				return nil
			},
			func(err error) bool { return strings.Contains(err.Error(), "holding 3 items") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := stamped(100).Via(viaFunc(c.run), flow.Name("mine")).To(stage.Discard[int]()).Run(t.Context())
			if e, ok := errors.AsType[*stage.Error](err); !ok || e.Stage != "mine" || !c.want(err) {
				t.Fatalf("Run() = %v, want an error of the stage mine", err)
			}
		})
	}
}
