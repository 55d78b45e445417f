package jetstream

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/weir-go/weir/internal/natstest"
)

// atOnce is how many tests run at the same time. They mostly wait, so there may be more than processors.
const atOnce = "6"

func TestMain(m *testing.M) {
	natstest.ServeIfChild()
	if err := flag.Set("test.parallel", atOnce); err != nil { // -parallel, which is read later, prevails
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
