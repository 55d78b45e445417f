package stage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/weir-go/weir/stage"
)

// pullAll reads src to its end, size values a call, and returns what it handed out and the final error.
func pullAll[T any](t *testing.T, src stage.Source[T], size int) ([]T, error) {
	t.Helper()
	var got []T
	dst := make([]T, size)
	for {
		n, err := src.Pull(t.Context(), dst)
		got = append(got, dst[:n]...)
		if err != nil {
			return got, err
		}
		if n == 0 {
			t.Fatal("Pull() = 0, nil")
		}
	}
}

// wantAll reads src to its end and compares.
func wantAll[T comparable](t *testing.T, src stage.Source[T], want []T, final error) {
	t.Helper()
	got, err := pullAll(t, src, 3)
	if !slices.Equal(got, want) {
		t.Fatalf("handed out %v, want %v", got, want)
	}
	if final == stage.ErrEnd && err != stage.ErrEnd || !errors.Is(err, final) {
		t.Fatalf("ended with %v, want %v", err, final)
	}
}

// mustPull pulls one value.
func mustPull[T any](t *testing.T, src stage.Source[T]) T {
	t.Helper()
	dst := make([]T, 1)
	if n, err := src.Pull(t.Context(), dst); n != 1 || err != nil {
		t.Fatalf("Pull() = %d, %v, want 1, nil", n, err)
	}
	return dst[0]
}

// pullErr pulls and wants no value.
func pullErr[T any](ctx context.Context, t *testing.T, src stage.Source[T]) error {
	t.Helper()
	n, err := src.Pull(ctx, make([]T, 2))
	if n != 0 || err == nil {
		t.Fatalf("Pull() = %d, %v, want 0 and an error", n, err)
	}
	return err
}

func closePart(t *testing.T, part any) {
	t.Helper()
	if err := part.(io.Closer).Close(); err != nil {
		t.Fatalf("Close() = %v", err)
	}
}

// printAll prints what src hands out, for examples.
func printAll[T any](src stage.Source[T]) {
	dst := make([]T, 2)
	for {
		n, err := src.Pull(context.Background(), dst)
		for _, v := range dst[:n] {
			fmt.Println(v)
		}
		if err != nil {
			fmt.Println(err)
			return
		}
	}
}
