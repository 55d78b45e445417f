package stage_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/stage"
	"github.com/weir-go/weir/stage/stagetest"
)

var (
	oneToNine = []int{1, 2, 3, 4, 5, 6, 7, 8, 9}
	letters   = []string{"a", "b", "", "c", "d", "e"}
)

func TestSliceConforms(t *testing.T) {
	stagetest.TestSource(t, stagetest.SourceOptions[int]{
		Want: oneToNine, Bubble: true,
		Trickle: func(*testing.T) stage.Source[int] { return stage.Slice(oneToNine[:1]) },
	}, func(*testing.T) stage.Source[int] { return stage.Slice(oneToNine) })
}

func TestSeqConforms(t *testing.T) {
	yielded := 0
	stagetest.TestSource(t, stagetest.SourceOptions[int]{
		Want: oneToNine, Bubble: true,
		Outside: func() int { return yielded },
		Panics: func(*testing.T) stage.Source[int] {
			return stage.Seq(func(yield func(int) bool) {
				yield(1)
				panic(errBoom)
			})
		},
		Trickle: func(t *testing.T) stage.Source[int] {
			t.Helper()
			return stage.Seq(func(yield func(int) bool) {
				yield(1)
				<-t.Context().Done()
			})
		},
	}, func(*testing.T) stage.Source[int] {
		yielded = 0
		return stage.Seq(func(yield func(int) bool) {
			for _, v := range oneToNine {
				if yielded++; !yield(v) {
					return
				}
			}
		})
	})
}

func TestSeq2Conforms(t *testing.T) {
	stagetest.TestSource(t, stagetest.SourceOptions[int]{Want: oneToNine, Err: errBoom, Bubble: true},
		func(*testing.T) stage.Source[int] {
			return stage.Seq2(func(yield func(int, error) bool) {
				for _, v := range oneToNine {
					if !yield(v, nil) {
						return
					}
				}
				yield(99, errBoom)
			})
		})
}

func TestChanConforms(t *testing.T) {
	var ch chan int
	stagetest.TestSource(t, stagetest.SourceOptions[int]{
		Want: oneToNine, Bubble: true,
		Outside: func() int { return len(oneToNine) - len(ch) },
		Waiting: func(*testing.T) (stage.Source[int], func()) {
			ch := make(chan int, len(oneToNine))
			return stage.Chan(ch), func() {
				for _, v := range oneToNine {
					ch <- v
				}
				close(ch)
			}
		},
		Trickle: func(*testing.T) stage.Source[int] { return stage.Chan(filled(1)) },
	}, func(*testing.T) stage.Source[int] {
		ch = filled(oneToNine...)
		close(ch)
		return stage.Chan(ch)
	})
}

func TestFuncConforms(t *testing.T) {
	for name, final := range map[string]error{"that ends": stage.ErrEnd, "that fails": errBoom} {
		calls := 0
		open := func(wait func(context.Context) error) stage.Source[int] {
			calls = 0
			return stage.Func(func(ctx context.Context) (int, error) {
				if err := wait(ctx); err != nil {
					return 0, err
				}
				if calls == len(oneToNine) {
					return 0, final
				}
				calls++
				return oneToNine[calls-1], nil
			})
		}
		t.Run(name, func(t *testing.T) {
			stagetest.TestSource(t, stagetest.SourceOptions[int]{
				Want: oneToNine, Err: final, Bubble: true,
				Outside: func() int { return calls },
				Waiting: func(*testing.T) (stage.Source[int], func()) {
					released := make(chan struct{})
					return open(func(ctx context.Context) error {
						select {
						case <-released:
							return nil
						case <-ctx.Done():
							return ctx.Err()
						}
					}), func() { close(released) }
				},
				Panics: func(*testing.T) stage.Source[int] { return open(func(context.Context) error { panic(errBoom) }) },
			}, func(*testing.T) stage.Source[int] { return open(func(context.Context) error { return nil }) })
		})
	}
}

// sinceOpen is a ticker whose values are counted from when it was opened.
type sinceOpen struct {
	stage.Source[time.Time]
	began time.Time
}

func tickerSinceOpen() sinceOpen { return sinceOpen{stage.Ticker(time.Second), time.Now()} }

func (s sinceOpen) Pull(ctx context.Context, dst []time.Duration) (int, error) {
	ticks := make([]time.Time, len(dst))
	n, err := s.Source.Pull(ctx, ticks)
	for i, tick := range ticks[:n] {
		dst[i] = tick.Sub(s.began)
	}
	return n, err
}

func (s sinceOpen) Close() error { return s.Source.(io.Closer).Close() }

func TestTickerConforms(t *testing.T) {
	stagetest.TestSource(t, stagetest.SourceOptions[time.Duration]{
		Want:    []time.Duration{1 * time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second},
		Endless: true, Bubble: true,
		Waiting: func(*testing.T) (stage.Source[time.Duration], func()) { return tickerSinceOpen(), func() {} },
	}, func(*testing.T) stage.Source[time.Duration] { return tickerSinceOpen() })
}

