package jetstream_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/jetstream"
)

// A handler and its messages: what it fails comes again, and what it has handled is acknowledged.
func ExampleConsume() {
	nc, stop := serve(jetstream.StreamConfig{Name: "MAILS", Subjects: []string{"mails"}, MaxMessages: 100})
	defer stop()
	put(nc, "mails", `"ann"`, `"bob"`)

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	calls := 0
	err := jetstream.Consume(ctx, nc, broker.JSON[string](), "MAILS", "postman", func(_ context.Context, to string) error {
		calls++
		if calls == 1 {
			return errors.New("nobody opens")
		}
		fmt.Println("a mail for", to)
		if to == "ann" {
			cancel() // for the example; a service passes the context of signal.NotifyContext
		}
		return nil
	})
	fmt.Println(err, calls)
	// Output:
	// a mail for bob
	// a mail for ann
	// <nil> 3
}
