package engine

// Join adds several chains to w, one beside the other, and behind them a stage in which they meet: build adds chain i, for n of
// them, and then end adds what is behind all.
//
// What w holds may have come from any of them, so it is given back as failed even where one of them is a branch of a fan-out:
// a branch's items come again then, and the others' are not lost.
func Join(w *Worker, n int, build func(i int), end func()) {
	before := w.ahead
	var all []func(*Stage)
	for i := range n {
		w.ahead = nil
		build(i)
		all = append(all, w.ahead...)
	}
	w.ahead = append(before, all...)
	if n > 1 {
		w.branch = false
	}
	end()
}

// follow makes st the next stage behind whatever has none yet: a stage, or an edge that w reads from.
func (w *Worker) follow(st *Stage) {
	for _, tell := range w.ahead {
		tell(st)
	}
	w.ahead = append(w.ahead[:0], func(next *Stage) { w.pairs = append(w.pairs, [2]*Stage{st, next}) })
}
