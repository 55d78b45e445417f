package stage_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/stage"
)

func TestTickerTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		src := stage.Ticker(time.Minute)
		defer closePart(t, src)
		for i := 1; i <= 3; i++ {
			if got, want := mustPull(t, src).Sub(began), time.Duration(i)*time.Minute; got != want {
				t.Fatalf("tick %d after %v, want %v", i, got, want)
			}
		}
	})
}

func TestTickerDropsTicksThatNobodyWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		src := stage.Ticker(time.Second)
		defer closePart(t, src)
		mustPull(t, src)
		time.Sleep(10*time.Second + time.Millisecond)
		mustPull(t, src) // the one that was kept
		mustPull(t, src)
		if got, want := time.Since(began), 12*time.Second; got != want {
			t.Fatalf("the third tick came after %v, want %v", got, want)
		}
	})
}

func TestTickerStartsWithTheFirstPull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := stage.Ticker(time.Second)
		defer closePart(t, src)
		time.Sleep(time.Hour)
		began := time.Now()
		if mustPull(t, src); time.Since(began) != time.Second {
			t.Fatalf("the first tick came after %v, want 1s", time.Since(began))
		}
	})
}

func TestTickerRefusesADurationThatIsNotPositive(t *testing.T) {
	for _, d := range []time.Duration{0, -time.Second} {
		src := stage.Ticker(d)
		first := pullErr(t.Context(), t, src)
		if again := pullErr(t.Context(), t, src); again != first || first == stage.ErrEnd {
			t.Fatalf("Pull() = %v, then %v, want one final error", first, again)
		}
		closePart(t, src)
	}
}

func TestTickerIsClosedForGood(t *testing.T) {
	src := stage.Ticker(time.Nanosecond)
	mustPull(t, src)
	closePart(t, src)
	closePart(t, src)
	if err := pullErr(t.Context(), t, src); err == stage.ErrEnd {
		t.Fatal("a closed ticker looks like one that has ended")
	}
}

func ExampleTicker() {
	src := stage.Ticker(time.Millisecond)
	now := make([]time.Time, 1)
	n, err := src.Pull(context.Background(), now)
	fmt.Println(n, err)
	// Output: 1 <nil>
}
