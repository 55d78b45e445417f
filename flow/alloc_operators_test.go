package flow_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

func TestStepsAllocateNothing(t *testing.T) {
	for name, step := range map[string]func(flow.Flow[int]) flow.Flow[int]{
		"FilterMap": func(f flow.Flow[int]) flow.Flow[int] {
			return f.FilterMap(func(i int) (int, bool) { return i, even(i) })
		},
		"Take":       func(f flow.Flow[int]) flow.Flow[int] { return f.Take(math.MaxInt) },
		"Skip":       func(f flow.Flow[int]) flow.Flow[int] { return f.Skip(10) },
		"BestEffort": func(f flow.Flow[int]) flow.Flow[int] { return f.BestEffort() },
	} {
		t.Run(name, func(t *testing.T) { allocatesNothing(t, consumes(step)) })
	}
}

func TestOperatorsWithAnEdgeAllocateNothing(t *testing.T) {
	for name, operator := range map[string]func(flow.Flow[int]) flow.Flow[int]{
		"Edge with a weight and MaxWait": func(f flow.Flow[int]) flow.Flow[int] {
			return f.Edge(flow.Edge[int]{Capacity: 64, MaxWait: time.Hour, MaxWeight: 64, Weight: func(int) int64 { return 1 }})
		},
		"ParallelByKey": func(f flow.Flow[int]) flow.Flow[int] { return f.ParallelByKey(2, even, same) },
	} {
		t.Run(name, func(t *testing.T) { allocatesNothing(t, consumes(operator)) })
	}
}

func TestFanOutAllocatesNothing(t *testing.T) {
	for name, branches := range map[string]func(flow.Flow[int]) []flow.Flow[int]{
		"Balance":   func(f flow.Flow[int]) []flow.Flow[int] { return f.Balance(2) },
		"Partition": func(f flow.Flow[int]) []flow.Flow[int] { return f.Partition(2, even) },
		"Split": func(f flow.Flow[int]) []flow.Flow[int] {
			yes, no := f.Split(even)
			return []flow.Flow[int]{yes, no}
		},
	} {
		t.Run(name, func(t *testing.T) {
			allocatesNothing(t, func(n int) error {
				b := branches(flow.From(counting(n)))
				left, right := &tally{}, &tally{}
				err := flow.Join(b[0].To(left), b[1].To(right)).Run(context.Background())
				return errors.Join(err, (&tally{n: left.n + right.n}).want(n))
			})
		})
	}
	t.Run("Tee", func(t *testing.T) {
		allocatesNothing(t, func(n int) error {
			side := &tally{}
			err := counted(flow.From(counting(n)).Tee(func(f flow.Flow[int]) flow.Pipeline { return f.To(side) }), n)
			return errors.Join(err, side.want(n))
		})
	})
}

func TestFanInAllocatesNothing(t *testing.T) {
	for name, join := range map[string]func(a, b flow.Flow[int]) flow.Flow[int]{
		"MergeSorted":   func(a, b flow.Flow[int]) flow.Flow[int] { return a.MergeSorted(cmp.Compare[int], b) },
		"MergePriority": func(a, b flow.Flow[int]) flow.Flow[int] { return flow.MergePriority(a, b) },
		"Interleave":    func(a, b flow.Flow[int]) flow.Flow[int] { return a.Interleave(3, b) },
		"Concat, edges": func(a, b flow.Flow[int]) flow.Flow[int] {
			return a.Buffer(64, flow.Block).Concat(b.Buffer(64, flow.Block))
		},
	} {
		t.Run(name, func(t *testing.T) {
			allocatesNothing(t, func(n int) error {
				return counted(join(flow.From(counting(n/2)), flow.From(counting(n-n/2))), n)
			})
		})
	}
	t.Run("Zip", func(t *testing.T) {
		allocatesNothing(t, func(n int) error {
			pairs := flow.From(counting(n)).Zip(flow.From(counting(n)))
			return counted(pairs.Map(func(p flow.Pair[int, int]) int { return p.First }), n)
		})
	})
	t.Run("ZipWith", func(t *testing.T) {
		allocatesNothing(t, func(n int) error {
			sums := flow.From(counting(n)).ZipWith(flow.From(counting(n)), func(a, b int) int { return a + b })
			return counted(sums, n)
		})
	})
}

