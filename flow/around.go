package flow

import (
	"github.com/weir-go/weir/internal/engine"
)

// around is what options put around each call, in this order from outside in, whatever the order in which they are written: retries
// within their budget, the limiter, the breaker, and the deadline of the call.
type around struct {
	budget  *Budget
	limit   func() engine.Limiter
	breaker CircuitBreaker
	twice   []string // options that were given twice
}

// set notes whether an option was given before.
func (a *around) set(option string, before bool) {
	if before {
		a.twice = append(a.twice, option+" is given twice")
	}
}

// handling returns it for the engine, recording what is wrong.
func (a *around) handling(n *node) engine.Handling {
	h := engine.Handling{Limit: a.limit}
	if a.budget != nil {
		h.Budget = a.budget
	}
	if a.breaker != nil {
		h.Breaker = a.breaker
	}
	for _, text := range a.twice {
		n.check(false, text)
	}
	return h
}
