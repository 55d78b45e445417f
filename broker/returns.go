package broker

import "sync"

// returns counts how often this process has given a message back without anybody having processed it. The broker counts such a
// delivery like one that failed.
type returns struct {
	mu sync.Mutex
	n  memo[string, int]
}

// add counts one more for the message with that identity.
func (r *returns) add(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, _ := r.n.get(id)
	r.n.set(id, n+1)
}

// of returns how often the message was given back.
func (r *returns) of(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, _ := r.n.get(id)
	return n
}
