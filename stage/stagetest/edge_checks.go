package stagetest

import (
	"errors"
	"sync"
	"time"

	"github.com/weir-go/weir/flow"
)

const writers, readers = 4, 4

// linearizable has four goroutines put and four take, for many short histories.
func (r *edgeTrial[T]) linearizable() {
	rounds := 10
	if !r.Bubble {
		rounds = 3
	}
	for range rounds {
		x := r.cross(readers, func() { nap(200 * time.Microsecond) })
		close(x.begin)
		x.write(24, true, 100*time.Microsecond)
		x.finish()
		if r.any() {
			return
		}
		if wrong := x.history.check(r.key); wrong != "" {
			r.addf("%s", wrong)
			return
		}
	}
}

// key says with which other items an item keeps its order.
func (k *edgeKit[T]) key(n int) string {
	switch {
	case k.Key != nil && n >= 0:
		return k.Key(k.Item(n))
	case k.Unordered:
		return string(rune(n))
	}
	return ""
}

// write has the writers hand over each so many items, with Put or else half of them with Offer, and waits for them.
func (x *crossing[T]) write(each int, put bool, pause time.Duration) {
	x.bounded("one of four writers", func() {
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				for i := range each {
					n := i*writers + w
					_ = x.offer(n, x.Item(n), put || i%2 == 0)
					nap(pause)
				}
			})
		}
		all.Wait()
	})
}

// lateReaders fills the edge before anybody takes something.
func (r *edgeTrial[T]) lateReaders() { r.filled(false) }

// untold is lateReaders where nobody is told of drops.
func (r *edgeTrial[T]) untold() { r.filled(true) }

func (r *edgeTrial[T]) filled(deaf bool) {
	x := r.crossDeaf(1, func() {}, deaf)
	n := 3*min(x.edge.Capacity, 200) + 8
	x.bounded("Offer", func() {
		for i := range n {
			_ = x.offer(i, r.Item(i), false)
		}
	})
	settle(r.Bubble)
	if x.edge.MaxWait > 0 && r.Bubble {
		time.Sleep(2 * x.edge.MaxWait)
	}
	close(x.begin)
	x.finish()
	x.accounts()
}

// storm offers and puts faster than the readers take.
func (r *edgeTrial[T]) storm() {
	x := r.cross(readers, func() { nap(time.Millisecond) })
	close(x.begin)
	x.write(60, false, 50*time.Microsecond)
	x.finish()
	x.accounts()
}

// accounts looks at the fate of every item, and compares all of them with the figures of the edge.
func (x *crossing[T]) accounts() {
	if x.any() {
		return
	}
	var delivered, refusals int64
	var drops flow.DropCounts
	for v, err := range x.answers {
		taken, dropped := x.taken[v], x.dropped[v]
		delivered += int64(taken)
		for _, why := range dropped {
			drops[why]++
		}
		if refused(err) {
			refusals++
		}
		n := len(dropped)
		if x.deaf && taken == 0 && !refused(err) {
			n = 1 // there is nothing else that it can be
		}
		if wrong := fate(err, taken, n); wrong != "" {
			x.addf("item %d %s", x.number[v], wrong)
			return
		}
	}
	s := x.stats()
	switch {
	case x.deaf && s.Dropped.Total() != int64(len(x.answers))-delivered-refusals:
		x.addf("the edge counts %d dropped, of %d offered %d were delivered and %d refused", s.Dropped.Total(), len(x.answers), delivered, refusals)
	case s.In != s.Out+s.Dropped.Total()+int64(s.Depth):
		x.addf("the edge counts %d in, %d out, %d dropped and %d in it", s.In, s.Out, s.Dropped.Total(), s.Depth)
	case s.Out != delivered || s.Depth != 0:
		x.addf("the edge counts %d out and %d in it, %d were delivered", s.Out, s.Depth, delivered)
	case s.Dropped != drops && !x.deaf:
		x.addf("the edge counts %v dropped, by reason, and Dropped was told of %v", s.Dropped, drops)
	case s.Refused != refusals:
		x.addf("the edge counts %d refused, %d offers were", s.Refused, refusals)
	case s.MaxDepth > s.Capacity:
		x.addf("the edge held %d items, with a capacity of %d", s.MaxDepth, s.Capacity)
	}
}

// fate says what is wrong with what became of an item, "" if it is one thing and one only.
func fate(answer error, taken, dropped int) string {
	switch {
	case taken+dropped > 1 && dropped == 0:
		return "was delivered more than once"
	case taken+dropped > 1:
		return "was dropped, and something else as well"
	case answer == nil && taken+dropped == 0:
		return "was taken over, and neither delivered nor dropped"
	case refused(answer) && taken+dropped > 0:
		return "was refused, and delivered or dropped as well"
	case errors.Is(answer, flow.ErrDropped) && dropped == 0:
		return "was dropped, and Dropped was not told"
	case answer != nil && !refused(answer) && !errors.Is(answer, flow.ErrDropped):
		return "was answered with " + answer.Error()
	}
	return ""
}

// heavyAlone hands a heavy item to an empty edge, and then a light one.
func (r *edgeTrial[T]) heavyAlone() {
	for _, put := range []bool{true, false} {
		x := r.cross(1, func() {})
		close(x.begin)
		if !x.bounded("handing over an item that is too heavy", func() { _ = x.offer(-1, r.Heavy(), put) }) {
			return
		}
		x.bounded("handing over an item behind one that is too heavy", func() { _ = x.offer(0, r.Item(0), true) })
		x.finish()
	}
}

// heavyAmongOthers hands a heavy item to an edge through which light ones pass all the time.
func (r *edgeTrial[T]) heavyAmongOthers() {
	const enough = 2000 // items that have passed the heavy one
	x := r.cross(1, func() { time.Sleep(100 * time.Microsecond) })
	close(x.begin)
	_ = x.offer(0, r.Item(0), true)
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		_ = x.offer(-1, r.Heavy(), true)
	}()
	over := func() bool {
		select {
		case <-passed:
			return true
		default:
			return false
		}
	}
	light := 1
	x.bounded("handing over items while one waits that is too heavy", func() {
		for ; light < enough && !over(); light++ {
			_ = x.offer(light, r.Item(light), true)
		}
	})
	settle(r.Bubble)
	if light == enough && !over() {
		r.addf("an item that is too heavy still waits, and %d others have passed it", light)
		x.stop()
	}
	x.bounded("handing over an item that is too heavy", func() { <-passed })
	x.finish()
}
