package flow_test

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// shards are 20 of which some refuse, and which count what they are asked.
type shards struct {
	refuse map[int]bool
	asked  atomic.Int64
	crowd
}

func (s *shards) ask(ctx context.Context, shard int) (string, error) {
	s.asked.Add(1)
	if s.refuse[shard] {
		return "", errNoPermit
	}
	_, err := s.work(ctx, 0)
	return strconv.Itoa(shard), err
}

// Try: 20 shards, one of which refuses. Right: with a partial result 19 answers with a mark, after 20 requests; without, a retry asks all of
// them again.
func TestOneOfTwentyShardsRefuses(t *testing.T) {
	twenty := func(s *shards, cfg flow.ScatterConfig) func(context.Context, int) (flow.Gathered[string], error) {
		return func(ctx context.Context, _ int) (flow.Gathered[string], error) {
			return flow.Scatter(ctx, 20, cfg, s.ask)
		}
	}
	once := flow.OnError(flow.Retry(1, constant(time.Second)))
	inBubble(t, "a partial result", func(t *testing.T) {
		s := &shards{refuse: map[int]bool{7: true}}
		got, err := flow.FromSlice(ints(1)).Parallel(1, twenty(s, flow.ScatterConfig{MayMiss: 1}), once).Collect(t.Context(), 1)
		must(t, err)
		g := got[0]
		equal(t, "degraded", g.Degraded(), true)
		equal(t, "missing", len(g.Missing), 1)
		equal(t, "the missing part", g.Missing[0].Part, 7)
		wantError(t, g.Missing[0].Err, errNoPermit)
		for i, v := range g.Values {
			if want := strconv.Itoa(i); v != want && i != 7 || i == 7 && v != "" {
				t.Errorf("part %d = %q, want %q", i, v, want)
			}
		}
		equal(t, "requests", s.asked.Load(), 20)
	})
	inBubble(t, "all or nothing", func(t *testing.T) {
		s := &shards{refuse: map[int]bool{19: true}}
		_, err := flow.FromSlice(ints(1)).Parallel(1, twenty(s, flow.ScatterConfig{}), once).Collect(t.Context(), 1)
		failed, ok := errors.AsType[*flow.ScatterError](err)
		if !ok || failed.Parts != 20 || len(failed.Failed) != 1 || failed.Failed[0].Part != 19 || !errors.Is(err, errNoPermit) {
			t.Errorf("got error %v, want a *ScatterError about part 19 of 20", err)
		}
		equal(t, "requests", s.asked.Load(), 40)
	})
	inBubble(t, "nothing is missing", func(t *testing.T) {
		g, err := flow.Scatter(t.Context(), 20, flow.ScatterConfig{MayMiss: 5}, (&shards{}).ask)
		must(t, err)
		equal(t, "degraded", g.Degraded(), false)
		equal(t, "values", len(g.Values), 20)
	})
}

func TestScatterKeepsToAtOnce(t *testing.T) {
	inBubble(t, "three", func(t *testing.T) {
		var s shards
		began := time.Now()
		_, err := flow.Scatter(t.Context(), 20, flow.ScatterConfig{AtOnce: 3}, s.ask)
		must(t, err)
		equal(t, "most calls at the same time", s.most, 3)
		equal(t, "time", time.Since(began), 70*time.Millisecond)
	})
}

// Try: more parts fail than may be missing. Right: the others are cut off or not asked, and are not among the failures.
func TestScatterCutsOffWhatCanNotHelp(t *testing.T) {
	inBubble(t, "two of three", func(t *testing.T) {
		began := time.Now()
		var asked atomic.Int64
		_, err := flow.Scatter(t.Context(), 100, flow.ScatterConfig{MayMiss: 1, AtOnce: 3}, func(ctx context.Context, part int) (int, error) {
			asked.Add(1)
			if part == 2 {
				return 0, hang(ctx, 0)
			}
			return 0, errValue
		})
		e, ok := errors.AsType[*flow.ScatterError](err)
		if !ok || len(e.Failed) != 2 || time.Since(began) != 0 || asked.Load() > 4 {
			t.Errorf("error %v after %v and %d calls, want two failures at once and no further calls", err, time.Since(began), asked.Load())
		}
	})
}

func TestScatterTimes(t *testing.T) {
	slow := func(ctx context.Context, part int) (int, error) {
		return part, nap(ctx, time.Duration(part)*time.Second)
	}
	inBubble(t, "what is slower than Timeout is missing", func(t *testing.T) {
		began := time.Now()
		g, err := flow.Scatter(t.Context(), 5, flow.ScatterConfig{MayMiss: 3, Timeout: 2500 * time.Millisecond}, slow)
		must(t, err)
		equal(t, "time", time.Since(began), 2500*time.Millisecond)
		equal(t, "missing", len(g.Missing), 2)
		wantError(t, g.Missing[1].Err, context.DeadlineExceeded)
	})
	inBubble(t, "what Timeout leaves no time for is missing", func(t *testing.T) {
		g, err := flow.Scatter(t.Context(), 5, flow.ScatterConfig{AtOnce: 1, MayMiss: 4, Timeout: 2500 * time.Millisecond}, slow)
		must(t, err)
		equal(t, "missing", len(g.Missing), 3)
	})
	inBubble(t, "the end of the context is its cause", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(2500*time.Millisecond, func() { cancel(errCancel) })
		_, err := flow.Scatter(ctx, 5, flow.ScatterConfig{MayMiss: 4}, slow)
		wantError(t, err, errCancel)
		_, err = flow.Scatter(ctx, 5, flow.ScatterConfig{}, slow)
		wantError(t, err, errCancel)
	})
}

// Try: parts that panic, and that end their goroutine. Right: they have failed, the others answer, and nothing is left.
func TestScatterSurvivesItsParts(t *testing.T) {
	inBubble(t, "troubles", func(t *testing.T) {
		g, err := flow.Scatter(t.Context(), 9, flow.ScatterConfig{AtOnce: 2, MayMiss: 6}, func(_ context.Context, part int) (int, error) {
			switch part % 3 {
			case 1:
				panic(errThrown)
			case 2:
				runtime.Goexit()
			}
			return part, nil
		})
		must(t, err)
		equal(t, "missing", len(g.Missing), 6)
		for _, m := range g.Missing {
			want := errThrown
			if m.Part%3 == 2 {
				want = stage.ErrGoexit
			}
			wantError(t, m.Err, want)
			if stack := wantStage(t, m.Err, "part "+strconv.Itoa(m.Part)); want == errThrown && len(stack) == 0 { //nolint:errorlint // which of the two it is
				t.Error("the panic has no stack")
			}
		}
		for part, v := range g.Values {
			equal(t, "value", v, part*btoi(part%3 == 0))
		}
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestScatterRefusesArguments(t *testing.T) {
	_, err := flow.Scatter[int](t.Context(), 0, flow.ScatterConfig{AtOnce: -1, MayMiss: -1, Timeout: -1}, nil)
	for _, want := range []string{"parts must be >= 1, got 0", "AtOnce must be >= 0", "MayMiss must be", "Timeout must be", "function must not be nil"} {
		wantText(t, err, want)
	}
	_, err = flow.Scatter(t.Context(), 3, flow.ScatterConfig{MayMiss: 3}, same)
	wantText(t, err, "MayMiss must be 0 to parts-1, got 3")
}
