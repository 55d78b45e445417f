package flow_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// job is work of a tenant.
type job struct {
	Tenant string
	Name   string
}

func (j job) TenantName() string { return j.Tenant }

// offered is an inlet with the edge e that was offered the items, in this order, and is closed.
func offered[T any](e flow.Edge[T], items ...T) *flow.Inlet[T] {
	in := flow.NewInlet(e)
	for _, v := range items {
		_, _ = in.Offer(context.Background(), v)
	}
	in.Close()
	return in
}

// served returns what comes out of an inlet.
func served[T any](in *flow.Inlet[T]) []T {
	items, err := in.Flow().Collect(context.Background(), 100)
	if err != nil {
		fmt.Println(err)
	}
	return items
}

// One tenant imports, and another sends a single job: it does not wait for the import.
func ExampleFairBy() {
	in := offered(flow.Edge[job]{Name: "work", Capacity: 16, Discipline: flow.FairBy(job.TenantName)},
		job{"import", "row 1"}, job{"import", "row 2"}, job{"import", "row 3"}, job{"shop", "order"})
	for _, j := range served(in) {
		fmt.Println(j.Tenant, j.Name)
	}
	// Output:
	// import row 1
	// shop order
	// import row 2
	// import row 3
}

// When the edge is full the longest subqueue pays.
func ExampleFairBy_full() {
	in := offered(flow.Edge[job]{
		Capacity: 3, OnFull: flow.DropNewest, Discipline: flow.FairBy(job.TenantName),
		Dropped: func(j job, why flow.DropReason) {
			fmt.Println("lost", j.Name, "of", j.Tenant, "because the edge was", why)
		},
	}, job{"import", "row 1"}, job{"import", "row 2"}, job{"import", "row 3"}, job{"shop", "order"})
	fmt.Println(len(served(in)), "jobs are done")
	// Output:
	// lost row 3 of import because the edge was full
	// 3 jobs are done
}

// The tenant is in the metadata: that of a message, of a request's context, or what Stamp has set.
func ExampleFairByKey() {
	in := flow.NewInlet(flow.Edge[string]{Capacity: 16, Discipline: flow.FairByKey[string]()})
	for _, m := range []string{"a/1", "a/2", "b/3"} {
		tenant, name, _ := strings.Cut(m, "/")
		_, _ = in.Offer(stage.WithMeta(context.Background(), stage.Meta{Key: tenant}), name)
	}
	in.Close()
	fmt.Println(served(in))
	// Output: [1 3 2]
}

// A tenant who pays for more has two served in a turn.
func ExampleWeights() {
	weight := func(tenant string) int {
		if tenant == "gold" {
			return 2
		}
		return 1
	}
	in := offered(flow.Edge[job]{Capacity: 16, Discipline: flow.FairBy(job.TenantName, flow.Weights(weight))},
		job{"gold", "1"}, job{"gold", "2"}, job{"gold", "3"}, job{"free", "1"}, job{"free", "2"})
	for _, j := range served(in) {
		fmt.Print(j.Tenant, j.Name, " ")
	}
	fmt.Println()
	// Output: gold1 gold2 free1 gold3 free2
}

// With one subqueue all keys are one: first in, first out.
func ExampleSubqueues() {
	in := offered(flow.Edge[job]{Capacity: 16, Discipline: flow.FairBy(job.TenantName, flow.Subqueues(1))},
		job{"a", "1"}, job{"a", "2"}, job{"b", "3"})
	for _, j := range served(in) {
		fmt.Print(j.Name, " ")
	}
	fmt.Println()
	// Output: 1 2 3
}

// classOf is the class of a job.
func classOf(j job) stage.Criticality {
	switch j.Tenant {
	case "user":
		return stage.CriticalPlus
	case "prefetch":
		return stage.Sheddable
	}
	return stage.Critical
}

