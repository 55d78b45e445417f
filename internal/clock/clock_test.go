package clock_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/internal/clock"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNowFollowsVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := clock.Now()
		time.Sleep(3 * time.Second)
		if got := time.Duration(clock.Now() - before); got != 3*time.Second {
			t.Fatalf("3 s later Now() is %v more", got)
		}
	})
}

func TestStopwatchAddsUpExactly(t *testing.T) {
	var s clock.Stopwatch
	if got := s.Total(99); got != 0 {
		t.Fatalf("Total() of a new one = %d, want 0", got)
	}
	for i, want := range []int64{7, 14, 21} {
		now := int64(100 * i)
		s.Start(now)
		if got := s.Total(now + 3); got != want-4 {
			t.Fatalf("Total() 3 ns after the start = %d, want %d", got, want-4)
		}
		if got := s.Sum(); got != want-7 {
			t.Fatalf("Sum() while it runs = %d, want %d", got, want-7)
		}
		if got := s.Stop(now + 7); got != 7 {
			t.Fatalf("Stop() = %d, want 7", got)
		}
		if total, sum := s.Total(now+50), s.Sum(); total != want || sum != want {
			t.Fatalf("Total(), Sum() = %d, %d, want %d", total, sum, want)
		}
	}
}

// While the stopwatch runs all the time but for an instant, a reader sees all the time that has passed, never more or less.
func TestStopwatchIsReadWhileItIsStopped(t *testing.T) {
	var s clock.Stopwatch
	var wg sync.WaitGroup
	s.Start(0)
	wg.Go(func() {
		for range 20000 {
			s.Stop(1000)
			s.Start(1000)
		}
	})
	for range 20000 {
		if got := s.Total(1000); got != 1000 {
			t.Errorf("Total() = %d, want 1000", got)
			break
		}
	}
	wg.Wait()
}

func TestMomentPlacesTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Minute)
		var m clock.Moment
		now := time.Now()
		for d, want := range map[time.Duration]int64{0: 0, time.Second: 1e9, -time.Hour: -3600e9} {
			if got := m.At(now.Add(d)) - clock.Now(); got != want {
				t.Errorf("At(%v from now) is %d from now, want %d", d, got, want)
			}
		}
		time.Sleep(time.Second)
		if got := m.At(now) - clock.Now(); got != -1e9 {
			t.Errorf("At(a second ago) is %d from now, want -1e9", got)
		}
	})
	var m clock.Moment
	if far := m.At(time.Now().AddDate(1000, 0, 0)); far < clock.Now() {
		t.Errorf("At(a thousand years from now) = %d, which has passed", far)
	}
}
