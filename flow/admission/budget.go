package admission

import "sync"

const (
	token     = 1 << 20     // a retry
	mostSaved = 100 * token // so many retries can be saved up
)

// budget allows retries as a fraction of the calls that there were. It starts with none and saves up few, so the retries never
// are more than that fraction, and a bad minute after a good day is no exception. A whole number of tokens is exact.
type budget struct {
	ratio int64 // tokens for a call

	mu     sync.Mutex
	tokens int64
}

func newBudget(ratio float64) *budget { return &budget{ratio: int64(ratio * token)} }

// earn counts a call that was not a retry.
func (b *budget) earn() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(b.tokens+b.ratio, mostSaved)
}

// take reports whether there may be a retry, and counts it.
func (b *budget) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens < token {
		return false
	}
	b.tokens -= token
	return true
}
