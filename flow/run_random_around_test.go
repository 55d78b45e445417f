package flow_test

import (
	"errors"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/flow/breaker"
)

// fuse is the breaker around the calls of o. Where they are repeated until they succeed it opens at each failure, for an instant, and
// items come to wait for it; elsewhere it never opens, because an item that always fails would wait a thousand times.
func (w *world) fuse(o *op) flow.ErrOption {
	cfg := breaker.Config{InARow: 1 << 30, MinCalls: 1 << 30}
	if o.n%4 == 2 {
		cfg = breaker.Config{InARow: 1, OpenFor: time.Nanosecond}
	}
	b, err := breaker.New(cfg)
	w.wrong(err)
	return flow.Breaker(b)
}

// limit is the limiter that all stages of the world share. All its permits must have come back when nothing runs any more.
func (w *world) limit() flow.ErrOption {
	if w.permits == nil {
		p := newPermits(2)
		w.permits = p
		w.tidies = append(w.tidies, func(error) {
			if p.given.Load() != p.back.Load() {
				w.wrong(errors.New("a permit was not given back"))
			}
		})
	}
	return flow.Limit(w.permits)
}
