package claim

import "sync"

// group is what a tag was derived from.
type group[M any] struct {
	parents []*Tag[M]
	gate    Gate // of a cover

	mu    sync.Mutex
	parts []Outcome // how single parents end at best; empty: as the tag does
}

// Members returns the tags that t was derived from. They are held by t, and valid while the caller holds a share of it.
func (t *Tag[M]) Members() []*Tag[M] {
	t = t.stands()
	if t == nil || t.group == nil {
		return nil
	}
	return t.group.parents
}

// Blame makes member i settle with o, or with what t itself does, whichever is worse. The caller holds a share of t.
func (t *Tag[M]) Blame(i int, o Outcome) {
	g := t.stands().group
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.parts) == 0 {
		g.parts = append(g.parts, make([]Outcome, len(g.parents))...)
	}
	if o.worse(g.parts[i]) {
		g.parts[i] = o
	}
}

// settle releases the parents when nobody holds the derived tag any more, so it needs no lock.
func (g *group[M]) settle(o Outcome, free *Tag[M]) *Tag[M] {
	if g.gate != nil {
		o = g.gate.Ended(o)
		g.gate = nil
	}
	for i, p := range g.parents {
		g.parents[i] = nil
		end := o
		if i < len(g.parts) && g.parts[i].worse(o) {
			end = g.parts[i]
		}
		free = p.release(1, end, free)
	}
	clear(g.parts)
	g.parents, g.parts = g.parents[:0], g.parts[:0]
	return free
}
