package engine

import (
	"testing"
	"time"
)

// run lets a pacer work through items whose costs are given, all of which are there from the start, and returns the sizes of
// the chunks it took.
func run(p *pacer, costs []time.Duration) (sizes []int) {
	for len(costs) > 0 {
		k := min(p.grant(maxChunk), len(costs))
		work := time.Duration(0)
		for _, c := range costs[:k] {
			work += c
		}
		p.observe(k, k, int64(work))
		sizes = append(sizes, k)
		costs = costs[k:]
	}
	return sizes
}

func costs(n int, each time.Duration) []time.Duration {
	cs := make([]time.Duration, n)
	for i := range cs {
		cs[i] = each
	}
	return cs
}

func TestPacerStartsWithOneAndDoublesUpToItsLimit(t *testing.T) {
	p := newPacer(maxChunk)
	want := []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 256}
	for i, got := range run(&p, costs(1000, time.Nanosecond)) {
		if i < len(want) && got != want[i] {
			t.Fatalf("chunk %d has %d items, want %d", i, got, want[i])
		}
	}
	shared := newPacer(sharedChunk)
	for i, got := range run(&shared, costs(1000, 0)) {
		if got > sharedChunk {
			t.Fatalf("chunk %d of a shared pacer has %d items, want at most %d", i, got, sharedChunk)
		}
	}
}

func TestPacerBoundsTheWorkOfAChunk(t *testing.T) {
	p := newPacer(maxChunk)
	for i, got := range run(&p, costs(5000, 2*time.Microsecond)) {
		if got > 25 {
			t.Fatalf("chunk %d has %d items of 2 us, want at most 25: 50 us of work", i, got)
		}
	}
}

func TestPacerTakesDearItemsOneByOne(t *testing.T) {
	p := newPacer(maxChunk)
	for i, got := range run(&p, costs(50, 10*time.Millisecond)) {
		if got != 1 {
			t.Fatalf("chunk %d has %d items of 10 ms, want 1", i, got)
		}
	}
}

func TestPacerAnswersALongChunkWithSingleItemsForAWhile(t *testing.T) {
	for _, c := range []struct {
		name    string
		took    int
		work    time.Duration
		singles int
	}{
		{"one item above 50 us", 1, 60 * time.Microsecond, 6},
		{"a chunk above 100 us", 16, 150 * time.Microsecond, 15},
		{"10 ms", 1, 10 * time.Millisecond, 1000},
		{"never more than 4,096", 1, time.Hour, maxSingles},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPacer(maxChunk)
			p.size = c.took
			p.observe(c.took, c.took, int64(c.work))
			sizes := run(&p, costs(2*maxSingles, 0))
			for i, got := range sizes[:c.singles] {
				if got != 1 {
					t.Fatalf("chunk %d of the %d after it has %d items, want 1", i, c.singles, got)
				}
			}
			if got := sizes[c.singles+2]; got == 1 {
				t.Fatalf("chunk %d still has a single item", c.singles+2)
			}
		})
	}
}

func TestPacerLearnsNothingFromAChunkThatWasNotFull(t *testing.T) {
	p := newPacer(maxChunk)
	p.size = 64
	p.observe(64, 3, 100)
	if got := p.grant(maxChunk); got != 64 {
		t.Fatalf("grant = %d after a chunk of 3 of 64, want 64", got)
	}
	p.observe(10, 10, 100) // the room was 10
	if got := p.grant(maxChunk); got != 64 {
		t.Fatalf("grant = %d after a chunk limited by room, want 64", got)
	}
}

// One dear item in a hundred cheap ones must not hold up finished ones again and again: nearly all dear items come alone.
func TestPacerIsolatesRareDearItems(t *testing.T) {
	cs := costs(50_000, 100*time.Nanosecond)
	for i := 99; i < len(cs); i += 100 {
		cs[i] = 10 * time.Millisecond
	}
	p := newPacer(sharedChunk)
	at, inCompany := 0, 0
	for _, k := range run(&p, cs) {
		for _, c := range cs[at : at+k] {
			if c == 10*time.Millisecond && k > 1 {
				inCompany++
			}
		}
		at += k
	}
	if dear := len(cs) / 100; inCompany > dear/50 {
		t.Fatalf("%d of %d dear items were in a chunk with others, want at most %d", inCompany, dear, dear/50)
	}
}