func TestToSubscriberAllocatesNothing(t *testing.T) {
	allocatesNothing(t, func(n int) error {
		k := &credited{}
		var p flow.Pipeline
		p, k.credits = flow.From(counting(n)).ToSubscriber(k)
		k.credits.Request(100)
		return errors.Join(p.Run(context.Background()), k.want(n))
	})
}

// credited is a subscriber that counts, and asks for 100 values more when 100 have come.
type credited struct {
	tally
	credits stage.Subscription
}

func (s *credited) Deliver(vs ...int) int {
	if before := s.n; (before+len(vs))/100 > before/100 {
		s.credits.Request(100)
	}
	s.n += len(vs)
	return len(vs)
}

func (*credited) Complete() {}

func (*credited) Fail(error) {}

// pushing is a publisher of 0 to n-1 that delivers what it has been asked for, within Request.
type pushing struct {
	n, next int
	to      stage.Subscriber[int]
	buf     [64]int
}

func (p *pushing) Subscribe(_ context.Context, to stage.Subscriber[int]) (stage.Subscription, error) {
	p.to = to
	return p, nil
}

func (p *pushing) Request(n int64) {
	for n > 0 && p.next < p.n {
		k := min(int(n), p.n-p.next, len(p.buf))
		for i := range k {
			p.buf[i] = p.next + i
		}
		p.next += p.to.Deliver(p.buf[:k]...)
		n -= int64(k)
	}
	if p.next == p.n {
		p.to.Complete()
	}
}

func (*pushing) Cancel() {}

func TestPushSourcesAllocateNothing(t *testing.T) {
	t.Run("FromPush", func(t *testing.T) {
		allocatesNothing(t, func(n int) error { return counted(flow.FromPush(&pushing{n: n}, 64), n) })
	})
	t.Run("Put into an inlet", func(t *testing.T) {
		pooled(t, 0, func(n int) error {
			in := flow.NewInlet(flow.Edge[int]{Capacity: 64})
			return putAll(in.Flow(), n, in.Close, in)
		})
	})
	t.Run("Put into a merge hub, by two", func(t *testing.T) {
		pooled(t, 0, func(n int) error {
			hub := flow.NewMergeHub(2, flow.Edge[int]{Capacity: 64})
			a, errA := hub.Attach()
			b, errB := hub.Attach()
			return errors.Join(errA, errB, putAll(hub.Flow(), n, hub.Close, a, b))
		})
	})
	t.Run("broadcast hub, two members", func(t *testing.T) {
		allocatesNothing(t, func(n int) error {
			hub := flow.NewBroadcastHub[int](2, 128)
			a, _, errA := hub.Attach(flow.Edge[int]{Capacity: 64})
			b, _, errB := hub.Attach(flow.Edge[int]{Capacity: 64})
			if err := errors.Join(errA, errB); err != nil {
				return err
			}
			var wg sync.WaitGroup
			errs := make([]error, 2)
			for i, member := range []flow.Flow[int]{a, b} {
				wg.Go(func() { errs[i] = counted(member, n) })
			}
			err := flow.From(counting(n)).ToHub(hub).Run(context.Background())
			wg.Wait()
			return errors.Join(append(errs, err)...)
		})
	})
}

// A Do has something to wait on, and a settler that tells it.
func TestDoAllocatesWhatItWaitsFor(t *testing.T) {
	pooled(t, 3, func(n int) error {
		in := flow.NewInlet(flow.Edge[int]{Capacity: 64})
		k := &tally{}
		r, err := in.Flow().To(k).Start(context.Background())
		if err != nil {
			return err
		}
		for i := range n {
			err = errors.Join(err, in.Do(context.Background(), i))
		}
		in.Close()
		return errors.Join(err, r.Wait(), k.want(n))
	})
}

