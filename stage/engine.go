package stage

import "github.com/weir-go/weir/internal/claim"

// TagOf returns what travels beside an item's value. It is the engine's door into Item: its result is of an internal type and
// of no use to programs.
func TagOf[T any](i Item[T]) *claim.Tag[Meta] { return i.tag }

// GroupMeta returns the metadata of a group of items, see [MergeGroup], and whether any of them has some.
func GroupMeta(tags []*claim.Tag[Meta]) (m Meta, tagged bool) {
	var plain Meta
	for i, t := range tags {
		of := &plain
		if t != nil {
			of, tagged = &t.Meta, true
		}
		if i == 0 {
			m = *of
		} else {
			m.join(of)
		}
	}
	return m, tagged
}

// Keeps reports whether a stage keeps items, see [In.Keep]. It is safe for concurrent use.
func Keeps[T any](in *In[T]) bool {
	in.kept.mu.Lock()
	defer in.kept.mu.Unlock()
	return len(in.kept.held) > 0
}

// Held returns how many items a stage has: the current one, and those that it keeps beside it, where what it has combined is one. It
// belongs to the goroutine that runs the stage.
func Held[T any](in *In[T]) (current, kept int) {
	if in.has {
		current = 1
	}
	in.kept.mu.Lock()
	defer in.kept.mu.Unlock()
	for h := range in.kept.held {
		if !h.covers(in.cur.tag) {
			kept++
		}
	}
	return current, kept
}

// Tagged returns v with the tag t, the way back from [TagOf].
func Tagged[T any](v T, t *claim.Tag[Meta]) Item[T] { return Item[T]{Value: v, tag: t} }
