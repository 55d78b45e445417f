package memory

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/weir-go/weir/broker"
)

// answer is what the broker says about one message.
type answer int

const (
	isStored answer = iota
	isDuplicate
	isFull
	isLate     // the stream has ended
	isTooLarge // larger than the stream may be
)

// storeAll stores messages in their order and puts the answers into replies. Where full is true it has refused one of the same
// Send before. It reports whether the stream still exists, whether it has refused one now, and whether the confirmation gets through.
func (s *Stream) storeAll(msgs []broker.Message, ids []string, full bool, replies []answer) (exists, nowFull, confirmed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deleted {
		return false, full, true
	}
	now := time.Now()
	for i := range msgs {
		replies[i] = s.store(&msgs[i], ids[i], full, now)
		full = full || replies[i] == isFull
	}
	s.wakeAll()
	if s.mute > 0 {
		s.mute--
		return true, full, false
	}
	return true, full, true
}

// store is called with the lock held, as everything below.
func (s *Stream) store(m *broker.Message, id string, full bool, now time.Time) answer {
	size := int64(m.Size())
	switch {
	case s.seen.has(id, now):
		return isDuplicate
	case s.ended:
		return isLate
	case s.cfg.MaxBytes > 0 && size > s.cfg.MaxBytes:
		return isTooLarge
	case full || !s.makeRoom(1, size):
		return isFull
	}
	s.seen.add(id, now)
	s.lastSequence++
	e := &entry{size: size, message: broker.Delivery{
		ID:       s.cfg.Name + ":" + strconv.FormatUint(s.lastSequence, 10),
		Subject:  m.Subject,
		Header:   cloneHeader(m.Header),
		Data:     slices.Clone(m.Data),
		Sequence: s.lastSequence,
		Stored:   now,
	}}
	s.stored.push(e)
	if s.fresh == nil {
		s.fresh = e
	}
	return isStored
}

func cloneHeader(h broker.Header) broker.Header {
	h = maps.Clone(h)
	for name, values := range h {
		h[name] = slices.Clone(values)
	}
	return h
}

// makeRoom reports whether so much more fits. Where the stream drops the oldest, it makes it fit.
func (s *Stream) makeRoom(count, bytes int64) bool {
	for s.overflows(count, bytes) {
		if s.cfg.Full != broker.DropsOldest || s.stored.first == nil {
			return false
		}
		s.remove(s.stored.first)
		s.dropped++
	}
	return true
}

func (s *Stream) overflows(count, bytes int64) bool {
	return s.cfg.MaxMessages > 0 && s.stored.count+count > s.cfg.MaxMessages ||
		s.cfg.MaxBytes > 0 && s.stored.bytes+bytes > s.cfg.MaxBytes
}

// remove forgets a message, wherever it is.
func (s *Stream) remove(e *entry) {
	if s.fresh == e {
		s.fresh = e.next
	}
	s.unlist(e)
	s.stored.remove(e)
	e.state = gone
	e.by = nil
	if s.ended && s.stored.count == 0 || s.lasting > 0 {
		s.wakeAll()
	}
}
