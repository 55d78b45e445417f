package flow_test

import (
	"context"
	"fmt"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// peer is the other end of a connection with credits, which asks for two values more when two have come.
type peer struct {
	credits stage.Subscription
	got     int
}

func (p *peer) Deliver(vs ...string) int {
	for _, v := range vs {
		fmt.Println(v)
		if p.got++; p.got%2 == 0 {
			p.credits.Request(2)
		}
	}
	return len(vs)
}

func (*peer) Complete() { fmt.Println("end") }

func (*peer) Fail(err error) { fmt.Println(err) }

func ExampleFlow_ToSubscriber() {
	p := &peer{}
	var out flow.Pipeline
	out, p.credits = flow.FromSlice([]string{"w", "e", "i", "r"}).ToSubscriber(p)
	p.credits.Request(1)
	p.credits.Request(1)
	fmt.Println(out.Run(context.Background()))
	// Output:
	// w
	// e
	// i
	// r
	// end
	// <nil>
}
