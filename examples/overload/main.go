// Command overload offers an HTTP service twice what it can do, without controls and with them, and prints what came of it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "overload:", err)
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	length  time.Duration
	load    float64 // by what can be done
	picture string
	serve   string
}

// mostRequests is how many answers are remembered.
const mostRequests = 1_000_000

func command(ctx context.Context, args []string, w io.Writer) error {
	var o options
	fs := flag.NewFlagSet("overload", flag.ContinueOnError)
	fs.DurationVar(&o.length, "length", 10*time.Second, "how long the load goes on, each time")
	fs.Float64Var(&o.load, "load", 2, "requests offered, by what the service can do")
	fs.StringVar(&o.picture, "picture", filepath.Join(os.TempDir(), "overload.svg"), "where the picture goes; nowhere when empty")
	fs.StringVar(&o.serve, "serve", "", "only run the service with its controls, here: 127.0.0.1:8080")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 || !(o.load > 0) || o.length < time.Second {
		return errors.New("-load must be above 0, -length at least 1s, and there are no arguments")
	}
	if n := o.load * perSecond * o.length.Seconds(); n > mostRequests {
		return fmt.Errorf("-load and -length make %.4g requests, and %d are the most", n, mostRequests)
	}
	if o.serve != "" {
		return serve(ctx, w, o.serve)
	}
	return compare(ctx, w, o, func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }, nil)
}

// compare runs the load against the service without its controls and with them, and prints both.
func compare(ctx context.Context, w io.Writer, o options, listen func() (net.Listener, error), dial dialer) error {
	if _, err := fmt.Fprintf(w, "%d workers of %v, %.3g times what they can do for %v; an answer is worth nothing after %v\n\n%s\n",
		workers, work, o.load, o.length, budget, header); err != nil {
		return err
	}
	var both [2]result
	for i, controls := range []bool{false, true} {
		l, err := listen()
		if err != nil {
			return err
		}
		both[i], err = measure(ctx, l, dial, o, controls)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(w, both[i].line([]string{"without controls", "with controls"}[i])); err != nil {
			return err
		}
	}
	if o.picture != "" {
		if err := os.WriteFile(o.picture, picture(both[0].slices, both[1].slices, o), 0o600); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "\ngoodput over time: %s\n", o.picture); err != nil {
			return err
		}
	}
	return errors.Join(both[0].strange(), both[0].wonder(o), both[1].judge(o))
}

// judge says what is not as it should be with controls, where there is overload.
func (r result) judge(o options) error {
	err := r.strange()
	if o.load >= 1.2 && r.goodput() < 0.9 {
		err = errors.Join(err, fmt.Errorf("goodput with controls is %.0f %%, want 90 %% at least", 100*r.goodput()))
	}
	if p := r.percentile(0.99); p > budget {
		err = errors.Join(err, fmt.Errorf("the 99th percentile of what was let in is %v, want %v at most", p, budget))
	}
	return err
}

// wonder says if goodput without controls is better than it can be, where the overload is long enough: then the service has not been overloaded.
func (r result) wonder(o options) error {
	if o.load >= 2 && o.length >= 10*time.Second && r.goodput() > 0.1 {
		return fmt.Errorf("goodput without controls is %.0f %%, want 10 %% at most", 100*r.goodput())
	}
	return nil
}
