package jetstream

// chain has each message stored behind the one in front of it, or not at all: it tells the server which message must be the last
// one at that moment. So what is behind a message that the stream had no room for is refused too, and none slips in
// when there is room a moment later.
//
// A message that has been stored before does not move the stream's end. Where such ones are expected, after a broken connection,
// all are to follow the same one: those that are there already are found to be repetitions, the first that is not is
// stored, and the next round goes on behind it. One round per message would do as well, in a thousand times the time.
//
// It is for one writer. Another one costs rounds, and its messages come in between.
type chain struct {
	last uint64 // sequence number of the last message of the stream, as far as is known
	step uint64 // 1, or 0 where repetitions are expected
}

// expect is the message that the k-th letter of a round is to follow.
func (c *chain) expect(k int) uint64 { return c.last + c.step*uint64(k) }

// breaks says whether a letter with that fate is one that the next letter can't follow.
func (c *chain) breaks(f fate) bool {
	if c.step == 0 {
		return f != fateDuplicate
	}
	return f != fateStored
}

// review looks at a round. It sets the chain up for the next one, and b.todo to what is left of it. ask says that it is not
// known where the stream ends.
func (c *chain) review(b *batch) (ask bool) {
	before := fatePending // fate of the letter in front
	broken := -1          // the first one that is not stored
	for k, i := range b.todo {
		l := &b.letters[i]
		if l.confirmed() {
			c.last = max(c.last, l.seq)
			if broken < 0 {
				before = l.fate
			}
		} else if broken < 0 {
			broken = k
		}
	}
	if broken < 0 {
		c.step = 1
		b.todo = b.todo[:0]
		return false
	}

	first := &b.letters[b.todo[broken]]
	c.step = 1
	if first.doubt || before == fateDuplicate {
		c.step = 0
	}
	if first.fate == fateFull || first.fate == fateScarce {
		c.refuseRest(b, first.receipt)
	}
	if first.fate == fateBehind {
		c.last, ask = first.seq, first.seq == 0
	}
	b.keep()
	return ask
}

// refuseRest gives all that are behind a refused one its answer: they are not stored.
func (*chain) refuseRest(b *batch, a receipt) {
	for _, i := range b.todo {
		if l := &b.letters[i]; !l.ended() {
			l.receipt = a
			l.doubt = false
		}
	}
}
