package flow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-go/weir/flow"
)

// A sensor that tells its temperature all the time. Once a minute is enough; the last one is that at the end.
func ExampleFlow_Sample() {
	temperatures, err := flow.FromSlice([]float64{20.1, 20.2, 20.1, 20.4}).
		Sample(time.Minute).
		Collect(context.Background(), 10)
	fmt.Println(temperatures, err)
	// Output: [20.4] <nil>
}
