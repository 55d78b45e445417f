package flow

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weir-go/weir/internal/clock"
)

// budgetParts is into how many parts the window of a Budget is divided: it moves on by one at a time.
const budgetParts = 10

// BudgetConfig are the settings of a [Budget]. The zero value is ready for use.
type BudgetConfig struct {
	Ratio  float64       // retries for each request, above 0 and at most 1; 0 means 0.1
	Least  int           // retries that each window allows in any case; 0 means 10, a negative number none
	Window time.Duration // over which both are counted, at least 1 ms; 0 means 10 s
}

// Budget bounds retries by a fraction of the requests, so that a dependency that is in trouble does not get a multiple of its load.
// In the last Window, which moves on by a tenth at a time, there are never more retries than Ratio × requests, or Least where that is
// more: with the defaults a dependency with more than ten requests a second gets at most 1.1 calls for each. A budget belongs to the
// dependency, and is shared by all stages that call it.
//
// A request is a first call, whether or not it fails. What is not made, because of a Limit or a Breaker, is none. Clients outside of a flow
// may share it. Its methods are safe for concurrent use.
//
//	Source: "Addressing Cascading Failures" in Beyer et al. 2016, "Site Reliability Engineering", for the fraction.
type Budget struct {
	ratio float64
	least int64
	part  int64 // of the window, in nanoseconds
	began int64 // when it was made, by the clock

	mu    sync.Mutex
	parts [budgetParts]calls
	at    int64 // number of the latest part, from 0
	sum   calls // of all parts
	stats BudgetStats
}

// calls are counted together.
type calls struct{ requests, retries int64 }

// BudgetStats is what a [Budget] has counted since it was made.
type BudgetStats struct {
	Requests int64 // first calls
	Retries  int64 // that were allowed
	Refused  int64 // retries that were not
}

// NewBudget returns a Budget. Settings that are out of range are errors.
func NewBudget(cfg BudgetConfig) (*Budget, error) {
	b := &Budget{ratio: cfg.Ratio, least: int64(cfg.Least), part: int64(cfg.Window / budgetParts)}
	if cfg.Ratio == 0 {
		b.ratio = 0.1
	}
	switch {
	case cfg.Least == 0:
		b.least = 10
	case cfg.Least < 0:
		b.least = 0
	}
	if cfg.Window == 0 {
		b.part = int64(10 * time.Second / budgetParts)
	}
	var errs []error
	if !(b.ratio > 0 && b.ratio <= 1) { // written so that NaN is none
		errs = append(errs, fmt.Errorf("flow: %s", argument("Budget: Ratio", "above 0 and at most 1", cfg.Ratio)))
	}
	if b.part < int64(time.Millisecond/budgetParts) {
		errs = append(errs, fmt.Errorf("flow: %s", argument("Budget: Window", ">= 1ms", cfg.Window)))
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	b.began = clock.Now()
	return b, nil
}

// Request counts a first call.
func (b *Budget) Request() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.move()
	b.stats.Requests++
	b.sum.requests++
	b.now().requests++
}

// Retry reports whether a call may be repeated, and counts it if so.
func (b *Budget) Retry() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.move()
	if float64(b.sum.retries+1) > max(b.ratio*float64(b.sum.requests), float64(b.least)) {
		b.stats.Refused++
		return false
	}
	b.stats.Retries++
	b.sum.retries++
	b.now().retries++
	return true
}

// Stats returns the figures as of now.
func (b *Budget) Stats() BudgetStats {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stats
}

// now returns the latest part.
func (b *Budget) now() *calls { return &b.parts[b.at%budgetParts] }

// move forgets what the window has left behind. It is called with the lock.
func (b *Budget) move() {
	at := (clock.Now() - b.began) / b.part
	for range min(at-b.at, budgetParts) {
		b.at++
		p := b.now()
		b.sum.requests -= p.requests
		b.sum.retries -= p.retries
		*p = calls{}
	}
	b.at = max(b.at, at)
}

// RetryBudget has every [Retry] of the stage ask b. A retry for which there is no room is not made: it counts as one of the times of
// Retry, which waits for as long as it would have before the next one, and asks again. So the item waits, and goes on to the next
// decision when the times are used up. Stats counts such retries as OverBudget.
//
// A nil b, two budgets at a stage, and one without a Retry are build errors.
func RetryBudget(b *Budget) ErrOption {
	return ErrOption{func(s *settings) {
		if b == nil {
			s.errs = append(s.errs, "RetryBudget: budget must not be nil")
			return
		}
		s.around.set("RetryBudget", s.around.budget != nil)
		s.around.budget = b
	}}
}
