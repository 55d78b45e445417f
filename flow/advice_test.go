package flow_test

import (
	"slices"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// limited is a source that leaves no more than ten items unsettled.
type limitedSource struct{ stage.ItemSource[int] }

func (limitedSource) InFlight() int { return 10 }

func TestAdvice(t *testing.T) {
	source := func() flow.Flow[int] { return flow.FromItems[int](limitedSource{newBroker(5)}, flow.Name("src")) }
	tests := []struct {
		name  string
		build func() flow.Pipeline
		want  []string
	}{
		{"nothing", func() flow.Pipeline {
			return discard(source().Buffer(10, flow.Block).Parallel(10, same).Batch(10, time.Second).Map(size))
		}, nil},
		{"an edge", func() flow.Pipeline { return discard(source().Buffer(11, flow.Block, flow.Name("wide"))) }, []string{
			"flow: wide (%): it has 11 places, of which 10 are ever taken: so many are left unsettled by what comes in",
		}},
		{"workers", func() flow.Pipeline { return discard(source().Parallel(20, same, flow.Name("crowd"))) }, []string{
			"flow: crowd (%): it has 20 workers, of which 10 ever have something to do: so many are left unsettled by what comes in",
		}},
		{"a batch with a time", func() flow.Pipeline {
			return discard(source().Batch(11, time.Second, flow.Name("eleven")).Map(size))
		}, []string{
			"flow: eleven (%): it gathers 11 items, but never gets more than 10: so many are left unsettled by what comes in",
		}},
		{"inside and behind a loop", func() flow.Pipeline {
			return discard(flow.FromSlice(ints(9)).Loop(flow.Gated(3), func(in flow.Flow[int]) (out, again flow.Flow[int]) {
				return in.Buffer(4, flow.Block, flow.Name("inside")).Split(even)
			}, flow.Name("ring")).Buffer(4, flow.Block))
		}, []string{"flow: inside (%): it has 4 places, of which 3 are ever taken: the gate of ring lets in no more"}},
		{"behind what makes many of one", func() flow.Pipeline {
			return discard(source().FlatMap(ints).Buffer(1000, flow.Block))
		}, nil},
		{"with a build error", func() flow.Pipeline { return discard(source().Buffer(11, flow.Block).Buffer(0, flow.Block)) }, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, text := range tt.build().Advice() {
				got = append(got, lineOf.ReplaceAllString(text, "(%)"))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("Advice() = %q, want %q", got, tt.want)
			}
		})
	}
	if got := (flow.Pipeline{}).Advice(); got != nil {
		t.Errorf("Advice() of the zero Pipeline = %q, want none", got)
	}
}
