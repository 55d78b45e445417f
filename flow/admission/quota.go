package admission

// tenants counts who is inside by key. Only those who are have an entry, so there are never more of them than the gate has places,
// whatever keys arrive. The gate has the lock.
type tenants struct{ table[int] }

// inside returns how many of that key there are.
func (t *tenants) inside(key string) int {
	if e := t.find(key); e != nil {
		return e.value
	}
	return 0
}

// enter counts one more.
func (t *tenants) enter(key string) *entry[int] {
	e := t.find(key)
	if e == nil {
		e = t.add(key)
	}
	e.value++
	return e
}

// leave counts one less.
func (t *tenants) leave(e *entry[int]) {
	if e.value--; e.value == 0 {
		t.drop(e)
	}
}
