package stage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weir-go/weir/stage"
)

var errBoom = errors.New("boom")

// ledger is a settler that remembers what it is told.
type ledger struct{ got []string }

func (l *ledger) Settle(token uint64, o stage.Outcome) {
	kind := [...]string{stage.Done: "done", stage.Terminated: "terminated", stage.Failed: "failed"}[o.Kind]
	l.got = append(l.got, fmt.Sprint(token, " ", kind))
}

func (l *ledger) want(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(l.got, want) {
		t.Fatalf("settled %q, want %q", l.got, want)
	}
}

// input returns the input of a stage with n claimed items, whose values and tokens count from 1.
func input(by stage.Settler, n int) *stage.In[int] {
	i := 0
	return stage.NewIn(func(context.Context) (stage.Item[int], error) {
		if i == n {
			return stage.Item[int]{}, stage.ErrEnd
		}
		i++
		return stage.Claimed(i, stage.Meta{Key: "k", Attempt: i}, by, uint64(i)), nil
	})
}

// output returns the output of a stage, and what it was given; the receiver of the items ends them with release.
func output[T any]() (out *stage.Out[T], got *[]stage.Item[T]) {
	got = new([]stage.Item[T])
	return stage.NewOut(func(_ context.Context, it stage.Item[T]) error {
		*got = append(*got, it)
		return nil
	}), got
}

func release[T any](items []stage.Item[T]) {
	for _, it := range items {
		stage.TagOf(it).Release(stage.Outcome{})
	}
}

func next(t *testing.T, in *stage.In[int]) stage.Item[int] {
	t.Helper()
	it, err := in.Next(t.Context())
	if err != nil {
		t.Fatalf("Next() = %v", err)
	}
	return it
}

func TestAnItemSettlesAsDoneWhenTheNextOneIsAskedFor(t *testing.T) {
	var l ledger
	in := input(&l, 2)
	next(t, in)
	l.want(t)
	next(t, in)
	l.want(t, "1 done")
	if n := in.Finish(stage.Outcome{Kind: stage.Failed, Err: errBoom}); n != 0 {
		t.Fatalf("Finish() = %d, want 0", n)
	}
	l.want(t, "1 done", "2 failed")
}

func TestNextPassesTheEndOn(t *testing.T) {
	var l ledger
	in := input(&l, 1)
	next(t, in)
	if _, err := in.Next(t.Context()); err != stage.ErrEnd {
		t.Fatalf("Next() = %v, want ErrEnd", err)
	}
	l.want(t, "1 done")
}

func TestAllEndsWithoutAnErrorAtTheEnd(t *testing.T) {
	var l ledger
	var got []int
	for it, err := range input(&l, 3).All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, it.Value)
	}
	if want := []int{1, 2, 3}; !slices.Equal(got, want) {
		t.Fatalf("All() = %v, want %v", got, want)
	}
	l.want(t, "1 done", "2 done", "3 done")
}

func TestAllYieldsAnErrorLast(t *testing.T) {
	in := stage.NewIn(func(context.Context) (stage.Item[int], error) { return stage.Item[int]{}, errBoom })
	turns := 0
	for _, err := range in.All(t.Context()) {
		if turns++; !errors.Is(err, errBoom) {
			t.Fatalf("error = %v, want %v", err, errBoom)
		}
	}
	if turns != 1 {
		t.Fatalf("the loop ran %d times, want 1", turns)
	}
}

func TestAllKeepsTheCurrentItemWhenTheLoopIsLeft(t *testing.T) {
	var l ledger
	in := input(&l, 2)
	for _, err := range in.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	l.want(t)
	in.Finish(stage.Outcome{})
	l.want(t, "1 done")
}

