package stage_test

import (
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/weir-go/weir/stage"
)

func TestSeqHandsOutItsValues(t *testing.T) {
	wantAll(t, stage.Seq(slices.Values([]int{1, 2, 3, 4})), []int{1, 2, 3, 4}, stage.ErrEnd)
}

func TestSeq2EndsWithTheFirstError(t *testing.T) {
	stopped := false
	src := stage.Seq2(func(yield func(int, error) bool) {
		defer func() { stopped = true }()
		for i := 1; yield(i, nil) && (i < 3 || yield(99, errBoom)); i++ {
		}
	})
	wantAll(t, src, []int{1, 2, 3}, errBoom)
	if !stopped {
		t.Fatal("the iterator was not stopped")
	}
	if err := pullErr(t.Context(), t, src); !errors.Is(err, errBoom) {
		t.Fatalf("Pull() = %v after the error, want it again", err)
	}
}

func TestSeqPullsNoValueAhead(t *testing.T) {
	yielded := 0
	src := stage.Seq(func(yield func(int) bool) {
		for yielded = 1; yield(yielded); yielded++ {
		}
	})
	for want := 1; want <= 3; want++ {
		if got := mustPull(t, src); got != want || yielded != want {
			t.Fatalf("got value %d with %d yielded, want %d", got, yielded, want)
		}
	}
	closePart(t, src)
}

func TestSeqCloseStopsTheIterator(t *testing.T) {
	stopped := 0
	endless := func(yield func(int) bool) {
		defer func() { stopped++ }()
		for yield(1) {
		}
	}
	src := stage.Seq(endless)
	mustPull(t, src)
	for range 2 {
		if closePart(t, src); stopped != 1 {
			t.Fatalf("the iterator stopped %d times, want once", stopped)
		}
	}
	if err := pullErr(t.Context(), t, src); err == stage.ErrEnd {
		t.Fatal("a closed source looks like one that has ended")
	}
}

func TestSeqRunsNothingBeforeTheFirstPull(t *testing.T) {
	src := stage.Seq(func(func(int) bool) { t.Error("the iterator was started") })
	closePart(t, src)
	closePart(t, src)
}

func TestSeqPanicIsFinal(t *testing.T) {
	src := stage.Seq(func(yield func(int) bool) {
		yield(1)
		panic(errBoom)
	})
	mustPull(t, src)
	func() {
		defer func() {
			if v := recover(); v != any(errBoom) {
				t.Errorf("Pull panicked with %v, want %v", v, errBoom)
			}
		}()
		_, _ = src.Pull(t.Context(), make([]int, 1))
	}()
	if err := pullErr(t.Context(), t, src); err == stage.ErrEnd {
		t.Fatal("Pull() = ErrEnd after a panic")
	}
	closePart(t, src)
}

func TestSeqGoexitIsFinal(t *testing.T) {
	src := stage.Seq(func(func(int) bool) { runtime.Goexit() })
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = src.Pull(t.Context(), make([]int, 1))
	}()
	<-done
	if err := pullErr(t.Context(), t, src); err == stage.ErrEnd {
		t.Fatal("Pull() = ErrEnd after a Goexit")
	}
}

func ExampleSeq() {
	printAll(stage.Seq(slices.Values([]int{1, 2})))
	// Output:
	// 1
	// 2
	// stage: end of stream
}

func ExampleSeq2() {
	rows := func(yield func(string, error) bool) {
		_ = yield("first row", nil) && yield("", errors.New("connection lost"))
	}
	printAll(stage.Seq2(rows))
	// Output:
	// first row
	// connection lost
}
