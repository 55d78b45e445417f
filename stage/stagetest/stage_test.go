package stagetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// triples is a stage that keeps the rules: it adds up each three values, and what is left at the end. The twins change one thing.
type triples struct {
	work Work
	kept []stage.Item[int]

	add  func(ctx context.Context, s *triples, in *stage.In[int], it stage.Item[int]) error // takes a value
	emit func(ctx context.Context, s *triples, out *stage.Out[int]) error                   // hands on what is kept
	rest func(ctx context.Context, s *triples, out *stage.Out[int], err error) error        // at the end of the input
}

func newTriples(work Work) *triples {
	return &triples{work: work, add: keepOne, emit: emitSum, rest: emitRest}
}

func keepOne(_ context.Context, s *triples, in *stage.In[int], it stage.Item[int]) error {
	s.kept = append(s.kept, in.Keep(it))
	return nil
}

func emitSum(ctx context.Context, s *triples, out *stage.Out[int]) error {
	sum := stage.Combine[int, int](s.sum(), s.kept...)
	s.kept = s.kept[:0]
	return out.Emit(ctx, sum)
}

func (s *triples) sum() (sum int) {
	for _, it := range s.kept {
		sum += it.Value
	}
	return sum
}

func emitRest(ctx context.Context, s *triples, out *stage.Out[int], err error) error {
	if err != stage.ErrEnd {
		return err // what is kept is given back
	}
	if len(s.kept) == 0 {
		return nil
	}
	return s.emit(ctx, s, out)
}

func (s *triples) Run(ctx context.Context, in *stage.In[int], out *stage.Out[int]) error {
	for {
		it, err := in.Next(ctx)
		if err != nil {
			return s.rest(ctx, s, out, err)
		}
		if err := s.work(ctx); err != nil {
			return err
		}
		if err := s.add(ctx, s, in, it); err != nil {
			return err
		}
		if len(s.kept) == 3 {
			if err := s.emit(ctx, s, out); err != nil {
				return err
			}
		}
	}
}

func sums(in []int) (out []int) {
	for three := range slices.Chunk(in, 3) {
		sum := 0
		for _, v := range three {
			sum += v
		}
		out = append(out, sum)
	}
	return out
}

// oneTo is the value i+1 in 1, 2, 3, ...
func oneTo(i int) int { return i + 1 }

var tripled = StageOptions[int, int]{Item: oneTo, Want: sums, Holds: 6, Bubble: true}

func TestAHealthyStageHasNoFindings(t *testing.T) {
	for name, bubble := range map[string]bool{"in a bubble": true, "with real clocks": false} {
		t.Run(name, func(t *testing.T) {
			opts := tripled
			opts.Bubble = bubble
			TestStage(t, opts, func(_ *testing.T, work Work) stage.Stage[int, int] { return newTriples(work) })
		})
	}
}

func TestAHealthyOperatorHasNoFindings(t *testing.T) {
	for _, workers := range []int{1, 3} {
		TestOperator(t, StageOptions[int, int]{
			Item: oneTo, Want: doubled, Holds: 80, Workers: workers, Bubble: true,
		}, func(_ *testing.T, f flow.Flow[int], work Work) flow.Flow[int] {
			return f.Parallel(workers, double(work))
		})
	}
}

func doubled(in []int) []int {
	out := make([]int, len(in))
	for i, v := range in {
		out[i] = 2 * v
	}
	return out
}

func double(work Work) func(context.Context, int) (int, error) {
	return func(ctx context.Context, v int) (int, error) { return 2 * v, work(ctx) }
}

// stageTwin is a stage or an operator with one thing broken, and the number of the rule whose checks must find it.
type stageTwin struct {
	rule, breaks string
	also         []string // rules that are broken with it
	opts         StageOptions[int, int]
	apply        func(f flow.Flow[int], work Work) flow.Flow[int]
}

