// Command experiments runs textbook queues through the engine and compares what it measures with what the formulas say. The clock
// is virtual: an hour of overload takes a second.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/weir-go/weir/examples/internal/virtual"
)

func main() {
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	virtual.Main(func(b virtual.Bubble) int {
		bubble = b
		r := report{w: os.Stdout}
		if err := o.run(&r); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return r.status()
	})
}

// bubble runs what is measured in virtual time.
var bubble virtual.Bubble

// options are what the command line says.
type options struct {
	only    []string // names of experiments; none: all
	scale   scale
	queue   custom // one queue instead of the experiments
	isQueue bool
}

// parse reads the command line.
func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("experiments", flag.ContinueOnError)
	only := fs.String("only", "", "names of experiments, such as N3,N5; all when empty")
	long := fs.Bool("full", os.Getenv("FULL") == "1", "the long runs, of up to a million items per figure (or FULL=1)")
	fs.Uint64Var(&o.scale.seed, "seed", 1, "of the random numbers")
	fs.Float64Var(&o.queue.rate, "rate", 0, "run one queue: arrivals per second")
	fs.DurationVar(&o.queue.service, "service", 10*time.Millisecond, "of that queue: mean service time")
	fs.IntVar(&o.queue.servers, "servers", 1, "of that queue: workers")
	fs.IntVar(&o.queue.k, "k", 0, "of that queue: most items inside, those in service included; 0 is no bound that is ever reached")
	fs.IntVar(&o.queue.items, "items", 200_000, "of that queue: arrivals")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("experiments: unexpected argument %q", fs.Arg(0))
	}
	if o.scale.size = quick; *long {
		o.scale.size = full
	}
	o.isQueue = given(fs, "rate", "service", "servers", "k", "items")
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	return o, nil
}

// given reports whether one of the flags was set.
func given(fs *flag.FlagSet, names ...string) (found bool) {
	fs.Visit(func(f *flag.Flag) {
		for _, name := range names {
			found = found || f.Name == name
		}
	})
	return found
}

// run runs what was asked for.
func (o options) run(r *report) error {
	if o.isQueue {
		return o.queue.run(r, o.scale.seed)
	}
	all := experiments()
	for _, name := range o.only {
		if !has(all, name) {
			return fmt.Errorf("experiments: no %q; there are %s", name, names(all))
		}
	}
	for _, e := range all {
		if len(o.only) > 0 && !has([]experiment{e}, o.only...) {
			continue
		}
		began := time.Now()
		r.name = e.name
		r.title(e.about)
		if err := e.run(r, o.scale); err != nil {
			return fmt.Errorf("experiments: %s: %w", e.name, err)
		}
		r.print("   (%s took %.1f s)\n", e.name, time.Since(began).Seconds())
	}
	return nil
}
