package broker_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/memory"
)

// For those who need no graph: what the handler fails comes again.
func ExampleConsume() {
	stream := memory.NewStream(memory.StreamConfig{Name: "mails", MaxMessages: 100})
	post(stream, `"ann"`, `"bob"`)

	source := broker.NewSource(stream.Fetcher(memory.FetchConfig{}), broker.JSON[string](), broker.SourceOptions{})
	failed := false
	err := broker.Consume(context.Background(), source, func(_ context.Context, to string) error {
		if !failed {
			failed = true
			return errors.New("nobody opens")
		}
		fmt.Println("a mail for", to)
		return nil
	}, broker.ConsumeOptions{})
	fmt.Println(err)
	// Output:
	// a mail for bob
	// a mail for ann
	// <nil>
}
