package stage_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/weir-go/weir/stage"
)

// counting returns a source of 1 to n, and then of err.
func counting(n int, err error) stage.Source[int] {
	i := 0
	return stage.Func(func(context.Context) (int, error) {
		if i == n {
			return 99, err
		}
		i++
		return i, nil
	})
}

func TestFuncIsCalledForEachValue(t *testing.T) {
	wantAll(t, counting(4, stage.ErrEnd), []int{1, 2, 3, 4}, stage.ErrEnd)
	wantAll(t, counting(2, errBoom), []int{1, 2}, errBoom)
}

func TestFuncIsNotCalledAgainAfterItsError(t *testing.T) {
	calls := 0
	src := stage.Func(func(context.Context) (int, error) {
		calls++
		return 0, errBoom
	})
	for range 3 {
		if err := pullErr(t.Context(), t, src); !errors.Is(err, errBoom) {
			t.Fatalf("Pull() = %v, want %v", err, errBoom)
		}
	}
	if calls != 1 {
		t.Fatalf("fn was called %d times, want once", calls)
	}
}

func TestFuncAWrappedEndIsAnError(t *testing.T) {
	if err := pullErr(t.Context(), t, counting(0, fmt.Errorf("decode: %w", stage.ErrEnd))); err == stage.ErrEnd {
		t.Fatal("an error that wraps ErrEnd ended the stream cleanly")
	}
}

func TestFuncGoesOnAfterAContextHasEnded(t *testing.T) {
	for name, result := range map[string]func(ctx context.Context) error{
		"with the cause":              context.Cause,
		"with the ctx's error":        context.Context.Err,
		"with an error that wraps it": func(ctx context.Context) error { return fmt.Errorf("receive: %w", ctx.Err()) },
		"with another error":          func(context.Context) error { return errBoom },
	} {
		t.Run(name, func(t *testing.T) {
			cause := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			src := stage.Func(func(got context.Context) (int, error) {
				if got != ctx {
					return 7, nil
				}
				cancel(cause)
				return 0, result(ctx)
			})
			err := pullErr(ctx, t, src)
			if !errors.Is(err, cause) {
				t.Fatalf("Pull() = %v, want the cause", err)
			}
			if lost := result(ctx); errors.Is(lost, errBoom) && !errors.Is(err, errBoom) {
				t.Fatalf("Pull() = %v, which hides %v", err, errBoom)
			}
			if got := mustPull(t, src); got != 7 {
				t.Fatalf("got %d with another context, want 7", got)
			}
		})
	}
}

func TestFuncEndsAlsoWhenTheContextIsDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	src := stage.Func(func(context.Context) (int, error) {
		cancel()
		return 0, stage.ErrEnd
	})
	for range 2 {
		if err := pullErr(ctx, t, src); err != stage.ErrEnd {
			t.Fatalf("Pull() = %v, want ErrEnd", err)
		}
	}
}

func ExampleFunc() {
	n := 0
	printAll(stage.Func(func(context.Context) (int, error) {
		if n == 2 {
			return 0, stage.ErrEnd
		}
		n++
		return n * n, nil
	}))
	// Output:
	// 1
	// 4
	// stage: end of stream
}
