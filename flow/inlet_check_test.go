package flow_test

import (
	"testing"

	"github.com/weir-go/weir/flow"
)

// Check and Graph look at a pipeline: they leave no consumer behind at its inlet.
func TestInletHearsOfItsConsumerBehindACheck(t *testing.T) {
	inBubble(t, "a Take that has had enough", func(t *testing.T) {
		in := flow.NewInlet(flow.Edge[int]{Capacity: 4})
		p := discard(in.Flow().Take(1))
		must(t, p.Check())
		if p.Graph().Mermaid() == "" {
			t.Fatal("the graph is empty")
		}
		r := start(t, p)
		_, err := in.Put(t.Context(), 1)
		must(t, err)
		must(t, r.Wait())
		_, err = in.Offer(t.Context(), 2)
		wantError(t, err, flow.ErrClosed)
	})
}