// altered is triples with something else in one place.
func alteredTriples(rule, breaks string, change func(s *triples)) stageTwin {
	return stageTwin{rule, breaks, nil, tripled, func(f flow.Flow[int], work Work) flow.Flow[int] {
		s := newTriples(work)
		change(s)
		return f.Via(s)
	}}
}

// with names rules that are broken as well.
func (tw stageTwin) with(rules ...string) stageTwin {
	tw.also = rules
	return tw
}

// slow has, by twin, the rules that are seen to be broken with it when somebody is slow.
var slow = map[string][]string{}

// perhaps names rules that are seen to be broken with it when somebody is slow.
func (tw stageTwin) perhaps(rules ...string) stageTwin {
	slow[tw.rule+tw.breaks] = rules
	return tw
}

// fitting judges what comes out by itself.
func (tw stageTwin) fitting(fits func(in, out []int) error) stageTwin {
	tw.opts.Fits = fits
	return tw
}

// letting says what the twin lets go.
func (tw stageTwin) letting(letGo func(int) bool) stageTwin {
	tw.opts.LetGo = letGo
	return tw
}

// viaTwin is a stage of its own, which makes one result of each value.
func viaTwin(rule, breaks string, want func([]int) []int, run func(ctx context.Context, in *stage.In[int], out *stage.Out[int], work Work) error) stageTwin {
	opts := StageOptions[int, int]{Item: oneTo, Want: want, Holds: 6, Bubble: true}
	return stageTwin{rule, breaks, nil, opts, func(f flow.Flow[int], work Work) flow.Flow[int] {
		return f.Via(stage.StageFunc(func(ctx context.Context, in *stage.In[int], out *stage.Out[int]) error {
			return run(ctx, in, out, work)
		}))
	}}
}

// parallelTwin says that it has three workers.
func parallelTwin(rule, breaks string, apply func(f flow.Flow[int], work Work) flow.Flow[int]) stageTwin {
	return stageTwin{rule, breaks, nil, StageOptions[int, int]{Item: oneTo, Want: doubled, Holds: 200, Workers: 3, Bubble: true}, apply}
}

