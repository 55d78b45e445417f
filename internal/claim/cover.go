package claim

import "slices"

// Gate is told how a tag ended that covers others, and says how those end. Ended must not block.
type Gate interface{ Ended(o Outcome) Outcome }

// Cover returns a tag with one share that stands for parents, whose shares it takes over, as long as their item is behind the gate; nil
// parents are passed over. Unlike what [Derive] makes, it is not made of them: it has the members that a single parent has,
// and none where there are several.
func Cover[M any](meta M, g Gate, parents ...*Tag[M]) *Tag[M] {
	t := Derive(meta, parents...)
	t.group.gate = g
	return t
}

// CoveredBy reports whether t is a cover of that gate.
func (t *Tag[M]) CoveredBy(g Gate) bool { return t != nil && t.group != nil && t.group.gate == g }

// Beneath appends to found what t stands for without the covers of g: their parents, each once. The caller holds a share of t, and
// gets none of those found.
func (t *Tag[M]) Beneath(g Gate, found []*Tag[M]) []*Tag[M] {
	switch {
	case t == nil:
	case t.group == nil, t.group.gate != nil && t.group.gate != g:
		found = appendNew(found, t)
	case t.group.gate == g:
		for _, p := range t.group.parents {
			found = appendNew(found, p)
		}
	default:
		for _, p := range t.group.parents {
			found = p.Beneath(g, found)
		}
	}
	return found
}

func appendNew[M any](found []*Tag[M], t *Tag[M]) []*Tag[M] {
	if slices.Contains(found, t) {
		return found
	}
	return append(found, t)
}

// stands returns the tag whose members are those of t.
func (t *Tag[M]) stands() *Tag[M] {
	for t != nil && t.group != nil && t.group.gate != nil {
		if len(t.group.parents) != 1 {
			return nil
		}
		t = t.group.parents[0]
	}
	return t
}