// lineConformance runs the kit over what open makes of text, delivered in pieces of different sizes.
func lineConformance[T any](t *testing.T, text string, want []T, open func(r io.Reader) stage.Source[T]) {
	t.Helper()
	for name, odd := range oddReaders {
		t.Run(name, func(t *testing.T) {
			stagetest.TestSource(t, stagetest.SourceOptions[T]{
				Want: want, Bubble: true,
				Panics: func(*testing.T) stage.Source[T] {
					return open(io.MultiReader(strings.NewReader(text), readerFunc(func([]byte) (int, error) { panic(errBoom) })))
				},
				Trickle: func(t *testing.T) stage.Source[T] {
					t.Helper()
					first, _, _ := strings.Cut(text, "\n")
					return open(io.MultiReader(strings.NewReader(first+"\nrest"), readerFunc(func([]byte) (int, error) {
						<-t.Context().Done()
						return 0, io.EOF
					})))
				},
			}, func(*testing.T) stage.Source[T] { return open(odd(strings.NewReader(text))) })
		})
	}
	t.Run("a reader that fails", func(t *testing.T) {
		stagetest.TestSource(t, stagetest.SourceOptions[T]{Want: want, Err: errBoom, Bubble: true},
			func(*testing.T) stage.Source[T] {
				return open(io.MultiReader(strings.NewReader(text), readerFunc(func([]byte) (int, error) { return 0, errBoom })))
			})
	})
}

func TestLinesConforms(t *testing.T) {
	lineConformance(t, strings.Join(letters, "\n")+"\n", letters, func(r io.Reader) stage.Source[string] {
		return stage.Lines(r, stage.LineOptions{Max: 4})
	})
}

func TestJSONLinesConforms(t *testing.T) {
	var text strings.Builder
	for _, v := range oneToNine {
		fmt.Fprintf(&text, "%d\n\n", v)
	}
	lineConformance(t, text.String(), oneToNine, func(r io.Reader) stage.Source[int] {
		return stage.JSONLines[int](r, stage.LineOptions{})
	})
}

func TestCSVConforms(t *testing.T) {
	want := [][]string{{"a", "b"}, {"c\nd", "e"}, {"f", "g"}, {"", "h"}}
	lineConformance(t, "a,b\n\"c\nd\",e\nf,g\n,h\n", want, func(r io.Reader) stage.Source[[]string] {
		return stage.CSV(r, stage.CSVOptions{})
	})
}

func TestDiscardConforms(t *testing.T) {
	stagetest.TestSink(t, stagetest.SinkOptions[int]{Items: oneToNine, Workers: 3, Bubble: true},
		func(*testing.T) stage.Sink[int] { return stage.Discard[int]() })
}

func TestCollectorConforms(t *testing.T) {
	var c *stage.Collector[int]
	open := func(limit int) func(*testing.T) stage.Sink[int] {
		return func(*testing.T) stage.Sink[int] {
			c = stage.NewCollector[int](limit)
			return c
		}
	}
	stagetest.TestSink(t, stagetest.SinkOptions[int]{
		Items: oneToNine, Workers: 3, Bubble: true,
		Taken:  func() []int { return c.Items() },
		Broken: open(4),
	}, open(100))
}

func TestWriterConforms(t *testing.T) {
	items := chunks("one ", "two ", "three ", "four ", "five ")
	var out *recorder
	open := func(room int) func(*testing.T) stage.Sink[[]byte] {
		return func(*testing.T) stage.Sink[[]byte] {
			out = &recorder{room: room, err: errBoom}
			return stage.Writer(out)
		}
	}
	for name, room := range map[string]int{"stops between items": 8, "stops inside an item": 10, "writes nothing": 0} {
		t.Run(name, func(t *testing.T) {
			stagetest.TestSink(t, stagetest.SinkOptions[[]byte]{
				Items: items, Bubble: true,
				Taken: func() [][]byte {
					var taken [][]byte
					for word := range strings.SplitAfterSeq(strings.Join(out.writes, ""), " ") {
						if word != "" {
							taken = append(taken, []byte(word))
						}
					}
					return taken
				},
				Equal:  bytes.Equal,
				Broken: open(room),
			}, open(100))
		})
	}
}

func TestEveryFuncPartPassesValuesOn(t *testing.T) {
	src := stage.SourceFunc(stage.Slice(oneToNine).Pull)
	var got []int
	sink := stage.SinkFunc(func(_ context.Context, items []int) error {
		got = append(got, items...)
		return nil
	})
	values, _ := pullAll(t, src, 4)
	if err := sink.Push(t.Context(), values); err != nil || !slices.Equal(got, oneToNine) {
		t.Fatalf("Push() = %v with %v", err, got)
	}
}
