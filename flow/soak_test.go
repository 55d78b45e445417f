package flow_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

var soak = flag.Duration("soak", 0, "how long TestSoak runs; 0 is a few graphs only")

// TestSoak runs random graphs for a long time, each to its end, cancelled at a random event, or broken by one of the faults. Behind each
// round there are as many goroutines and open files as before, and the heap is as large as behind the first: within 10 %, 5 % if it
// has run for more than half an hour.
func TestSoak(t *testing.T) {
	began := time.Now()
	rounds := 0
	round := func() {
		for range 20 {
			g := newCancelledGraph(rand.IntN(1 << 31))
			if g.s.items == flood {
				continue // it may have thousands of goroutines
			}
			events, err := g.events(t)
			if err != nil {
				g.report(t, 0, err)
			}
			if events == 0 {
				continue
			}
			event := 1 + rand.Int64N(events)
			if _, err := g.cancelAt(t, event); err != nil {
				g.report(t, event, err)
			}
		}
		rounds++
	}
	for range 3 {
		round() // until what is made once is made
	}
	const atOnce = 4000 // the runtime keeps the descriptor of a goroutine for the next one: more than any graph has
	var many sync.WaitGroup
	gate := make(chan struct{})
	for range atOnce {
		many.Go(func() { <-gate })
	}
	close(gate)
	many.Wait()
	goroutines, files, before := goroutinesLeft(2), openFiles(t), heap()
	for round(); time.Since(began) < *soak; round() {
		if n := goroutinesLeft(goroutines); n > goroutines {
			t.Fatalf("%d goroutines behind round %d, want %d", n, rounds, goroutines)
		}
		if n := openFiles(t); n > files {
			t.Fatalf("%d open files behind round %d, want %d", n, rounds, files)
		}
	}
	after := heap()
	drift := uint64(10)
	if time.Since(began) > 30*time.Minute {
		drift = 5
	}
	if most := before + before*drift/100; after > most+128<<10 {
		t.Errorf("%d bytes are in use behind %d rounds, and were %d: more than %d %%", after, rounds, before, drift)
	}
	t.Logf("%d rounds in %v: heap %d bytes, then %d", rounds, time.Since(began).Round(time.Second), before, after)
}

// goroutinesLeft returns how many goroutines there are, when those have ended that are about to.
func goroutinesLeft(want int) (n int) {
	for range 100_000 {
		if n = runtime.NumGoroutine(); n <= want {
			break
		}
		runtime.Gosched()
	}
	return n
}

// openFiles returns how many files the process has open, where the system says so.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}
