package stage_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/weir-go/weir/stage"
)

func filled(vs ...int) chan int {
	ch := make(chan int, len(vs))
	for _, v := range vs {
		ch <- v
	}
	return ch
}

func TestChanTakesWhatIsThereWithoutWaiting(t *testing.T) {
	src := stage.Chan(filled(1, 2, 3))
	dst := make([]int, 8)
	if n, err := src.Pull(t.Context(), dst); n != 3 || err != nil {
		t.Fatalf("Pull() = %d, %v, want 3, nil", n, err)
	}
}

func TestChanEndsWhenItIsClosedAndEmpty(t *testing.T) {
	ch := filled(1, 2, 3, 4)
	close(ch)
	wantAll(t, stage.Chan(ch), []int{1, 2, 3, 4}, stage.ErrEnd)
	wantAll(t, stage.Chan(ch), nil, stage.ErrEnd)
}

func TestChanWaitsForTheFirstValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := make(chan int)
		src := stage.Chan(ch)
		var wg sync.WaitGroup
		wg.Go(func() {
			if got := mustPull(t, src); got != 7 {
				t.Errorf("got %d, want 7", got)
			}
		})
		synctest.Wait()
		ch <- 7
		wg.Wait()
	})
}

// Values and cancels race; each value must come out once.
func TestChanLosesNothingOnCancel(t *testing.T) {
	const items = 2000
	ch := make(chan int)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(ch)
		for v := range items {
			ch <- v
		}
	})
	src, dst := stage.Chan(ch), make([]int, 4)
	for want := 0; ; {
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(cancel)
		n, err := src.Pull(ctx, dst)
		for _, v := range dst[:n] {
			if v != want {
				t.Fatalf("got %d, want %d", v, want)
			}
			want++
		}
		if err == stage.ErrEnd {
			if want != items {
				t.Fatalf("%d values, want %d", want, items)
			}
			break
		}
	}
	wg.Wait()
}

func ExampleChan() {
	ch := make(chan string, 2)
	ch <- "a"
	ch <- "b"
	close(ch)
	printAll(stage.Chan(ch))
	// Output:
	// a
	// b
	// stage: end of stream
}

func BenchmarkChan(b *testing.B) {
	const items = 4096
	ch, dst := make(chan int, items), make([]int, 256)
	src := stage.Chan(ch)
	for b.Loop() {
		for v := range items {
			ch <- v
		}
		for n := 0; n < items; {
			k, err := src.Pull(b.Context(), dst)
			if err != nil {
				b.Fatal(err)
			}
			n += k
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/items, "ns/item") // the send included
}
