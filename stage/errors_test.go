package stage_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/weir-go/weir/stage"
)

func TestErrorNamesStageAndKey(t *testing.T) {
	for want, err := range map[string]*stage.Error{
		"parse: boom":              {Stage: "parse", Err: errBoom},
		`parse (key "a\nb"): boom`: {Stage: "parse", Key: "a\nb", Err: errBoom, Stack: []byte("stack")},
	} {
		if got := err.Error(); got != want {
			t.Errorf("Error() = %s, want %s", got, want)
		}
		if !errors.Is(err, errBoom) {
			t.Errorf("%v does not wrap its cause", err)
		}
	}
}

func TestPanicErrorWrapsAPanicWithAnError(t *testing.T) {
	if err := error(&stage.PanicError{Value: errBoom}); !errors.Is(err, errBoom) || err.Error() != "panic: boom" {
		t.Errorf("Error() = %v, want panic: boom, which wraps boom", err)
	}
	if err := (&stage.PanicError{Value: 7}); err.Unwrap() != nil || err.Error() != "panic: 7" {
		t.Errorf("Error() = %v, want panic: 7, which wraps nothing", err)
	}
}

func TestBatchErrorOfNothingIsNil(t *testing.T) {
	var bad stage.BatchError
	bad.Add(1, nil)
	if err := bad.OrNil(); err != nil {
		t.Fatalf("OrNil() = %v, want nil", err)
	}
	if got := bad.Error(); got != "no item failed" {
		t.Fatalf("Error() = %q", got)
	}
}

func TestBatchErrorListsFailures(t *testing.T) {
	var bad stage.BatchError
	bad.Add(1, errBoom)
	if got, want := bad.OrNil().Error(), "item 1: boom"; got != want {
		t.Fatalf("Error() = %q, want %q", got, want)
	}
	bad.Add(4, io.ErrShortWrite)
	if got, want := bad.Error(), "2 items failed, the first: item 1: boom"; got != want {
		t.Fatalf("Error() = %q, want %q", got, want)
	}
	for _, want := range []error{errBoom, io.ErrShortWrite} {
		if !errors.Is(bad.OrNil(), want) {
			t.Fatalf("%v does not wrap %v", bad.OrNil(), want)
		}
	}
	if it, ok := errors.AsType[stage.ItemError](bad.OrNil()); !ok || it.Index != 1 {
		t.Fatalf("the first ItemError is %v, want that of item 1", it)
	}
}

func ExampleBatchError() {
	insert := func(row int) error {
		if row < 0 {
			return errors.New("negative")
		}
		return nil
	}
	var bad stage.BatchError
	for i, row := range []int{3, -1, 4} {
		bad.Add(i, insert(row))
	}
	fmt.Println(bad.OrNil())
	// Output: item 1: negative
}
