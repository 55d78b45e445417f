package sizing

import "strconv"

// Limit says where a bound comes from.
type Limit uint8

// The limits, in the order in which Recommend looks at them.
const (
	ByLatency  Limit = iota + 1 // Load.Latency: more could not be served in time
	ByDeadline                  // Load.Deadline: more would be late, the slow ones among them
	ByCallers                   // Load.Callers: more there are not
	ByBurst                     // Load.Burst: more are not needed
)

// String is the name of what the limit comes from, in lower case.
func (l Limit) String() string {
	switch l {
	case ByLatency:
		return "latency"
	case ByDeadline:
		return "deadline"
	case ByCallers:
		return "callers"
	case ByBurst:
		return "burst"
	default:
		return "Limit(" + strconv.Itoa(int(l)) + ")"
	}
}

// Bound is the capacity that one limit gives.
type Bound struct {
	By    Limit
	Items int
}

// bounds has one bound for each limit that the load has.
func (l Load) bounds() []Bound {
	var all []Bound
	rate := throughput(l.Concurrency, l.Service)
	if l.Latency > 0 {
		all = append(all, Bound{ByLatency, forLatency(rate, l.Latency, l.variation())})
	}
	if l.Deadline > 0 {
		all = append(all, Bound{ByDeadline, forLatency(rate, max(0, l.Deadline-l.slow()), l.variation())})
	}
	if l.Callers > 0 {
		all = append(all, Bound{ByCallers, forCallers(l.Callers, l.Concurrency)})
	}
	if l.Burst != (Burst{}) {
		all = append(all, Bound{ByBurst, forBurst(l.excess(), l.Burst.Length)})
	}
	return all
}

// binding is the smallest bound beyond which places do harm or nothing, and what the burst needs if there is none of these.
func binding(all []Bound) Bound {
	binds := all[0]
	for _, b := range all[1:] {
		if b.By != ByBurst && b.Items < binds.Items {
			binds = b
		}
	}
	return binds
}

// bound is that of one limit, if the load has it.
func (a Advice) bound(by Limit) (items int, ok bool) {
	for _, b := range a.Bounds {
		if b.By == by {
			return b.Items, true
		}
	}
	return 0, false
}
