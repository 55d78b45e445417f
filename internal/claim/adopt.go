package claim

// Adopt takes over one share of p as well: t becomes what [Derive] makes of its parents and p. The caller made t with Derive and
// is the only one who has ever held it: a share that had been released would count for p, too. A chain of derived tags
// would do the same, but its length would be that of the recursion that settles it.
func (t *Tag[M]) Adopt(p *Tag[M]) {
	if p != nil {
		t.group.parents = append(t.group.parents, p)
		t.claimed = t.claimed || p.claimed
	}
}
