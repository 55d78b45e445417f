// Command enrich looks customers up for a stream of orders, eight at a time, and keeps the orders of each customer in order.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/weir-go/weir/flow"
)

// Order is what comes in. N counts the orders of its customer.
type Order struct {
	Customer string
	N        int
}

// Priced is an order with what the lookup has added.
type Priced struct {
	Order
	Discount int // percent
}

func main() {
	if err := run(context.Background(), orders(120), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run enriches all orders and prints one line for each customer: what came, in which order.
func run(ctx context.Context, all []Order, w *os.File) error {
	seen := map[string]int{} // orders of each customer so far
	misplaced, discounts := 0, 0
	err := flow.FromSlice(all).
		ParallelByKey(8, func(o Order) string { return o.Customer }, lookUp, flow.Name("lookup"), flow.Timeout(time.Second)).
		ForEach(func(_ context.Context, p Priced) error {
			if p.N != seen[p.Customer] {
				misplaced++
			}
			seen[p.Customer]++
			discounts += p.Discount
			return nil
		}).
		Run(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%d orders of %d customers, %d out of order, discounts add up to %d %%\n", len(all), len(seen), misplaced, discounts)
	return err
}

// lookUp stands for a call of a service. It takes longer for some customers, and lets others overtake them.
func lookUp(ctx context.Context, o Order) (Priced, error) {
	n := len(o.Customer)
	select {
	case <-time.After(time.Duration(o.N%3*n) * 100 * time.Microsecond):
		return Priced{Order: o, Discount: n}, nil
	case <-ctx.Done():
		return Priced{}, context.Cause(ctx)
	}
}

// orders makes n orders of six customers, in turn.
func orders(n int) []Order {
	customers := []string{"Ada", "Grace", "Barbara", "Edsger", "Tony", "Donald"}
	all := make([]Order, n)
	for i := range all {
		all[i] = Order{Customer: customers[i%len(customers)], N: i / len(customers)}
	}
	return all
}
