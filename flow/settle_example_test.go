package flow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weir-go/weir/flow"
)

// An edge that drops messages of a broker must say what that means for them. Here the third one finds the edge full.
func ExampleSettleDropped() {
	broker := newMailbox()
	err := flow.FromItems(broker).
		Buffer(1, flow.DropNewest, flow.SettleDropped(flow.Term)).
		ForEach(broker.work).
		Run(context.Background())
	fmt.Println(err)
	// Output:
	// m3: terminated, flow: dropped by the edge
	// m1: acknowledged
	// m2: acknowledged
	// <nil>
}

// Not saying it is a build error, because each of the answers is wrong for somebody.
func ExampleSettleDropped_missing() {
	broker := newMailbox()
	err := flow.FromItems(broker).Buffer(1, flow.DropNewest).ForEach(broker.work).Check()
	_, text, _ := strings.Cut(err.Error(), "): ")
	fmt.Println(text)
	// Output: it can drop messages: say with SettleDropped how a dropped one ends (Ack, Term or Nak), here or at the source
}

// Ack: the message is done, and nobody misses it. At the source it holds for all edges behind it.
func ExampleSettlement_ack() {
	broker := newMailbox()
	err := flow.FromItems(broker, flow.SettleDropped(flow.Ack)).
		Buffer(1, flow.DropNewest).
		ForEach(broker.work).
		Run(context.Background())
	fmt.Println(err)
	// Output:
	// m3: acknowledged
	// m1: acknowledged
	// m2: acknowledged
	// <nil>
}

// Term: the message is never delivered again, but not taken for done.
func ExampleSettlement_term() {
	broker := newMailbox()
	err := flow.FromItems(broker).
		Edge(flow.Edge[string]{Capacity: 1, OnFull: flow.DropOldest, SettleDropped: flow.Term}).
		ForEach(broker.work).
		Run(context.Background())
	fmt.Println(err)
	// Output:
	// m2: terminated, flow: dropped by the edge
	// m1: acknowledged
	// m3: acknowledged
	// <nil>
}

// Nak: the message comes again after a while, when there may be room.
func ExampleNak() {
	broker := newMailbox()
	err := flow.FromItems(broker).
		Buffer(1, flow.DropNewest, flow.SettleDropped(flow.Nak(time.Minute))).
		ForEach(broker.work).
		Run(context.Background())
	fmt.Println(errors.Is(err, flow.ErrDropped), err) // a drop is no error of the run
	// Output:
	// m3: again after 1m0s, flow: dropped by the edge
	// m1: acknowledged
	// m2: acknowledged
	// false <nil>
}
