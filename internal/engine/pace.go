package engine

import "time"

// The limits of a chunk: it holds what is there, at most maxChunk items or chunkTime of work. Workers that share an input take
// at most sharedChunk, because a sibling may be idle.
const (
	maxChunk    = 256
	sharedChunk = 16
	chunkTime   = 50 * time.Microsecond
	longChunk   = 2 * chunkTime
	singleFor   = 10 * time.Microsecond // a long chunk is followed by one single item for each of these
	maxSingles  = 4096
	lookEvery   = 16 // items between two looks at the clock in a step that may be slow
)

// pacer decides how many items a worker takes at once, by the time that the last ones took: cheap items move by the hundred,
// dear ones alone. It starts with one.
//
// Looking back at a mean is not enough. A dear item among cheap ones would hold up to a chunk of finished ones, and the
// next chunk would again be large; so one long chunk is answered with single items for a while, which costs about
// 1 % of what the dear item cost.
type pacer struct {
	size    int // of the next chunk
	limit   int
	singles int // single items still to come
}

func newPacer(limit int) pacer { return pacer{size: 1, limit: limit} }

// grant returns how many items to take, at most want.
func (p *pacer) grant(want int) int {
	if p.singles > 0 {
		return min(want, 1)
	}
	return min(want, p.size)
}

// observe learns that took items of asked ones kept the worker busy for work nanoseconds.
func (p *pacer) observe(asked, took int, work int64) {
	if took == 0 {
		return
	}
	if p.singles > 0 {
		p.singles -= took
	}
	if work > int64(longChunk) || took == 1 && work > int64(chunkTime) {
		p.size = 1
		p.singles = min(int(work/int64(singleFor)), maxSingles)
		return
	}
	if took < asked {
		return // there was no more: that says nothing about a larger chunk
	}
	next := p.size
	if took >= p.size {
		next = min(2*p.size, p.limit)
	}
	if cost := work / int64(took); cost > 0 {
		next = min(next, int(int64(chunkTime)/cost))
	}
	p.size = max(next, 1)
}
