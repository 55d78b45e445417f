package flow_test

import (
	"context"
	"fmt"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// readings is a publisher: a device that sends as many readings as it was asked for. It will do for FromPush, which asks for one
// at least, and not while readings are delivered; the example of stagetest.TestPublisher keeps all rules.
type readings struct {
	left []int
	to   stage.Subscriber[int]
}

func (r *readings) Subscribe(_ context.Context, to stage.Subscriber[int]) (stage.Subscription, error) {
	r.to = to
	return r, nil
}

func (r *readings) Request(n int64) {
	if r.to == nil {
		return
	}
	k := r.to.Deliver(r.left[:min(n, int64(len(r.left)))]...)
	if r.left = r.left[k:]; len(r.left) == 0 {
		r.to.Complete()
	}
}

func (r *readings) Cancel() { r.to = nil }

// What the pipeline has room for is what the publisher is asked for.
func ExampleFromPush() {
	device := &readings{left: []int{20, 21, 23, 22}}
	sum, err := flow.FromPush(device, 2).Reduce(context.Background(), 0, func(sum, v int) int { return sum + v })
	fmt.Println(sum, err)
	// Output: 86 <nil>
}
