// Command consume works on orders that wait in a stream, in several processes that share the work. See the README.
//
//	consume                      a server, two workers and 300 orders, all by itself
//	consume -nats URL            one more worker at a server, until it is interrupted
//	consume -nats URL -publish N N orders for them
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/nats-io/nats.go"

	"github.com/weir-go/weir/broker/jetstream"
)

// options is what the command line says.
type options struct {
	nats    string
	publish int
	name    string
	workers int
	orders  int
}

func parseOptions(args []string, stderr io.Writer) (o options, err error) {
	fs := flag.NewFlagSet("consume", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&o.nats, "nats", "", "be a worker at the NATS server with this `URL`, until interrupted")
	fs.IntVar(&o.publish, "publish", 0, "with -nats: store `n` orders instead")
	fs.StringVar(&o.name, "name", fmt.Sprintf("worker %d", os.Getpid()), "with -nats: what the worker calls itself")
	fs.IntVar(&o.workers, "workers", 2, "without -nats: how many worker `processes` to start")
	fs.IntVar(&o.orders, "orders", 300, "without -nats: how many orders to work on")
	if err = fs.Parse(args); err != nil {
		return o, err
	}
	switch {
	case fs.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case o.publish < 0 || o.publish > 0 && o.nats == "":
		err = errors.New("-publish needs -nats, and a number above 0")
	case o.workers < 1 || o.workers > 64:
		err = fmt.Errorf("-workers must be 1 to 64, got %d", o.workers)
	case o.orders < 1 || o.orders > 1e6:
		err = fmt.Errorf("-orders must be 1 to 1000000, got %d", o.orders)
	}
	return o, err
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parseOptions(os.Args[1:], os.Stderr)
	if err == nil {
		err = run(ctx, o, os.Stdout)
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "consume:", err)
		stop()
		os.Exit(1) //nolint:gocritic // what is deferred is done
	}
}

// run is the program. The end of ctx is its signal to stop.
func run(ctx context.Context, o options, w io.Writer) error {
	if o.nats == "" {
		return demo(ctx, o, w)
	}
	nc, err := jetstream.Connect(o.nats)
	if err != nil {
		return err
	}
	defer nc.Close()
	if err := makeStreams(ctx, nc); err != nil {
		return err
	}
	if o.publish > 0 {
		return publish(ctx, nc, o.publish, w)
	}
	return work(ctx, nc, o.name, w)
}

// The streams: one for orders, and one for those that nobody can handle. Where orders is full, whoever publishes waits.
const (
	ordersStream = "ORDERS"
	lettersName  = "ORDERS_DEAD"
	letters      = "dead.orders" // the subject
)

// makeStreams makes the streams, or checks those that are there.
func makeStreams(ctx context.Context, nc *nats.Conn) error {
	err := jetstream.EnsureStream(ctx, nc, jetstream.StreamConfig{Name: ordersStream, Subjects: []string{"orders.>"}, MaxMessages: 100})
	if err != nil {
		return err
	}
	return jetstream.EnsureStream(ctx, nc, jetstream.StreamConfig{Name: lettersName, Subjects: []string{letters}, MaxMessages: 10_000})
}
