package flow_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// claimEnds counts how the claims of an inlet's items end.
type claimEnds struct{ done, terminated, givenBack, failed atomic.Int64 }

func (s *claimEnds) Settle(_ uint64, o stage.Outcome) {
	switch {
	case o.Kind == stage.Done:
		s.done.Add(1)
	case o.Kind == stage.Terminated:
		s.terminated.Add(1)
	case o.GivenBack:
		s.givenBack.Add(1)
	default:
		s.failed.Add(1)
	}
}

func (s *claimEnds) want(t *testing.T, done, terminated, givenBack, failed int64) {
	t.Helper()
	if s.done.Load() != done || s.terminated.Load() != terminated || s.givenBack.Load() != givenBack || s.failed.Load() != failed {
		t.Errorf("%d done, %d terminated, %d given back, %d failed; want %d, %d, %d, %d",
			s.done.Load(), s.terminated.Load(), s.givenBack.Load(), s.failed.Load(), done, terminated, givenBack, failed)
	}
}

// An item that brings its own claim settles it once, whether the inlet takes it or not.
func TestInletItemsSettleTheirClaims(t *testing.T) {
	for _, c := range []struct {
		name                                string
		edge                                flow.Edge[int]
		err                                 error // of the third, for which there is no room
		done, terminated, givenBack, failed int64
	}{
		{"Reject", flow.Edge[int]{Capacity: 2, OnFull: flow.Reject}, &flow.FullError{}, 2, 0, 1, 0},
		{"DropNewest", flow.Edge[int]{Capacity: 2, OnFull: flow.DropNewest, SettleDropped: flow.Term}, flow.ErrDropped, 2, 1, 0, 0},
		{"DropOldest", flow.Edge[int]{Capacity: 2, OnFull: flow.DropOldest, SettleDropped: flow.Term}, nil, 2, 1, 0, 0},
	} {
		for way, put := range map[string]func(*flow.Inlet[int], stage.Item[int]) error{
			"Offer": func(in *flow.Inlet[int], it stage.Item[int]) error { _, err := in.OfferItem(it); return err },
			"Put": func(in *flow.Inlet[int], it stage.Item[int]) error {
				_, err := in.PutItem(context.Background(), it)
				return err
			},
			"Do": func(in *flow.Inlet[int], it stage.Item[int]) error { // that it has got in is seen by its deadline alone
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				if err := in.DoItem(ctx, it); !errors.Is(err, context.DeadlineExceeded) {
					return err
				}
				return nil
			},
		} {
			t.Run(c.name+" "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var s claimEnds
					in := flow.NewInlet(c.edge)
					for i := range 3 {
						err := put(in, stage.Claimed(i, stage.Meta{Key: "k"}, &s, 0))
						_, full := errors.AsType[*flow.FullError](err)
						_, wantFull := errors.AsType[*flow.FullError](c.err)
						if i < 2 && err != nil || i == 2 && (full != wantFull || !full && !errors.Is(err, c.err)) {
							t.Errorf("item %d: %v", i, err)
						}
					}
					run, err := in.Flow().ForEach(func(ctx context.Context, _ int) error {
						if m, _ := stage.MetaFrom(ctx); m.Key != "k" {
							t.Errorf("the metadata is %+v", m)
						}
						return nil
					}).Start(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					in.Close()
					if err := run.Wait(); err != nil {
						t.Error(err)
					}
					s.want(t, c.done, c.terminated, c.givenBack, c.failed)
					if err := put(in, stage.Claimed(9, stage.Meta{}, &s, 0)); !errors.Is(err, flow.ErrClosed) {
						t.Errorf("closed: %v", err)
					}
					s.want(t, c.done, c.terminated, c.givenBack+1, c.failed)
				})
			})
		}
	}
}

// A Put that gives up gives its item back.
func TestPutItemThatGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s claimEnds
		in := flow.NewInlet(flow.Edge[int]{Capacity: 1})
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := in.PutItem(ctx, stage.Claimed(1, stage.Meta{}, &s, 0)); err != nil {
			t.Fatal(err)
		}
		result := make(chan error, 1)
		go func() {
			_, err := in.PutItem(ctx, stage.Claimed(2, stage.Meta{}, &s, 0))
			result <- err
		}()
		synctest.Wait()
		s.want(t, 0, 0, 0, 0)
		cancel()
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		s.want(t, 0, 0, 1, 0)
	})
}

// Do tells what the item's own claim is told.
func TestDoItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s claimEnds
		broken := errors.New("broken")
		in := flow.NewInlet(flow.Edge[int]{Capacity: 1})
		run, err := in.Flow().ForEach(func(_ context.Context, v int) error {
			if v == 2 {
				return broken
			}
			return nil
		}).Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []error{nil, nil, broken} {
			if err := in.DoItem(t.Context(), stage.Claimed(i, stage.Meta{}, &s, 0)); !errors.Is(err, want) {
				t.Errorf("item %d: %v, want %v", i, err, want)
			}
		}
		s.want(t, 2, 0, 0, 1)
		if err := run.Wait(); !errors.Is(err, broken) {
			t.Errorf("the run ends with %v", err)
		}
	})
}