var stageTwins = []stageTwin{
	alteredTriples("15", "loses the last digit of large sums", func(s *triples) {
		s.emit = func(ctx context.Context, s *triples, out *stage.Out[int]) error {
			sum := s.sum()
			if sum > 100 {
				sum -= sum % 10
			}
			return emitValue(ctx, s, out, sum)
		}
	}),
	viaTwin("15", "repeats every fifth value", same, func(ctx context.Context, in *stage.In[int], out *stage.Out[int], work Work) error {
		return eachOf(ctx, in, work, func(it stage.Item[int]) error {
			if err := out.Emit(ctx, it); err != nil || it.Value%5 != 0 {
				return err
			}
			return out.Emit(ctx, it)
		})
	}),
	viaTwin("15", "drops every fifth value", same, func(ctx context.Context, in *stage.In[int], out *stage.Out[int], work Work) error {
		return eachOf(ctx, in, work, func(it stage.Item[int]) error {
			if it.Value%5 == 0 {
				return nil
			}
			return out.Emit(ctx, it)
		})
	}).with("16", "20", "21"),
	viaTwin("15", "drops every fifth value, judged by what is left", nil, func(ctx context.Context, in *stage.In[int], out *stage.Out[int], work Work) error {
		return eachOf(ctx, in, work, func(it stage.Item[int]) error {
			if it.Value%5 == 0 {
				return nil
			}
			return out.Emit(ctx, it)
		})
	}).fitting(sameSum).with("21", "22"),
	alteredTriples("16", "settles all but one before the sum has arrived", func(s *triples) {
		s.emit = func(ctx context.Context, s *triples, out *stage.Out[int]) error {
			sum, last := s.sum(), s.kept[len(s.kept)-1]
			for _, it := range s.kept[:len(s.kept)-1] {
				it.Done()
			}
			s.kept = s.kept[:0]
			return out.Emit(ctx, stage.Combine[int, int](sum, last))
		}
	}).with("18", "20"),
	viaTwin("16", "makes a second child without the claim", func(in []int) []int { return slices.Concat(pairs(in)...) },
		func(ctx context.Context, in *stage.In[int], out *stage.Out[int], work Work) error {
			return eachOf(ctx, in, work, func(it stage.Item[int]) error {
				if err := out.Emit(ctx, it); err != nil {
					return err
				}
				return out.Emit(ctx, stage.Item[int]{Value: -it.Value})
			})
		}).perhaps("18", "20", "23"), // where one child has left and the other has not
	viaTwin("16", "fails what it lets go", evens, func(ctx context.Context, in *stage.In[int], out *stage.Out[int], work Work) error {
		return eachOf(ctx, in, work, func(it stage.Item[int]) error {
			if it.Value%2 == 0 {
				return out.Emit(ctx, it)
			}
			in.Keep(it).Fail(errBoom)
			return nil
		})
	}).letting(odd).with("20", "21", "23"),
	parallelTwin("17", "hands on what is ready", func(f flow.Flow[int], work Work) flow.Flow[int] {
		return f.Parallel(3, double(work), flow.Unordered)
	}),
	viaTwin("18", "recovers and goes on", same, func(ctx context.Context, in *stage.In[int], out *stage.Out[int], work Work) error {
		return eachOf(ctx, in, func(ctx context.Context) (err error) {
			defer func() { _ = recover() }()
			return work(ctx)
		}, func(it stage.Item[int]) error { return out.Emit(ctx, it) })
	}),
	viaTwin("18", "hides the error", same, func(ctx context.Context, in *stage.In[int], out *stage.Out[int], work Work) error {
		return eachOf(ctx, in, func(ctx context.Context) error {
			if err := work(ctx); err != nil && ctx.Err() != nil {
				return err
			}
			return nil
		}, func(it stage.Item[int]) error { return out.Emit(ctx, it) })
	}),
	viaTwin("18", "ends cleanly instead of failing", same, func(ctx context.Context, in *stage.In[int], out *stage.Out[int], work Work) error {
		err := eachOf(ctx, in, work, func(it stage.Item[int]) error { return out.Emit(ctx, it) })
		if errors.Is(err, errFault) {
			return nil
		}
		return err
	}),
	viaTwin("19", "reads ahead", same, readsAhead),
	viaTwin("20", "tidies up for a second before it stops", same, func(ctx context.Context, in *stage.In[int], out *stage.Out[int], work Work) error {
		err := eachOf(ctx, in, work, func(it stage.Item[int]) error { return out.Emit(ctx, it) })
		if errors.Is(err, errCause) {
			time.Sleep(900 * time.Millisecond)
		}
		return err
	}),
	viaTwin("20", "fails the message when it is stopped", same, func(ctx context.Context, in *stage.In[int], out *stage.Out[int], work Work) error {
		return eachOf(ctx, in, work, func(it stage.Item[int]) error {
			held := in.Keep(it)
			err := out.Emit(ctx, held)
			if errors.Is(err, errCause) {
				held.Fail(errBoom)
				return err
			}
			held.Done()
			return err
		})
	}),
	viaTwin("20", "gives user code a context of its own", same, func(ctx context.Context, in *stage.In[int], out *stage.Out[int], work Work) error {
		return eachOf(ctx, in, func(context.Context) error {
			own, cancel := context.WithTimeout(context.Background(), 900*time.Millisecond)
			defer cancel()
			return work(own)
		}, func(it stage.Item[int]) error { return out.Emit(ctx, it) })
	}),
	alteredTriples("21", "waits for its timer at the end", func(s *triples) {
		s.rest = func(ctx context.Context, s *triples, out *stage.Out[int], err error) error {
			if err == stage.ErrEnd && len(s.kept) > 0 {
				rest(ctx, time.Second)
			}
			return emitRest(ctx, s, out, err)
		}
	}),
	alteredTriples("21", "takes what is left for done when upstream fails", func(s *triples) {
		s.rest = func(ctx context.Context, s *triples, out *stage.Out[int], err error) error {
			if errors.Is(err, errUpstream) {
				for _, it := range s.kept {
					it.Done()
				}
				return err
			}
			return emitRest(ctx, s, out, err)
		}
	}),
	viaTwin("22", "takes a pause for an error", same, func(ctx context.Context, in *stage.In[int], out *stage.Out[int], work Work) error {
		last := time.Now()
		return eachOf(ctx, in, work, func(it stage.Item[int]) error {
			if time.Since(last) > 30*time.Minute {
				return errBoom
			}
			last = time.Now()
			return out.Emit(ctx, it)
		})
	}),
	viaTwin("23", "reads to the end although nobody listens", same, func(ctx context.Context, in *stage.In[int], out *stage.Out[int], work Work) error {
		err := eachOf(ctx, in, work, func(it stage.Item[int]) error { return out.Emit(ctx, it) })
		if errors.Is(err, flow.ErrGivenBack) {
			time.Sleep(900 * time.Millisecond)
		}
		return err
	}),
	parallelTwin("24", "has one worker more than it says", func(f flow.Flow[int], work Work) flow.Flow[int] {
		return f.Parallel(4, double(work))
	}),
	parallelTwin("24", "has one worker less than it says", func(f flow.Flow[int], work Work) flow.Flow[int] {
		return f.Parallel(2, double(work))
	}),
}

