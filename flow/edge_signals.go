package flow

import (
	"fmt"
	"time"

	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/internal/queue"
)

// EdgeSignals are what an edge says about the load, beside what it counts. Rates are those of the last seconds.
type EdgeSignals struct {
	Target     int           // how many may wait before it is a standing queue
	TargetWait time.Duration // how long so many wait; 0 while nothing is known
	Standing   bool          // MinSojourn is above that: a bad queue, one that does not clear. A burst makes none

	Service     time.Duration // mean service time of an item, what its consumers do with it; 0 while nothing is known
	OfferedRate float64       // items per second that arrive, refused ones included
	OfferedLoad float64       // that by how many per second can be finished: what a scaler reads, because shedding does not lower it
	Recovery    time.Duration // until what waits is gone, as things are; 0 where nothing waits, negative where it never will be

	MeanDepth   float64 // how many have waited, on average over the run
	LittleDepth float64 // the same by Little's law, rate x mean wait: if they differ, do not trust either

	Reserve int          // free places of those that [Reserved] keeps
	Classes []ClassStats // of [ByCriticality], first to be shed first

	// StarvedKey is the key, shortened to 256 bytes, of a fair edge that has had to wait for its turn for longer than ten turns of all
	// keys, if these weighed the same; StarvedFor is how long. Empty and 0 where there is none.
	StarvedKey string
	StarvedFor time.Duration
}

// ClassStats counts the items of a class of [ByCriticality].
type ClassStats struct {
	Class   string // "Sheddable", "retry", "SheddablePlus", "Critical", "CriticalPlus"
	Offered int64  // all that came
	Refused int64  // those of them that paid, or were refused, when there was no room
}

// starvedTurns is how many turns a key may wait.
const starvedTurns = 10

func edgeSignals(info *engine.EdgeInfo, q *queue.Stats) EdgeSignals {
	s := EdgeSignals{
		Target: q.Target, TargetWait: q.TargetWait, Standing: q.Standing, Service: q.Service,
		OfferedRate: q.OfferedRate, OfferedLoad: q.OfferedLoad, Recovery: q.Recovery,
		MeanDepth: q.MeanDepth, LittleDepth: q.LittleDepth, Reserve: q.Reserve,
	}
	for rank, counts := range q.Ranks {
		s.Classes = append(s.Classes, ClassStats{rankNames[rank], counts.Offered, counts.Refused})
	}
	if info.Order == queue.Fair && q.TurnTime > 0 && q.OverdueFor > starvedTurns*q.TurnTime {
		s.StarvedKey, s.StarvedFor = q.OverdueKey, q.OverdueFor
	}
	return s
}

// rankNames are the names of the ranks of ByCriticality.
var rankNames = [ranks]string{"Sheddable", "retry", "SheddablePlus", "Critical", "CriticalPlus"}

// CriticalShed returns how many items of the classes Critical and CriticalPlus had to pay or were refused: there is nothing left to shed
// that could wait, so the answer is capacity.
func (s *EdgeSignals) CriticalShed() (n int64) {
	for i, c := range s.Classes {
		if i >= rankCritical {
			n += c.Refused
		}
	}
	return n
}

// dominant returns the class above SheddablePlus that carries more than half of the load, where several are in use.
func (s *EdgeSignals) dominant() (name string, share float64) {
	total, used := int64(0), 0
	for _, c := range s.Classes {
		if total += c.Offered; c.Offered > 0 {
			used++
		}
	}
	for i, c := range s.Classes {
		if used > 1 && i > rankSheddablePlus && 2*c.Offered > total {
			return c.Class, float64(c.Offered) / float64(total)
		}
	}
	return "", 0
}

// longestWait is how long anybody waits, where nothing else is said.
const longestWait = 30 * time.Second

// The zones of the offered load.
const (
	loadNormal  = 0.8
	loadWarning = 0.95
)

// Advice says what the signals mean, worst first, in sentences for people; none where all is well. longest is how long an item may take
// before nobody wants it any more, such as its deadline; 0 is 30 s.
func (s *EdgeStats) Advice(longest time.Duration) (texts []string) {
	if longest <= 0 {
		longest = longestWait
	}
	say := func(format string, args ...any) { texts = append(texts, s.Name+": "+fmt.Sprintf(format, args...)) }
	if n := s.CriticalShed(); n > 0 {
		say("%d items were shed that are Critical or above: there is nothing else left to shed, the answer is capacity", n)
	}
	if s.Standing {
		say("a standing queue: nothing has waited less than %v in the last 100 ms, and the target of %d is %v: the answer is capacity or shedding, never a bigger bound",
			s.MinSojourn.Round(time.Microsecond), s.Target, s.TargetWait.Round(time.Microsecond))
	}
	switch {
	case s.OfferedLoad > 1:
		say("offered load %.2f: %.4g/s arrive, more than can be finished", s.OfferedLoad, s.OfferedRate)
	case s.OfferedLoad > loadWarning:
		say("offered load %.2f: above %.2f there is no steady latency", s.OfferedLoad, loadWarning)
	case s.OfferedLoad > loadNormal:
		say("offered load %.2f: above %.1f waiting grows faster than load", s.OfferedLoad, loadNormal)
	}
	if last := s.lastWait(); last > longest {
		say("an unbounded queue in disguise: the last of %d items waits %v, and %v is the longest that anybody does",
			s.Capacity, last.Round(time.Millisecond), longest)
	}
	if s.StarvedFor > 0 {
		say("the key %q has been without its turn for %v: the weights starve it", s.StarvedKey, s.StarvedFor.Round(time.Millisecond))
	}
	if class, share := s.dominant(); class != "" {
		say("the class %s carries %s of the load: what everything is protects nothing", class, percent(share))
	}
	return texts
}

// lastWait returns how long the last item of a full edge waits, as service times are.
func (s *EdgeStats) lastWait() time.Duration {
	if s.Target == 0 {
		return 0
	}
	last := time.Duration(float64(s.TargetWait) / float64(s.Target) * float64(s.Capacity))
	if s.maxWait > 0 {
		last = min(last, s.maxWait)
	}
	return last
}
