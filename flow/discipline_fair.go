package flow

import (
	"fmt"
	"hash/maphash"
	"math/bits"

	"github.com/weir-go/weir/internal/queue"
)

// defaultSubqueues is how many subqueues there are.
const defaultSubqueues = 1024

// maxSubqueues is the most that there can be.
const maxSubqueues = 65536

// fairness is what the options of FairBy set.
type fairness struct {
	subqueues int
	weights   any // a func(K) int; nil: all keys weigh the same
}

// FairOption is an option of [FairBy] and [FairByKey]: [Weights], [Subqueues].
type FairOption interface{ fair(f *fairness) }

type fairOption func(*fairness)

func (o fairOption) fair(f *fairness) { o(f) }

// Weights gives each key its weight, 1 to 1,000,000: how many items it may have served in its turn, where all others have one. The
// function gets the key, of the type that FairBy has it; anything else is a build error. It must always give the same weight for a
// key, and may be called by several goroutines at the same time. A weight out of range stops the run.
func Weights[K any](weight func(K) int) FairOption {
	return fairOption(func(f *fairness) { f.weights = weight })
}

// Subqueues sets how many subqueues there are, 1 to 65536; the default is 1,024. Keys are hashed to them: two keys that meet in one
// share its turn.
func Subqueues(n int) FairOption {
	return fairOption(func(f *fairness) { f.subqueues = n })
}

// FairBy serves keys in turn, a tenant or a class of jobs, so that one who sends much does not make the others wait: each key has a
// subqueue, and the subqueues share the edge's capacity. One that has had nothing is next. What a key does not use of its turn goes to
// the others, and is not saved.
//
//	Shape:        order is kept for each key, and given up between keys. Keys are hashed to 1,024 subqueues, so memory
//	              does not grow with their number; a subqueue is what is fair, not a key.
//	Backpressure: under Block producers wait by key, and are let in by key, in turn; one place is kept for a key of
//	              which nothing waits, so a single key fills the edge up to one place less. A producer that
//	              brings all keys in one stream waits as a whole: there Partition is the answer. Under
//	              DropNewest and DropOldest the longest subqueue pays, with its newest or its oldest item. Under
//	              Reject the place is kept as well.
//	Errors:       a nil key, Subqueues out of range, Weights for another type of key, and Block with MaxWeight are build
//	              errors. A panic in key stops the run, and so does a key that can't be compared.
//	Concurrency:  key is called by the producers, perhaps at the same time, outside the edge's lock.
//	Cost:         a hash, a place and links for each item (row P8 of the benchmarks); no allocation.
//	Source:       M. Shreedhar and G. Varghese, "Efficient Fair Queuing Using Deficit Round Robin", 1996; RFC 8290.
//
// It creates no capacity: it decides who waits.
func FairBy[T any, K comparable](key func(T) K, opts ...FairOption) Discipline[T] {
	d := newFair[T]("FairBy")
	d.check(key != nil, "key must not be nil")
	lanes, weight := fairSettings[K](d.check, opts)
	d.of.Lanes = lanes
	seed := maphash.MakeSeed()
	d.lane = func(v T, _ *queue.Tag) (int, int) {
		k := key(v)
		return lane(maphash.Comparable(seed, k), lanes), weight(k)
	}
	d.text = func(v T, _ string) string { return fmt.Sprint(key(v)) }
	return d
}

// FairByKey is [FairBy] for the key in the items' metadata, the tenant, which a source with metadata or [Flow.Stamp] has set. Items
// without one share the key "".
func FairByKey[T any](opts ...FairOption) Discipline[T] {
	d := newFair[T]("FairByKey")
	lanes, weight := fairSettings[string](d.check, opts)
	d.of.Lanes = lanes
	seed := maphash.MakeSeed()
	d.lane = func(_ T, t *queue.Tag) (int, int) {
		k := ""
		if t != nil {
			k = t.Meta.Key
		}
		return lane(maphash.String(seed, k), lanes), weight(k)
	}
	d.text = func(_ T, metaKey string) string { return metaKey }
	return d
}

// lane spreads hashes evenly over the subqueues, whatever their number.
func lane(hash uint64, lanes int) int {
	high, _ := bits.Mul64(hash, uint64(lanes))
	return int(high)
}

func newFair[T any](name string) *discipline[T] {
	return &discipline[T]{name: name, policies: allPolicies, of: queue.Order{Kind: queue.Fair}}
}

// fairSettings returns the number of subqueues and the weight of a key.
func fairSettings[K any](check func(bool, string), opts []FairOption) (lanes int, weight func(K) int) {
	f := fairness{subqueues: defaultSubqueues}
	for _, o := range opts {
		if o == nil {
			check(false, "an option must not be nil")
			continue
		}
		o.fair(&f)
	}
	check(f.subqueues >= 1 && f.subqueues <= maxSubqueues, argument("Subqueues", "1 to 65536", f.subqueues))
	weight = func(K) int { return 1 }
	if f.weights != nil {
		given, ok := f.weights.(func(K) int)
		check(ok, "Weights must take keys of the type that the edge is fair by")
		check(!ok || given != nil, "Weights must not be nil")
		if ok {
			weight = given
		}
	}
	return f.subqueues, weight
}
