package flow_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/flow/admission"
)

// service is down for its first calls, and knows how many there were at the same time.
type service struct {
	down  atomic.Int64
	calls atomic.Int64
	mu    sync.Mutex
	now   int
	most  int
}

func newService(down int64) *service {
	s := &service{}
	s.down.Store(down)
	return s
}

func (s *service) enter(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now += n
	s.most = max(s.most, s.now)
}

func (s *service) call(_ context.Context, order string) (string, error) {
	s.calls.Add(1)
	s.enter(1)
	defer s.enter(-1)
	time.Sleep(100 * time.Microsecond)
	if s.down.Add(-1) >= 0 {
		return "", errBusy
	}
	return order, nil
}

// Two stages call the same service, which bears two calls at a time. Whoever waits for a permit holds back what is in front of it.
func ExampleLimit() {
	limiter, err := admission.NewLimiter(2, 100)
	if err != nil {
		panic(err)
	}
	crm := flow.Limit(limiter)
	service := newService(0)
	orders, err := flow.FromSlice([]string{"A-1", "A-2", "A-3", "A-4", "A-5", "A-6"}).
		Parallel(6, service.call, crm).
		Parallel(6, service.call, crm).
		Collect(context.Background(), 10)
	fmt.Println(orders, err)
	fmt.Println(service.calls.Load(), "calls, at most", service.most, "at a time")
	// Output:
	// [A-1 A-2 A-3 A-4 A-5 A-6] <nil>
	// 12 calls, at most 2 at a time
}