// checks are those of the kit for the twin.
func (tw stageTwin) checks() []check {
	return newStageKit(tw.opts, func(_ *testing.T, f flow.Flow[int], work Work) flow.Flow[int] { return tw.apply(f, work) }).checks()
}

// Each twin is caught by the checks of the rules that it breaks, and each check catches one.
func TestStageTwinsAreCaught(t *testing.T) {
	caught := make(map[string]bool)
	for _, twin := range stageTwins {
		t.Run(twin.rule+" "+twin.breaks, func(t *testing.T) {
			wantOnly(t, found(t, twin.checks(), caught), append([]string{twin.rule}, slow[twin.rule+twin.breaks]...), twin.also...)
		})
	}
	wantAll(t, newStageKit(tripled, nil).checks(), caught)
}

func same(in []int) []int { return in }

func sameSum(in, out []int) error {
	sum := func(vs []int) (n int) {
		for _, v := range vs {
			n += v
		}
		return n
	}
	if sum(in) != sum(out) {
		return errBoom
	}
	return nil
}

func odd(v int) bool { return v%2 != 0 }

func evens(in []int) (out []int) {
	for _, v := range in {
		if v%2 == 0 {
			out = append(out, v)
		}
	}
	return out
}

func pairs(in []int) (out [][]int) {
	for _, v := range in {
		out = append(out, []int{v, -v})
	}
	return out
}

func emitValue(ctx context.Context, s *triples, out *stage.Out[int], v int) error {
	sum := stage.Combine[int, int](v, s.kept...)
	s.kept = s.kept[:0]
	return out.Emit(ctx, sum)
}

// eachOf calls work and then fn for each item.
func eachOf(ctx context.Context, in *stage.In[int], work Work, fn func(it stage.Item[int]) error) error {
	for it, err := range in.All(ctx) {
		if err != nil {
			return err
		}
		if err := work(ctx); err != nil {
			return err
		}
		if err := fn(it); err != nil {
			return err
		}
	}
	return nil
}

// readsAhead keeps all that it can get while its output is full.
func readsAhead(ctx context.Context, in *stage.In[int], out *stage.Out[int], work Work) error {
	const ahead = 30
	var kept []stage.Item[int]
	hand := func(n int) error {
		for ; len(kept) > n; kept = kept[1:] {
			it := kept[0]
			if err := out.Emit(ctx, it); err != nil {
				return err
			}
			it.Done()
		}
		return nil
	}
	err := eachOf(ctx, in, work, func(it stage.Item[int]) error {
		kept = append(kept, in.Keep(it))
		return hand(ahead)
	})
	if err == nil {
		err = hand(0)
	}
	return err
}
