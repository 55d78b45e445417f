package flow_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// metas is a sink that keeps the metadata of what it is given.
type metas[T any] struct {
	values []T
	metas  []stage.Meta
}

func (m *metas[T]) PushItems(_ context.Context, items []stage.Item[T]) error {
	for _, it := range items {
		m.values = append(m.values, it.Value)
		m.metas = append(m.metas, it.Meta())
	}
	return nil
}

// keyed gives item i the key "k<i>".
func keyed(i int, m stage.Meta) stage.Meta {
	m.Key = fmt.Sprint("k", i)
	return m
}

// S22: what is derived one to one, or one to many, has the metadata of what it was made from.
func TestS22DerivedItemsInherit(t *testing.T) {
	shapes := map[string]func(flow.Flow[int]) flow.Flow[int]{
		"map":    func(f flow.Flow[int]) flow.Flow[int] { return f.Map(func(i int) int { return i }) },
		"filter": func(f flow.Flow[int]) flow.Flow[int] { return f.Filter(even) },
		"filtermap": func(f flow.Flow[int]) flow.Flow[int] {
			return f.FilterMap(func(i int) (int, bool) { return i, even(i) })
		},
		"trymap":     func(f flow.Flow[int]) flow.Flow[int] { return f.TryMap(same) },
		"flatmap":    func(f flow.Flow[int]) flow.Flow[int] { return f.FlatMap(func(i int) []int { return []int{i, i, i} }) },
		"skip, take": func(f flow.Flow[int]) flow.Flow[int] { return f.Skip(3).Take(50) },
		"buffer":     func(f flow.Flow[int]) flow.Flow[int] { return f.Buffer(3, flow.Block) },
		"parallel":   func(f flow.Flow[int]) flow.Flow[int] { return f.Parallel(3, same) },
		"unordered":  func(f flow.Flow[int]) flow.Flow[int] { return f.Parallel(3, same, flow.Unordered) },
		"skipped":    func(f flow.Flow[int]) flow.Flow[int] { return f.Parallel(3, failAt(7, errA), flow.OnError(flow.Skip)) },
		"broadcast":  func(f flow.Flow[int]) flow.Flow[int] { return flow.Merge(f.Broadcast(2)...) },
		"merge":      func(f flow.Flow[int]) flow.Flow[int] { return flow.Merge(f, flow.FromSlice([]int{-1})) },
	}
	for name, shape := range shapes {
		inBubble(t, name, func(t *testing.T) {
			var sink metas[int]
			must(t, shape(flow.FromSlice(ints(100)).Stamp(keyed)).ToItems(&sink).Run(t.Context()))
			if len(sink.values) < 50 {
				t.Fatalf("%d items, want at least 50", len(sink.values))
			}
			for i, v := range sink.values {
				want := fmt.Sprint("k", v)
				if v < 0 {
					want = "" // a plain one
				}
				equal(t, "key", sink.metas[i].Key, want)
			}
		})
	}
}

// S22: a second Stamp sees what is there, and changes only its own item: neither the other branch's nor the other elements'.
func TestS22StampChangesOnlyItsItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a, b metas[int]
		n := 0
		bs := flow.FromItems(newBroker(20)).Broadcast(2)
		must(t, flow.Join(
			bs[0].FlatMap(func(i int) []int { return []int{i, i} }).
				Stamp(func(i int, m stage.Meta) stage.Meta { n++; m.Key = fmt.Sprint(m.ID, "/", n); return m }).
				Buffer(7, flow.Block).ToItems(&a),
			bs[1].Buffer(3, flow.Block).ToItems(&b),
		).Run(t.Context()))
		for i, m := range a.metas {
			equal(t, "meta of an element", m, stage.Meta{ID: strconv.Itoa(i / 2), Key: fmt.Sprint(i/2, "/", i+1)})
		}
		for i, m := range b.metas {
			equal(t, "meta in the other branch", m, stage.Meta{ID: strconv.Itoa(i)})
		}
	})
}

