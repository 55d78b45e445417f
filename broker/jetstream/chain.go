package jetstream

import (
	"math"

	"github.com/nats-io/nats.go/jetstream"
)

// chain has each message stored behind the one in front of it, or not at all: it tells the server which message must be the last
// one at that moment. So what is behind a message that the stream had no room for is refused too, and none slips in
// when there is room a moment later.
//
// A message that has been stored before does not move the stream's end. Where such ones are expected, after a broken connection,
// all are to follow the same one: those that are there already are found to be repetitions, the first that is not is
// stored, and the next round goes on behind it. One round per message would do as well, in a thousand times the time.
//
// In such a round the second that is not there would be stored if the first were refused. So the stream is asked before it how far it
// has come and how much room it has, and the round has no more messages than it has stored, or has room for.
//
// It is for one writer. Another one costs rounds, and its messages come in between.
type chain struct {
	last      uint64 // sequence number of the last message of the stream, as far as is known
	known     uint64 // the same before the messages whose fate is in doubt
	repeating bool   // repetitions are expected
	repeated  bool   // and the last one that was stored was one, so more may follow that were stored long ago
	most      int    // messages of the next round; 0 is all
}

// expect is the message that the k-th letter of a round is to follow.
func (c *chain) expect(k int) uint64 {
	if c.repeating {
		return c.last
	}
	return c.last + uint64(k)
}

// breaks says whether a letter with that fate is one that the next letter can't follow.
func (c *chain) breaks(f fate) bool {
	if c.repeating {
		return f != fateDuplicate
	}
	return f != fateStored
}

// review looks at a round. It sets the chain up for the next one, and b.todo to what is left of it. ask says that the stream must be
// asked.
func (c *chain) review(b *batch) (ask bool) {
	before := fatePending // fate of the letter in front
	broken := -1          // the first one that is not stored
	for k, i := range b.todo {
		l := &b.letters[i]
		if l.confirmed() {
			c.last = max(c.last, l.seq)
			c.known = max(c.known, l.seq)
			if broken < 0 {
				before = l.fate
			}
		} else if broken < 0 {
			broken = k
		}
	}
	c.most, c.repeating = 0, false
	if broken < 0 {
		b.todo = b.todo[:0]
		return false
	}

	first := &b.letters[b.todo[broken]]
	c.refuseBehindFull(b)
	if first.fate == fateBehind {
		c.last, ask = first.seq, first.seq == 0
	}
	c.repeated = before == fateDuplicate
	if c.repeating = first.doubt || c.repeated; c.repeating {
		c.most, ask = 1, true // without an answer
	} else {
		c.known = c.last
	}
	b.keep()
	return ask && len(b.todo) > 0
}

// at takes in what the stream says of itself.
func (c *chain) at(info *jetstream.StreamInfo, b *batch) {
	c.last = info.State.LastSeq
	if !c.repeating {
		c.known = c.last
		return
	}
	stored := 0 // of those in doubt
	for int(min(c.last-min(c.known, c.last), uint64(len(b.todo)))) > stored && b.letters[b.todo[stored]].doubt {
		stored++
	}
	if stored == 0 && !c.repeated {
		c.repeating, c.most = false, 0 // none is there
		return
	}
	c.most = max(1, stored, room(info, b))
}

// room is how many letters the stream has room for, for certain.
func room(info *jetstream.StreamInfo, b *batch) int {
	limits := &info.Config
	if !unlimited(limits.MaxMsgsPerSubject) {
		return 0
	}
	n, left := len(b.todo), limits.MaxBytes-int64(min(info.State.Bytes, math.MaxInt64))
	if !unlimited(limits.MaxMsgs) {
		n = int(max(0, min(int64(n), limits.MaxMsgs-int64(min(info.State.Msgs, math.MaxInt64)))))
	}
	if unlimited(limits.MaxBytes) {
		return n
	}
	for k, i := range b.todo[:n] {
		if left -= storedSize(&b.msgs[i], b.letters[i].id); left < 0 {
			return k
		}
	}
	return n
}

// refuseBehindFull gives all that are behind one that there was no room for its answer: they are not stored. Those in front may have
// no answer yet.
func (*chain) refuseBehindFull(b *batch) {
	full := -1
	for k, i := range b.todo {
		l := &b.letters[i]
		switch {
		case full >= 0 && !l.ended():
			l.receipt, l.doubt = b.letters[b.todo[full]].receipt, false
		case full < 0 && (l.fate == fateFull || l.fate == fateScarce):
			full = k
		}
	}
}
