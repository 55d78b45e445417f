package stage_test

import (
	"context"
	"fmt"

	"github.com/weir-go/weir/stage"
)

func ExampleDiscard() {
	fmt.Println(stage.Discard[int]().Push(context.Background(), []int{1, 2, 3}))
	// Output: <nil>
}