func TestEmitTakesAShareOfItsOwn(t *testing.T) {
	var l ledger
	in := input(&l, 1)
	out, got := output[string]()
	it := next(t, in)
	for _, v := range []string{"a", "b"} {
		if err := out.Emit(t.Context(), it.With(v)); err != nil {
			t.Fatal(err)
		}
	}
	in.Finish(stage.Outcome{})
	l.want(t)
	release((*got)[:1])
	l.want(t)
	release((*got)[1:])
	l.want(t, "1 done")
}

func TestAKeptItemOutlivesTheNextOne(t *testing.T) {
	var l ledger
	in := input(&l, 2)
	kept := in.Keep(next(t, in))
	next(t, in)
	l.want(t)
	kept.Fail(errBoom)
	kept.Done() // the second end does nothing
	l.want(t, "1 failed")
	if n := in.Finish(stage.Outcome{}); n != 0 {
		t.Fatalf("Finish() = %d, want 0", n)
	}
	l.want(t, "1 failed", "2 done")
}

func TestAnEmittedKeptItemStillHasToBeEnded(t *testing.T) {
	var l ledger
	in := input(&l, 1)
	out, got := output[int]()
	kept := in.Keep(next(t, in))
	if err := out.Emit(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	in.Finish(stage.Outcome{}) // gives the kept share back
	l.want(t)
	release(*got)
	l.want(t, "1 failed")
}

func TestFinishGivesBackWhatIsKept(t *testing.T) {
	var l ledger
	in := input(&l, 3)
	for range 3 {
		in.Keep(next(t, in))
	}
	if n := in.Finish(stage.Outcome{}); n != 3 {
		t.Fatalf("Finish() = %d, want 3", n)
	}
	slices.Sort(l.got)
	l.want(t, "1 failed", "2 failed", "3 failed")
}

func TestCombineTakesOverTheClaims(t *testing.T) {
	var l ledger
	in := input(&l, 2)
	out, got := output[string]()
	a := in.Keep(next(t, in))
	b := in.Keep(next(t, in))
	both := stage.Combine("ab", a, b)
	if m := both.Meta(); m.Key != "k" || m.Attempt != 2 {
		t.Fatalf("Meta() = %+v, want key k and attempt 2", m)
	}
	if err := out.Emit(t.Context(), both); err != nil {
		t.Fatal(err)
	}
	if n := in.Finish(stage.Outcome{}); n != 0 {
		t.Fatalf("Finish() = %d, want 0", n)
	}
	l.want(t)
	release(*got)
	l.want(t, "1 done", "2 done")
}

func TestACombinedItemMayBeEndedInstead(t *testing.T) {
	var l ledger
	in := input(&l, 1)
	both := stage.Combine("a", in.Keep(next(t, in)))
	both.Fail(errBoom)
	in.Finish(stage.Outcome{})
	l.want(t, "1 failed")
}

// A stage that fails between Combine and Emit must not leave a message unsettled.
func TestFinishGivesBackWhatWasCombinedAndNotEmitted(t *testing.T) {
	var l ledger
	in := input(&l, 2)
	a := in.Keep(next(t, in))
	b := in.Keep(next(t, in))
	_ = stage.Combine("ab", a, b).With(7)
	if n := in.Finish(stage.Outcome{Kind: stage.Failed, Err: errBoom}); n != 1 {
		t.Fatalf("Finish() = %d, want 1", n)
	}
	l.want(t, "1 failed", "2 failed")
}

func TestCombineOfCombinedItems(t *testing.T) {
	var l ledger
	in := input(&l, 3)
	out, got := output[string]()
	pair := stage.Combine("ab", in.Keep(next(t, in)).With("a"), in.Keep(next(t, in)).With("b"))
	all := stage.Combine("abc", pair, in.Keep(next(t, in)).With("c"))
	if err := out.Emit(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	if n := in.Finish(stage.Outcome{}); n != 0 {
		t.Fatalf("Finish() = %d, want 0", n)
	}
	release(*got)
	l.want(t, "1 done", "2 done", "3 done")
}

func TestPlainItemsNeedNoCare(t *testing.T) {
	in := stage.NewIn(func(context.Context) (stage.Item[int], error) { return stage.Item[int]{Value: 1}, nil })
	out, got := output[int]()
	kept := in.Keep(next(t, in))
	kept.Done()
	if err := out.Emit(t.Context(), stage.Combine(2, kept)); err != nil {
		t.Fatal(err)
	}
	if n := in.Finish(stage.Outcome{}); n != 0 {
		t.Fatalf("Finish() = %d, want 0", n)
	}
	if v, m := (*got)[0].Value, (*got)[0].Meta(); v != 2 || m != (stage.Meta{}) {
		t.Fatalf("emitted %v with %+v, want 2 without metadata", v, m)
	}
}

func TestNewItemCarriesMetadata(t *testing.T) {
	m := stage.Meta{ID: "1", Key: "k", Criticality: stage.Sheddable, Deadline: time.Unix(1, 0), Attempt: 3}
	if got := stage.NewItem("a", m).With(1).Meta(); got != m {
		t.Fatalf("Meta() = %+v, want %+v", got, m)
	}
	if tag := stage.TagOf(stage.Tagged(1, stage.TagOf(stage.NewItem("a", m)))); tag.Meta != m {
		t.Fatalf("the tag has %+v, want %+v", tag.Meta, m)
	}
}

type oneItem struct{}

func (oneItem) PullItems(_ context.Context, dst []stage.Item[int]) (int, error) {
	dst[0] = stage.NewItem(7, stage.Meta{Key: "k"})
	return 1, stage.ErrEnd
}

func TestItemFuncsCallTheirFunction(t *testing.T) {
	dst := make([]stage.Item[int], 1)
	n, err := stage.ItemSourceFunc(oneItem{}.PullItems).PullItems(t.Context(), dst)
	if n != 1 || err != stage.ErrEnd || dst[0].Value != 7 {
		t.Fatalf("PullItems() = %d, %v with %v", n, err, dst[0].Value)
	}
	var got []stage.Item[int]
	sink := stage.ItemSinkFunc(func(_ context.Context, items []stage.Item[int]) error {
		got = append(got, items...)
		return nil
	})
	if err := sink.PushItems(t.Context(), dst); err != nil || len(got) != 1 || got[0].Meta().Key != "k" {
		t.Fatalf("PushItems() = %v, sink has %v", err, got)
	}
}

func ExampleStageFunc() {
	pairs := stage.StageFunc(func(ctx context.Context, in *stage.In[int], out *stage.Out[[2]int]) error {
		var held []stage.Item[int]
		for it, err := range in.All(ctx) {
			if err != nil {
				return err
			}
			if held = append(held, in.Keep(it)); len(held) < 2 {
				continue
			}
			pair := stage.Combine([2]int{held[0].Value, held[1].Value}, held...)
			held = held[:0]
			if err := out.Emit(ctx, pair); err != nil {
				return err
			}
		}
		for _, alone := range held {
			alone.Done()
		}
		return nil
	})

	in := input(nil, 5) // items 1 to 5; in a program the engine makes in and out
	out := stage.NewOut(func(_ context.Context, it stage.Item[[2]int]) error {
		fmt.Println(it.Value, it.Meta().Key)
		return nil
	})
	fmt.Println(pairs.Run(context.Background(), in, out))
	// Output:
	// [1 2] k
	// [3 4] k
	// <nil>
}

type nobody struct{}

func (nobody) Settle(uint64, stage.Outcome) {}

func BenchmarkClaimed(b *testing.B) {
	const items = 4096
	b.ReportAllocs()
	for b.Loop() {
		for i := range uint64(items) {
			stage.TagOf(stage.Claimed(i, stage.Meta{ID: "id", Key: "k", Attempt: 1}, nobody{}, i)).Release(stage.Outcome{})
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/items, "ns/item")
}