// putAll puts n values into the inlets, at the same time, while f is counted.
func putAll(f flow.Flow[int], n int, done func(), inlets ...*flow.Inlet[int]) error {
	errs := make([]error, len(inlets))
	var wg sync.WaitGroup
	for i, in := range inlets {
		wg.Go(func() {
			for k := range n / len(inlets) {
				if _, err := in.Put(context.Background(), k); err != nil {
					errs[i] = err
				}
			}
		})
	}
	go func() {
		wg.Wait()
		done()
	}()
	return errors.Join(append(errs, counted(f, n))...)
}

func TestWhatMetadataCosts(t *testing.T) {
	for _, c := range []struct {
		name string
		per  float64
		step func(flow.Flow[int]) flow.Flow[int]
	}{
		{"Map", 0, func(f flow.Flow[int]) flow.Flow[int] { return f.Map(twice) }},
		{"Stamp", 0, func(f flow.Flow[int]) flow.Flow[int] {
			return f.Stamp(func(_ int, m stage.Meta) stage.Meta { return m })
		}},
		{"TryMap", 1, func(f flow.Flow[int]) flow.Flow[int] { return f.TryMap(same) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			pooled(t, c.per, func(n int) error { return counted(c.step(flow.FromItems(tagged(n))), n) })
		})
	}
}

// tagged is a source of 0 to n-1 with metadata and claims.
func tagged(n int) stage.ItemSource[int] {
	next, none := 0, stage.Settler(nobody{})
	return stage.ItemSourceFunc[int](func(_ context.Context, dst []stage.Item[int]) (int, error) {
		k := min(len(dst), n-next)
		if k == 0 {
			return 0, stage.ErrEnd
		}
		for i := range k {
			dst[i] = stage.Claimed(next, stage.Meta{Key: "key"}, none, 0)
			next++
		}
		return k, nil
	})
}

func TestOpenAtAllocatesNothing(t *testing.T) {
	pooled(t, 0, func(n int) error {
		next := 0
		open := func(context.Context, string) (stage.Source[stage.At[int]], error) {
			return stage.SourceFunc(func(_ context.Context, dst []stage.At[int]) (int, error) {
				k := min(len(dst), n-next)
				if k == 0 {
					return 0, stage.ErrEnd
				}
				for i := range k {
					dst[i] = stage.At[int]{Value: next, Position: "somewhere"}
					next++
				}
				return k, nil
			}), nil
		}
		return counted(flow.OpenAt(open, flow.Checkpoint(newShelf())), n)
	})
}

// An Expand allocates for a call, and not for what it emits.
func TestExpandAllocatesForACallOnly(t *testing.T) {
	for _, results := range []int{0, 1, 10} {
		got := allocsOf(t, 1000, 20_000, func(n int) error {
			f := flow.From(counting(n)).Expand(func(_ context.Context, v int, emit func(int) error) error {
				for range results {
					if err := emit(v); err != nil {
						return err
					}
				}
				return nil
			})
			return counted(f, n*results)
		})
		if math.Abs(got-1) > 0.01 {
			t.Errorf("%.3f allocations for a call that emits %d results, want 1", got, results)
		}
	}
}

// consumes returns a run that counts what goes into the operators.
func consumes(operators func(flow.Flow[int]) flow.Flow[int]) func(n int) error {
	return func(n int) error {
		k := &tally{}
		f := operators(flow.From(counting(n)).Tap(func(int) { k.n++ }))
		return errors.Join(f.To(stage.Discard[int]()).Run(context.Background()), k.want(n))
	}
}

// pooled fails the test where an item costs more than so many allocations. Under the race detector a sync.Pool forgets a part of what
// it is given on purpose.
func pooled(t *testing.T, want float64, run func(n int) error) {
	t.Helper()
	most := want + 2*perItem
	if raceEnabled {
		most = want + 1
	}
	if got := allocsOf(t, 1000, 20_000, run); got >= most {
		t.Errorf("%.4f allocations an item, want %v", got, want)
	}
}
