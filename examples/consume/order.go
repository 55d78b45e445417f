package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/jetstream"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// Order is what is in the stream. Number counts the orders of a customer, from 1.
type Order struct {
	ID       string
	Customer string
	Number   int
	Cents    int
}

// makeOrders makes n orders of ten customers, in turn. One of 50 has an amount that makes no sense.
func makeOrders(n int) []Order {
	all := make([]Order, n)
	for i := range all {
		all[i] = Order{ID: fmt.Sprintf("order-%d", i+1), Customer: fmt.Sprintf("customer-%d", i%10), Number: i/10 + 1, Cents: 100 + i}
		if i%50 == 49 {
			all[i].Cents = -1
		}
	}
	return all
}

// publish stores n orders. It ends when the last one is confirmed.
func publish(ctx context.Context, nc *nats.Conn, n int, w io.Writer) error {
	sink := jetstream.NewSink(nc, broker.JSON[Order](), jetstream.SinkConfig[Order]{
		Stream:  ordersStream,
		Subject: func(o Order) string { return "orders." + o.Customer },
		ID:      func(o Order) string { return o.ID }, // within two minutes an order is stored once, however often it is sent
		Ordered: true,
	})
	if err := flow.FromSlice(makeOrders(n)).To(sink).Run(ctx); err != nil {
		return err
	}
	s := sink.Stats()
	_, err := fmt.Fprintf(w, "%d orders are stored; for room in the stream they waited %d ms\n", s.Stored, s.Blocked.Milliseconds())
	return err
}

var (
	errAmount = errors.New("the amount makes no sense")
	errBusy   = errors.New("the bank is busy")
)

// handle stands for the work. One of 20 orders fails once, and is handled when it comes again.
func handle(ctx context.Context, o Order) (Order, error) {
	m, _ := stage.MetaFrom(ctx)
	select {
	case <-time.After(10 * time.Millisecond):
	case <-ctx.Done():
		return o, context.Cause(ctx)
	}
	switch {
	case o.Cents < 0:
		return o, errAmount
	case o.Cents%20 == 0 && m.Attempt == 1:
		return o, errBusy
	}
	return o, nil
}
