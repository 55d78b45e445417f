package jetstream

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/weir-go/weir/internal/natstest"
)

func TestMain(m *testing.M) {
	natstest.ServeIfChild()
	goleak.VerifyTestMain(m)
}
