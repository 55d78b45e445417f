// Command tenants shares one worker between a tenant that imports millions of rows and one that sends a row a second, with fair queueing
// and without. The clock is virtual: the import takes hours of it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/weir-go/weir/examples/internal/virtual"
	"github.com/weir-go/weir/flow"
)

// Row is a row of a tenant.
type Row struct {
	Tenant string
	came   time.Time
}

// What there is to share: the worker does 300 rows a second, and 1,024 of them may wait.
const (
	service  = time.Second / 300
	capacity = 1024
)

func main() {
	rows := flag.Int("rows", 40_000, "how many rows are imported; 4000000 keep the worker busy for 3.7 hours of virtual time")
	flag.Parse()
	if *rows < 1 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "tenants: -rows must be at least 1, and there are no other arguments")
		os.Exit(2)
	}
	virtual.Main(func(bubble virtual.Bubble) int {
		if err := compare(os.Stdout, bubble, *rows); err != nil {
			fmt.Fprintln(os.Stderr, "tenants:", err)
			return 1
		}
		return 0
	})
}

// compare imports the rows twice and prints how long the other tenant waits.
func compare(w io.Writer, bubble virtual.Bubble, rows int) error {
	fair := flow.FairBy(func(r Row) string { return r.Tenant })
	for _, way := range []struct {
		name  string
		order flow.Discipline[Row]
	}{{"first in, first out", nil}, {"fair by tenant", fair}} {
		var (
			seen outcome
			err  error
		)
		bubble(func() { seen, err = share(context.Background(), rows, way.order) })
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%-19s  %d rows imported in %v; %d of the other tenant waited %v at most, %v on average\n",
			way.name, seen.imported, seen.took.Round(time.Second), seen.others, round(seen.longest), round(seen.sum/time.Duration(seen.others))); err != nil {
			return err
		}
	}
	return nil
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

// outcome is what became of both tenants' rows. The waits are those of the one that sends little.
type outcome struct {
	imported, others int
	longest, sum     time.Duration
	took             time.Duration
}

// share runs the import while the other tenant sends a row a second.
func share(ctx context.Context, rows int, order flow.Discipline[Row]) (seen outcome, err error) {
	hub := flow.NewMergeHub(2, flow.Edge[Row]{Name: "rows", Capacity: capacity, Discipline: order})
	bulk, err := hub.Attach()
	if err != nil {
		return seen, err
	}
	other, err := hub.Attach()
	if err != nil {
		return seen, err
	}
	began := time.Now()
	run, err := hub.Flow().ForEach(func(_ context.Context, r Row) error {
		if waited := time.Since(r.came); r.Tenant == "other" {
			seen.others, seen.sum, seen.longest = seen.others+1, seen.sum+waited, max(seen.longest, waited)
		} else {
			seen.imported++
		}
		time.Sleep(service)
		return nil
	}).Start(ctx)
	if err != nil {
		return seen, err
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for range rows {
			if _, err := bulk.Put(ctx, Row{Tenant: "importer", came: time.Now()}); err != nil {
				return // the run has failed, and says why
			}
		}
	}()
	trickle(ctx, other, over)
	err = run.Drain(ctx)
	seen.took = time.Since(began)
	return seen, err
}

// trickle sends a row a second until the import is over.
func trickle(ctx context.Context, in *flow.Inlet[Row], over <-chan struct{}) {
	for {
		if _, err := in.Put(ctx, Row{Tenant: "other", came: time.Now()}); err != nil {
			return
		}
		select {
		case <-over:
			return
		case <-time.After(time.Second + time.Millisecond): // not in step with the worker
		}
	}
}