// Where a user waits it is done first, and what was only a guess is given up first.
func ExampleByCriticality() {
	in := offered(flow.Edge[job]{
		Capacity: 3, OnFull: flow.DropNewest, Discipline: flow.ByCriticality(classOf),
		Dropped: func(j job, _ flow.DropReason) { fmt.Println("lost", j.Name) },
	}, job{"prefetch", "guess"}, job{"batch", "report"}, job{"batch", "index"}, job{"user", "search"})
	for _, j := range served(in) {
		fmt.Println("done", j.Name)
	}
	// Output:
	// lost guess
	// done search
	// done report
	// done index
}

// One of ten places is only for what is critical.
func ExampleReserved() {
	in := flow.NewInlet(flow.Edge[job]{
		Capacity: 10, OnFull: flow.Reject, Discipline: flow.ByCriticality(classOf, flow.Reserved(1)),
	})
	for range 9 {
		_, _ = in.Offer(context.Background(), job{"prefetch", "guess"})
	}
	_, err := in.Offer(context.Background(), job{"prefetch", "guess"})
	fmt.Println(err)
	_, err = in.Offer(context.Background(), job{"user", "search"})
	fmt.Println(err)
	in.Close()
	fmt.Println(served(in)[0].Name, "is first")
	// Output:
	// flow: edge "inlet" is full (capacity 10)
	// <nil>
	// search is first
}

// Calls whose callers give up after a second: once a queue stands, the newest is the one that somebody still waits for.
func ExampleAdaptiveLIFO() {
	p := flow.FromSlice([]string{"call"}).Edge(flow.Edge[string]{
		Name: "calls", Capacity: 200, OnFull: flow.DropOldest, MaxWait: time.Second,
		Discipline: flow.AdaptiveLIFO[string](100*time.Millisecond, 200*time.Millisecond),
	}).To(stage.Discard[string]())
	fmt.Println(p.Check(), p.Graph().Edges[0].Order)
	// Output: <nil> newest first
}

// A giant does not push out three that are small.
func ExampleShedLargest() {
	size := func(file string) int64 { return int64(len(file)) }
	in := offered(flow.Edge[string]{
		Capacity: 3, OnFull: flow.DropNewest, Discipline: flow.ShedLargest(size, time.Minute),
		Dropped: func(file string, _ flow.DropReason) { fmt.Println("lost", len(file), "bytes") },
	}, "one", strings.Repeat("giant", 100), "two", "three")
	fmt.Println(served(in))
	// Output:
	// lost 500 bytes
	// [one two three]
}

// An answer is worth nothing behind half a second.
func ExampleCoDelFor() {
	c := flow.CoDelFor(500 * time.Millisecond)
	fmt.Println(c.Target, c.Interval)
	// Output: 50ms 100ms
}

// Callers that do not slow down: while a queue stands, everything is dropped that has waited for more than twice the target.
func ExampleCoDel_limitLaw() {
	c := flow.CoDel{Target: 50 * time.Millisecond, Interval: 100 * time.Millisecond, Law: flow.LimitLaw}
	in := flow.NewInlet(flow.Edge[string]{Capacity: 1000, OnFull: flow.DropNewest, CoDel: c})
	fmt.Println(in.Flow().To(stage.Discard[string]()).Check(), c == flow.CoDelFor(500*time.Millisecond))
	// Output: <nil> true
}

// Callers that slow down when they lose something, as TCP does.
func ExampleCoDel_rootLaw() {
	c := flow.CoDel{Target: 5 * time.Millisecond, Interval: 100 * time.Millisecond, Law: flow.RootLaw}
	in := flow.NewInlet(flow.Edge[string]{Capacity: 1000, OnFull: flow.DropNewest, CoDel: c})
	fmt.Println(in.Flow().To(stage.Discard[string]()).Check())
	// Output: <nil>
}

// A price is worth nothing once the market has closed: the edge does not start what can't be finished.
func ExampleEdge_deadline() {
	closed := time.Now().Add(-time.Minute)
	in := offered(flow.Edge[string]{
		Capacity: 16, Deadline: func(string) time.Time { return closed },
		Dropped: func(order string, why flow.DropReason) { fmt.Println(order, "is dropped:", why) },
	}, "buy")
	fmt.Println(len(served(in)), "orders are carried out")
	// Output:
	// buy is dropped: deadline
	// 0 orders are carried out
}