// S22: groups have the strictest class, the latest deadline (none if one has none), the key all agree on, the highest attempt.
func TestS22Groups(t *testing.T) {
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	later := at.Add(time.Hour)
	cases := map[string]struct {
		members []stage.Meta
		want    stage.Meta
	}{
		"latest deadline": {[]stage.Meta{{Deadline: later}, {Deadline: at}}, stage.Meta{Deadline: later}},
		"one without":     {[]stage.Meta{{Deadline: later}, {}, {Deadline: at}}, stage.Meta{}},
		"the last without": {
			[]stage.Meta{{Deadline: later, Key: "a"}, {Deadline: at, Key: "a"}, {Key: "a"}}, stage.Meta{Key: "a"},
		},
		"strictest class": {
			[]stage.Meta{{Criticality: stage.Sheddable}, {Criticality: stage.CriticalPlus}, {}}, stage.Meta{Criticality: stage.CriticalPlus},
		},
		"one key":   {[]stage.Meta{{Key: "a", Attempt: 1}, {Key: "a", Attempt: 3}}, stage.Meta{Key: "a", Attempt: 3}},
		"many keys": {[]stage.Meta{{Key: "a"}, {Key: "b"}, {Key: "a"}}, stage.Meta{}},
	}
	for name, c := range cases {
		inBubble(t, name, func(t *testing.T) {
			var sink metas[string]
			f := flow.FromSlice(ints(len(c.members))).Stamp(func(i int, _ stage.Meta) stage.Meta { return c.members[i] })
			must(t, f.Batch(10, 0).Map(func(b []int) string { return fmt.Sprint(b) }).ToItems(&sink).Run(t.Context()))
			equal(t, "batches", len(sink.metas), 1)
			equal(t, "meta", sink.metas[0], c.want)
		})
	}
	inBubble(t, "a plain member", func(t *testing.T) { // it has no deadline and no key
		var sink metas[string]
		stamped := flow.FromSlice(ints(3)).Stamp(func(int, stage.Meta) stage.Meta { return stage.Meta{Deadline: at, Key: "a"} })
		must(t, flow.Merge(stamped, flow.FromSlice(ints(1))).Batch(10, 0).Map(func(b []int) string { return fmt.Sprint(b) }).
			ToItems(&sink).Run(t.Context()))
		equal(t, "meta", sink.metas[0], stage.Meta{})
	})
}

// S22: functions that get a context find the item's metadata there, and its deadline is the context's.
func TestS22MetaInTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		stamp := func(i int, _ stage.Meta) stage.Meta {
			m := stage.Meta{ID: strconv.Itoa(i)}
			if i == 1 {
				m.Deadline = began.Add(time.Second)
			}
			return m
		}
		var errs []error
		fn := func(ctx context.Context, i int) (int, error) {
			m, ok := stage.MetaFrom(ctx)
			if !ok || m.ID != strconv.Itoa(i) {
				t.Errorf("item %d: metadata %+v, %v", i, m, ok)
			}
			err := nap(ctx, time.Hour)
			errs = append(errs, err)
			return i, err
		}
		got, err := flow.FromSlice(ints(3)).Stamp(stamp).TryMap(fn, flow.OnError(flow.Skip)).Collect(t.Context(), 3)
		must(t, err)
		equalSlices(t, "items", got, []int{0, 2})
		wantError(t, errs[1], context.DeadlineExceeded)
		equal(t, "time", time.Since(began), 2*time.Hour) // the deadline of item 1 is long past when its turn comes
	})
	inBubble(t, "plain", func(t *testing.T) {
		must(t, flow.FromSlice(ints(3)).ForEach(func(ctx context.Context, _ int) error {
			if m, ok := stage.MetaFrom(ctx); ok {
				return fmt.Errorf("metadata %+v of a plain item", m)
			}
			return nil
		}).Run(t.Context()))
	})
	inBubble(t, "from the caller of an inlet", func(t *testing.T) {
		in := flow.NewInlet(flow.Edge[int]{Capacity: 2})
		var keys []string
		r := start(t, in.Flow().Parallel(1, same).ForEach(func(ctx context.Context, _ int) error {
			m, _ := stage.MetaFrom(ctx)
			keys = append(keys, m.Key)
			return nil
		}))
		ctx := stage.WithMeta(t.Context(), stage.Meta{Key: "tenant"})
		_, err := in.Offer(ctx, 1)
		must(t, err)
		must(t, in.Do(ctx, 2))
		must(t, in.Do(t.Context(), 3))
		in.Close()
		must(t, r.Wait())
		equalSlices(t, "keys", keys, []string{"tenant", "tenant", ""})
	})
	inBubble(t, "in the error", func(t *testing.T) {
		err := discard(flow.FromSlice(ints(3)).Stamp(keyed).TryMap(failAt(2, errA), flow.Name("parse"))).Run(t.Context())
		e, ok := errors.AsType[*stage.Error](err)
		if !ok || e.Key != "k2" || e.Stage != "parse" {
			t.Fatalf("Run() = %v, want an error with the key", err)
		}
	})
}
