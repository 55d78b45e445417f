package jetstream

import "github.com/nats-io/nats.go"

// state is where a delivery stands.
type state uint8

const (
	free    state = iota
	waiting       // received, not fetched
	held          // fetched, not settled
	done          // settled, waits for what is in front of it (Cumulative)
	failed        // given back, its place kept until it comes again (Cumulative)
	leaving       // settled, the answer has not gone out
	asked         // the answer has gone out, its confirmation has not come (Confirmed)
)

// slot is one delivery, from its arrival until the server needs nothing more from us.
type slot struct {
	state    state
	lost     bool // AckWait has passed without a sign of life: somebody else may have it
	overheld bool // MaxHold has passed: no more signs of life
	evicted  bool // the stream has deleted it: it can't come again
	gen      uint32
	msg      *nats.Msg // until it is fetched
	reply    string
	facts    facts
	arrived  int64 // not later than it did
	seen     int64 // when the server last had a sign of life, not later than it had
	verb     verb  // what is sent (leaving, asked)
	asked    int64 // when it was last sent (asked)
}

// slots holds all deliveries of a fetcher. A token is the place of one and how often that place has been used.
type slots struct {
	all   []slot
	spare []int32
	used  int
}

func token(i int32, gen uint32) uint64 { return uint64(gen)<<32 | uint64(uint32(i)) }

// take returns an empty place.
func (t *slots) take() int32 {
	t.used++
	if n := len(t.spare); n > 0 {
		i := t.spare[n-1]
		t.spare = t.spare[:n-1]
		return i
	}
	t.all = append(t.all, slot{gen: 1})
	return int32(len(t.all) - 1)
}

// release empties a place; its tokens are void from here on.
func (t *slots) release(i int32) {
	t.all[i] = slot{gen: t.all[i].gen + 1}
	t.spare = append(t.spare, i)
	t.used--
}

// find returns the place that a token names, nil if it has been used for something else since.
func (t *slots) find(tok uint64) (int32, *slot) {
	i := uint32(tok)
	if uint64(i) >= uint64(len(t.all)) {
		return 0, nil
	}
	s := &t.all[i]
	if s.state == free || s.gen != uint32(tok>>32) {
		return 0, nil
	}
	return int32(i), s
}

// lose says that the server has forgotten everything that it has delivered.
func (t *slots) lose() {
	for i := range t.all {
		if s := &t.all[i]; s.state != free {
			s.lost = true
		}
	}
}

// ending is how many deliveries are held, or end for good. The others come again.
func (t *slots) ending() (n int) {
	for i := range t.all {
		switch s := &t.all[i]; s.state {
		case held, done:
			n++
		case leaving, asked:
			if s.verb != nak {
				n++
			}
		case free, waiting, failed:
		}
	}
	return n
}

// fifo is a queue of places.
type fifo struct {
	items []int32
	head  int
}

func (q *fifo) len() int { return len(q.items) - q.head }

func (q *fifo) push(i int32) { q.items = append(q.items, i) }

func (q *fifo) pop() int32 {
	i := q.items[q.head]
	if q.head++; q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return i
}
