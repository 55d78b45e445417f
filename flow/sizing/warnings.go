package sizing

import (
	"fmt"
	"sort"
	"strings"
)

// tolerated is the share of items refused by chance that is no reason to warn.
const tolerated = 0.01

// warnings asks every rule, worst first.
func warnings(l Load, a Advice) []string {
	var all []string
	for _, rule := range []func(Load, Advice) string{
		overload, busy, disguise, late, burstRefused, chance, unreachable, targetUnreachable, idle, tail,
	} {
		if text := rule(l, a); text != "" {
			all = append(all, text)
		}
	}
	return all
}

// overload: what stands can't be bounded away.
func overload(l Load, a Advice) string {
	if a.Utilization < 1 {
		return ""
	}
	return fmt.Sprintf("utilization %.2f: %.6g/s arrive and %.6g/s can be finished, so a queue stands and %s are refused: "+
		"the answer is capacity (%s keep it at %.1f) or shedding, never a bigger bound",
		a.Utilization, l.Rate, a.Throughput, percent(a.Refused), count(forRate(l.Rate, l.Service, normalTo), "worker"), normalTo)
}

// busy: the zones of utilization below overload.
func busy(l Load, a Advice) string {
	more := count(forRate(l.Rate, l.Service, normalTo), "worker")
	switch {
	case a.Zone == ZoneNormal || a.Utilization >= 1:
		return ""
	case a.Zone == ZoneWarning:
		return fmt.Sprintf("utilization %.2f: above %.1f waiting grows faster than load; %s keep it there", a.Utilization, normalTo, more)
	default:
		return fmt.Sprintf("utilization %.2f: above %.2f there is no steady latency; %s keep it at %.1f", a.Utilization, warningTo, more, normalTo)
	}
}

// disguise: nobody waits for the last item of such a queue.
func disguise(l Load, a Advice) string {
	limit := l.longestWait()
	if a.Capacity <= forLatency(a.Throughput, limit, 0) {
		return ""
	}
	return fmt.Sprintf("an unbounded queue in disguise: the last of %d items waits %v, and %v is the longest that anybody does",
		a.Capacity, a.CapacityWait, limit)
}

// late: nobody can be in time.
func late(l Load, a Advice) string {
	switch {
	case a.Capacity > 0 || a.Binds != ByLatency && a.Binds != ByDeadline:
		return ""
	case a.Binds == ByDeadline && l.Deadline <= l.slow():
		return fmt.Sprintf("the deadline of %v is over before an item that takes %v is finished, even if it does not wait", l.Deadline, l.slow())
	default:
		return fmt.Sprintf("not one item can wait and be within the %v: the smallest edge is too large", a.Binds)
	}
}

// burstRefused: the burst is larger than latency allows.
func burstRefused(l Load, a Advice) string {
	need, ok := a.bound(ByBurst)
	if !ok || need <= a.Capacity || a.Binds == ByCallers {
		return ""
	}
	length := l.Burst.Length.Seconds()
	offered, refused := number(l.Burst.Rate*length), number(l.excess()*length)-float64(a.Capacity) // need ends at MaxItems
	text := fmt.Sprintf("the burst needs %s and the %v allows %d: %s of it is refused, %.6g of %.6g items",
		count(need, "place"), a.Binds, a.Capacity, percent(refused/offered), refused, offered)
	if enough := l.forBurst(); enough <= MaxConcurrency {
		text += fmt.Sprintf("; %s carry it in time", count(enough, "worker"))
	}
	return text
}

// forBurst is the smallest number of workers with which the burst fits, or a larger one than there may be.
func (l Load) forBurst() int {
	l.Callers = 0 // the fewer wait the better: they are no reason for another worker
	return 1 + sort.Search(MaxConcurrency, func(i int) bool {
		l.Concurrency = i + 1
		all := l.bounds()
		return all[len(all)-1].Items <= binding(all).Items
	})
}

// chance: random arrivals fill a small edge without any burst.
func chance(_ Load, a Advice) string {
	if a.Utilization >= 1 || a.Refused <= tolerated {
		return ""
	}
	return percent(a.Refused) + " are refused in the long run even without a burst, if arrivals and service times are random"
}

// unreachable: the callers are fewer than a bound is large.
func unreachable(l Load, a Advice) string {
	if a.Binds != ByCallers {
		return ""
	}
	var larger []string
	for _, b := range a.Bounds {
		if b.Items > a.Capacity {
			larger = append(larger, fmt.Sprintf("%d by %v", b.Items, b.By))
		}
	}
	if larger == nil {
		return ""
	}
	return fmt.Sprintf("%d callers and %s leave at most %d waiting: unreachable are %s",
		l.Callers, count(l.Concurrency, "worker"), a.Capacity, strings.Join(larger, ", "))
}

// targetUnreachable: the hard limit comes before the soft one.
func targetUnreachable(_ Load, a Advice) string {
	if a.Capacity == 0 || a.Target <= a.Capacity {
		return ""
	}
	return fmt.Sprintf("the target of %d is unreachable: the edge is full at %d, and refuses before it reports a standing queue", a.Target, a.Capacity)
}

// idle: there is nothing to size.
func idle(_ Load, a Advice) string {
	switch {
	case a.Capacity > 0:
		return ""
	case a.Binds == ByBurst:
		return "the workers keep up with the burst: it needs no place to wait"
	case a.Binds == ByCallers:
		return "there are no more callers than workers: nothing ever waits"
	default:
		return ""
	}
}

// tail: no bound helps those behind a giant.
func tail(l Load, _ Advice) string {
	if l.P95 == 0 || l.P95 >= l.Service {
		return ""
	}
	return fmt.Sprintf("the 95th percentile of service times, %v, is below their mean of %v: a few items take most of the time, "+
		"and should have an edge and workers of their own", l.P95, l.Service)
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
