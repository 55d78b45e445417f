package flow

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/weir-go/weir/flow/sizing"
)

// Expect says what load a stage is made for, for [Pipeline.Advice] to compare with the graph: whether the workers can do it, and whether
// the edge in front has as many places as it should. Steps between the two that hand on one for one, such as Map, make no difference;
// behind others, such as Filter, nothing is said about the edge. It changes nothing in a run, and no clock is read for it: what an edge
// measures is in its [EdgeStats].
//
// Rate and Service are required. Rate is what arrives at the stage, what will be refused or dropped included; Service is the
// time of one item. Concurrency is the number of the stage's workers where it is zero. Without a limit (Latency, Deadline, Burst,
// Callers) nobody waits for longer than LongestWait, by default 30 s. What [sizing.Recommend] does not take is a build error, and so are
// two Expect at a stage.
func Expect(l sizing.Load) ErrOption {
	return ErrOption{func(s *settings) {
		if s.load != nil {
			s.errs = append(s.errs, "Expect is there twice")
		}
		s.load = &l
	}}
}

// expectation is what Expect says about a node.
type expectation struct {
	load sizing.Load
	sizing.Advice
}

// expects records what the options say.
func (n *node) expects(s *settings) {
	if s.load == nil {
		return
	}
	l := *s.load
	if l.Concurrency == 0 {
		l.Concurrency = max(n.workers, 1)
	}
	if l.Latency == 0 && l.Deadline == 0 && l.Callers == 0 && l.Burst == (sizing.Burst{}) {
		if l.Latency = l.LongestWait; l.Latency == 0 {
			l.Latency = longestWait
		}
	}
	n.expected = &expectation{load: l, Advice: sizing.Recommend(l)}
	if err := n.expected.Err; err != nil {
		for text := range strings.Lines(err.Error()) {
			n.wrong("Expect: %s", strings.TrimPrefix(strings.TrimSpace(text), "sizing: "))
		}
	}
}

// longest is how long an item may wait: 0 where only a burst or the callers bound that.
func (e *expectation) longest() time.Duration {
	longest := e.load.Latency
	if d := e.load.Deadline; d > 0 {
		slow := max(e.load.P95, e.load.Service)
		if left := max(d-slow, 1); longest == 0 || left < longest {
			longest = left
		}
	}
	return longest
}

// disguised is how long a wait is that nobody takes for one.
func (e *expectation) disguised() time.Duration {
	switch {
	case e.load.LongestWait > 0:
		return e.load.LongestWait
	case e.load.Deadline > 0:
		return e.load.Deadline
	}
	return longestWait
}

// expectations compares what stages are made for with what is in front of them.
func (p *planner) expectations() {
	for _, n := range p.order {
		e := n.expected
		if e == nil {
			continue
		}
		for _, text := range e.Warnings {
			p.advice = append(p.advice, p.finding(n, text))
		}
		if at, places, within := n.inFront(); places > 0 {
			if text := e.judge(places, within); text != "" {
				p.advice = append(p.advice, p.finding(at, text))
			}
		}
	}
}

// inFront returns the edge from which the workers of n take: whose line it is, how many places it has, 0 where there is none, and its
// MaxWait. A single worker may take by way of steps that it does itself.
func (n *node) inFront() (at *node, places int, within time.Duration) {
	up := n.ups[0]
	alone := n.workers <= 1 && n.op != "parallel" && n.op != "parallelbykey"
	for up.op == "with" || alone && up.oneForOne() {
		up = up.ups[0]
	}
	switch {
	case up.edge:
		return up, up.places, up.within
	case n.op == "parallel" || n.workers > 1 && n.op != "parallelbykey":
		return n, DefaultCapacity, 0
	default:
		return nil, 0, 0
	}
}

// oneForOne reports whether as many items come out of n, a step in the goroutine of whoever pulls, as go in.
func (n *node) oneForOne() bool {
	switch n.op {
	case "map", "tap", "scan", "stamp", "trymap", "besteffort":
		return true
	}
	return false
}

// judge says what is wrong with an edge of so many places, which drops what has waited longer than within.
func (e *expectation) judge(places int, within time.Duration) string {
	longest := e.longest()
	if bounded := within > 0 && (longest == 0 || within <= longest); !bounded {
		if text := e.tooLong(places, longest); text != "" {
			return text
		}
	}
	for _, b := range e.Bounds {
		switch {
		case b.By == sizing.ByCallers && places > b.Items:
			return fmt.Sprintf("it has %d places, of which %d are ever taken: there are %d callers, and the workers have the rest",
				places, b.Items, e.load.Callers)
		case b.By == sizing.ByBurst && places < b.Items && b.Items <= e.Capacity:
			return fmt.Sprintf("it has %d places, and the burst needs %d", places, b.Items)
		}
	}
	return ""
}

// tooLong says that the last of so many places is one from which an item comes too late.
func (e *expectation) tooLong(places int, longest time.Duration) string {
	wait, err := sizing.Wait(places, e.load.Service, e.load.Concurrency)
	disguise, wanted := e.disguised(), cmp.Or(longest, e.disguised())
	if err != nil || places <= e.Capacity || wait <= wanted {
		return ""
	}
	what := ""
	if wait > disguise {
		what = "an unbounded queue in disguise: "
	}
	return fmt.Sprintf("%sthe last of %d places waits %v at %.6g/s, and %v is wanted: %d are enough",
		what, places, wait, e.Throughput, wanted, e.Capacity)
}
