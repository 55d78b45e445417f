package jetstream

import "sync/atomic"

// SenderStats counts what a [Sender] has done with messages.
type SenderStats struct {
	Published  int64 // confirmed, repetitions included
	Duplicates int64 // of those, found to be stored before
	Full       int64 // the stream had no room
	Scarce     int64 // the server or the account had no room. That is a matter for an alarm: no reader of the stream mends it
	Refused    int64 // will never be stored
	Unknown    int64 // nobody knows
	Retried    int64 // sent once more, as often as that happened
	Late       int64 // of those, after the stream has forgotten IDs: they may be stored twice
	InWindow   int   // sent and not confirmed, at this moment
}

type senderCounts struct {
	published, duplicates, full, scarce, refused, unknown, retried, late atomic.Int64
}

// add counts the letters of a Send that has ended.
func (c *senderCounts) add(b *batch) {
	var n [fateDeleted + 1]int64
	var doubt int64
	for i := range b.letters {
		l := &b.letters[i]
		n[l.fate]++
		if l.doubt {
			doubt++
		}
	}
	add := func(to *atomic.Int64, n int64) {
		if n > 0 {
			to.Add(n)
		}
	}
	add(&c.published, n[fateStored]+n[fateDuplicate])
	add(&c.duplicates, n[fateDuplicate])
	add(&c.full, n[fateFull])
	add(&c.scarce, n[fateScarce])
	add(&c.refused, n[fateRefused])
	add(&c.unknown, doubt)
}

// Stats returns what has been counted so far. It is safe for concurrent use.
func (s *Sender) Stats() SenderStats {
	c := &s.counts
	st := SenderStats{
		Published: c.published.Load(), Duplicates: c.duplicates.Load(), Full: c.full.Load(), Scarce: c.scarce.Load(),
		Refused: c.refused.Load(), Unknown: c.unknown.Load(), Retried: c.retried.Load(), Late: c.late.Load(),
	}
	if s.opened.Load() {
		st.InWindow = s.window.inUse()
	}
	return st
}
