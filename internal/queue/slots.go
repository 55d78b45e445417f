package queue

// slots are the items of a queue that is not FIFO, by number, as its order sees them. Slot 0 is nobody's, so that the zero value of a
// list is an empty one.
type slots struct {
	of    []slot
	spare int32 // the first unused one; the others follow by age
	age   list  // all items, the oldest first
	n     int
	seq   int64
}

// none is the slot of nobody.
const none int32 = 0

// slot is an item.
type slot struct {
	facts
	at    int64   // when it was accepted
	seq   int64   // how many were accepted before it
	links [2]link // by age and by lane
}

// link is a place in a list.
type link struct{ prev, next int32 }

// list is a list of slots.
type list struct {
	first, last int32
	n           int
}

// along says which links of a slot a list uses.
type along uint8

const (
	byAge  along = 0
	byLane along = 1
)

func (s *slots) link(i int32, a along) *link { return &s.of[i].links[a&1] }

// younger returns the slot of the item that came behind the one in slot i.
func (s *slots) younger(i int32) int32 { return s.of[i].links[byAge].next }

// push puts slot i at the end of l.
func (s *slots) push(l *list, i int32, a along) {
	*s.link(i, a) = link{prev: l.last}
	if l.last == none {
		l.first = i
	} else {
		s.link(l.last, a).next = i
	}
	l.last = i
	l.n++
}

// cut takes slot i out of l.
func (s *slots) cut(l *list, i int32, a along) {
	at := *s.link(i, a)
	if at.prev == none {
		l.first = at.next
	} else {
		s.link(at.prev, a).next = at.next
	}
	if at.next == none {
		l.last = at.prev
	} else {
		s.link(at.next, a).prev = at.prev
	}
	l.n--
}

// take returns an unused slot, none if there is none.
func (s *slots) take() int32 {
	i := s.spare
	if i != none {
		s.spare = s.younger(i)
	}
	return i
}

// give makes slot i an unused one.
func (s *slots) give(i int32) {
	s.of[i].links[byAge].next = s.spare
	s.spare = i
}

// extend makes size slots of what there are.
func (s *slots) extend(size int) {
	from := max(len(s.of), 1)
	of := make([]slot, size)
	copy(of, s.of)
	s.of = of
	for i := size - 1; i >= from; i-- {
		s.give(int32(i))
	}
}

// slab holds the items of a queue that is not FIFO. Like a ring it grows by doubling, and clears slots as they empty.
type slab[T any] struct {
	slots
	values []T
	tags   []*Tag
	order  order
}

func newSlab[T any](cfg *Config[T]) *slab[T] {
	s := &slab[T]{}
	s.order = newOrder(&cfg.Order, cfg.OnFull, &s.slots)
	return s
}

// put takes an item over. bound is the capacity of the queue.
func (s *slab[T]) put(v T, t *Tag, f *facts, at int64, bound int) {
	i := s.take()
	if i == none {
		s.grow(bound)
		i = s.take()
	}
	o := &s.of[i]
	o.facts, o.at, o.seq = *f, at, s.seq
	s.seq++
	s.values[i] = v
	if t != nil {
		s.tags[i] = t
	}
	s.push(&s.age, i, byAge)
	s.n++
	s.order.add(i)
}

func (s *slab[T]) grow(bound int) {
	size := min(max(2*s.n, 16), bound) + 1
	s.extend(size)
	values, tags := make([]T, size), make([]*Tag, size)
	copy(values, s.values)
	copy(tags, s.tags)
	s.values, s.tags = values, tags
}

// remove forgets the item in slot i.
func (s *slab[T]) remove(i int32, served bool) {
	s.order.remove(i, served)
	s.cut(&s.age, i, byAge)
	var zero T
	s.values[i] = zero
	if s.tags[i] != nil {
		s.tags[i] = nil
	}
	s.give(i)
	s.n--
}

// leaving is the item in slot i, perhaps the first of a take.
func (s *slab[T]) leaving(i int32, first bool) leaving {
	return leaving{at: s.of[i].at, deadline: s.of[i].deadline, lane: s.of[i].lane, behind: s.order.behind(i), first: first}
}

// drain returns the tags of all items, the oldest first, and forgets them.
func (s *slab[T]) drain() (tags []*Tag) {
	for s.n > 0 {
		i := s.age.first
		tags = append(tags, s.tags[i])
		s.remove(i, false)
	}
	return tags
}
