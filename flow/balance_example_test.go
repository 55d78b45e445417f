package flow_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/weir-go/weir/flow"
)

// Two servers share the work; which of them a job goes to depends on who is free.
func ExampleFlow_Balance() {
	type connection struct{ server string }
	done := make(chan int, 10)
	var servers []flow.Pipeline
	for i, branch := range flow.FromSlice([]int{1, 2, 3, 4, 5}).Balance(2) {
		conn := connection{server: fmt.Sprint("server", i)}
		servers = append(servers, branch.ForEach(func(_ context.Context, job int) error {
			_ = conn.server // here the job would be sent
			done <- job
			return nil
		}))
	}
	err := flow.Join(servers...).Run(context.Background())
	close(done)

	var jobs []int
	for job := range done {
		jobs = append(jobs, job)
	}
	slices.Sort(jobs)
	fmt.Println(jobs, err)
	// Output: [1 2 3 4 5] <nil>
}
