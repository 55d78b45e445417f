package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/stage"
)

// trackerModel is what a tracker should know, the slow way.
type trackerModel struct {
	positions []string // of all items that have come
	settled   []bool
	failed    int // the first item that failed; -1: none
	open      []uint64
}

// prefix returns how many items from the first on have settled.
func (m *trackerModel) prefix() int {
	n := slices.Index(append(slices.Clone(m.settled), false), false)
	if m.failed >= 0 {
		n = min(n, m.failed)
	}
	return n
}

// reached returns the last position in the prefix.
func (m *trackerModel) reached() (at string) {
	for _, p := range m.positions[:m.prefix()] {
		if p != "" {
			at = p
		}
	}
	return at
}

// ahead returns how many items have settled behind the prefix, as far as they count.
func (m *trackerModel) ahead() (n int) {
	end := len(m.settled)
	if m.failed >= 0 {
		end = m.failed
	}
	for _, s := range m.settled[min(m.prefix(), end):end] {
		if s {
			n++
		}
	}
	return n
}

// waits reports whether the tracker keeps the source waiting.
func waits(t *tracker) bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return errors.Is(t.wait(ctx), context.Canceled)
}

func TestThePositionNeverPassesAnItemThatIsNotSettled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 100).Draw(t, "limit")
		tr, m := newTracker(limit), &trackerModel{failed: -1}
		settle := func(t *rapid.T, o stage.Outcome) {
			if len(m.open) == 0 {
				t.Skip("nothing is open")
			}
			i := rapid.IntRange(0, len(m.open)-1).Draw(t, "which")
			token := m.open[i]
			m.open = slices.Delete(m.open, i, i+1)
			tr.Settle(token, o)
			if o.Kind != stage.Failed {
				m.settled[token] = true
			} else if m.failed < 0 || int(token) < m.failed {
				m.failed = int(token)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				more := rapid.SliceOfN(rapid.Bool(), 1, 200).Draw(t, "named")
				first := tr.add(len(more), func(i int) string {
					if more[i] {
						return strconv.Itoa(len(m.positions) + i)
					}
					return ""
				})
				if want := uint64(len(m.positions)); first != want {
					t.Fatalf("add() = token %d, want %d", first, want)
				}
				for i, named := range more {
					at := ""
					if named {
						at = strconv.Itoa(int(first) + i)
					}
					m.positions, m.settled, m.open = append(m.positions, at), append(m.settled, false), append(m.open, first+uint64(i))
				}
			},
			"done":       func(t *rapid.T) { settle(t, stage.Outcome{}) },
			"done 2":     func(t *rapid.T) { settle(t, stage.Outcome{}) },
			"done 3":     func(t *rapid.T) { settle(t, stage.Outcome{}) },
			"terminated": func(t *rapid.T) { settle(t, stage.Outcome{Kind: stage.Terminated}) },
			"given back": func(t *rapid.T) {
				if rapid.IntRange(0, 50).Draw(t, "luck") > 0 {
					t.Skip("seldom")
				}
				settle(t, stage.Outcome{Kind: stage.Failed, Err: fmt.Errorf("left: %w", engine.ErrLeft)})
			},
			"": func(t *rapid.T) {
				if got, want := tr.reached(), m.reached(); got != want {
					t.Fatalf("the position is %q, want %q: %d of %d settled in a row", got, want, m.prefix(), len(m.settled))
				}
				if got, want := waits(tr), m.ahead() >= limit; got != want {
					t.Fatalf("the source waits: %v, want %v: %d ahead of a limit of %d", got, want, m.ahead(), limit)
				}
			},
		})
		for m.failed < 0 && len(m.open) > 0 {
			settle(t, stage.Outcome{})
		}
		if got, want := tr.reached(), m.reached(); got != want || m.failed < 0 && m.prefix() != len(m.settled) {
			t.Fatalf("at the end the position is %q, want %q", got, want)
		}
	})
}

func TestTheRingIsAsLargeAsWhatIsOpen(t *testing.T) {
	tr := newTracker(1000)
	for i := range 100_000 {
		token := tr.add(1, func(int) string { return strconv.Itoa(i) })
		if i%90 == 89 { // 90 at a time, the last one first
			for back := range uint64(90) {
				tr.Settle(token-back, stage.Outcome{})
			}
		}
	}
	if got, want := len(tr.ring), 128; got != want {
		t.Errorf("the ring has %d places for at most 90 open items, want %d", got, want)
	}
	tr.Settle(99_990, stage.Outcome{Kind: stage.Failed, Err: errors.New("boom")})
	for range 100_000 {
		tr.add(1, func(int) string { return "x" })
	}
	if got, want := len(tr.ring), 128; got != want {
		t.Errorf("behind a failed item the ring grew to %d, want %d", got, want)
	}
}

func TestAFailedItemEndsTheWait(t *testing.T) {
	tr := newTracker(1)
	boom := errors.New("boom")
	tr.add(3, func(i int) string { return strconv.Itoa(i) })
	tr.Settle(0, stage.Outcome{})
	tr.Settle(2, stage.Outcome{})
	if !waits(tr) {
		t.Fatal("the source may go on, want it to wait: one item is settled ahead")
	}
	tr.Settle(1, stage.Outcome{Kind: stage.Failed, Err: boom})
	if err := tr.wait(t.Context()); !errors.Is(err, boom) {
		t.Errorf("wait() = %v, want %v", err, boom)
	}
	if got := tr.reached(); got != "0" {
		t.Errorf("the position is %q, want 0", got)
	}
}
