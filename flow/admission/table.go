package admission

import "hash/maphash"

// maxKey is how many bytes of a tenant's key count. Keys come from outside.
const maxKey = 256

// shortened returns what counts of a key.
func shortened(key string) string { return key[:min(len(key), maxKey)] }

// table finds entries by key. It has a fixed number of chains and a seed of its own, so that nobody can choose keys that meet in one
// chain. How many entries there are is its owner's business, who also has the lock. Entries are used again.
type table[V any] struct {
	seed   maphash.Seed
	chains []*entry[V]
	spare  *entry[V]
}

type entry[V any] struct {
	key   string
	next  *entry[V]
	value V
}

// newTable returns a table for about n entries.
func newTable[V any](n int) table[V] {
	chains := 1
	for chains < n && chains < 1<<16 {
		chains *= 2
	}
	return table[V]{seed: maphash.MakeSeed(), chains: make([]*entry[V], chains)}
}

func (t *table[V]) chain(key string) **entry[V] {
	return &t.chains[maphash.String(t.seed, key)&uint64(len(t.chains)-1)]
}

// find returns the entry of key, nil if there is none.
func (t *table[V]) find(key string) *entry[V] {
	e := *t.chain(key)
	for e != nil && e.key != key {
		e = e.next
	}
	return e
}

// add makes an entry for key, which has none.
func (t *table[V]) add(key string) *entry[V] {
	e := t.spare
	if e == nil {
		e = new(entry[V])
	} else {
		t.spare = e.next
	}
	chain := t.chain(key)
	e.key, e.next = key, *chain
	*chain = e
	return e
}

// drop takes an entry out.
func (t *table[V]) drop(e *entry[V]) {
	at := t.chain(e.key)
	for *at != e {
		at = &(*at).next
	}
	*at = e.next
	*e = entry[V]{next: t.spare}
	t.spare = e
}
