//go:build unix

package flow_test

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/weir-go/weir/flow"
)

// A service that finishes its work when it is told to end.
func ExampleRunUntilSignal() {
	n := 0
	jobs := flow.FromFunc(func(ctx context.Context) (int, error) {
		if n++; n <= 3 {
			return n, nil
		}
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil { // somebody presses the button
			return 0, err
		}
		<-ctx.Done() // no further job comes
		return 0, context.Cause(ctx)
	})
	p := jobs.ForEach(func(_ context.Context, job int) error {
		fmt.Println("job", job)
		return nil
	})
	err := flow.RunUntilSignal(context.Background(), p, 30*time.Second)
	fmt.Println("drained:", err)
	// Output:
	// job 1
	// job 2
	// job 3
	// drained: <nil>
}
