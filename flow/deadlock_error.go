package flow

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weir-go/weir/internal/engine"
)

// DeadlockError says that stages of a run wait for each other, each for the next one in Hops and the last one for the first, so
// that none of them will ever go on. Find it with errors.AsType[*flow.DeadlockError](err).
type DeadlockError struct {
	// Artificial says that one of them waits for room, so that a larger edge would let it go on. Otherwise all of them wait for
	// items, for some to settle, or at the gate of a loop, and no capacity of an edge helps.
	Artificial bool
	Age        time.Duration // of the run
	Hops       []DeadlockHop
	Smallest   string   // of the full edges, the one with the least capacity; "" where none is
	Behind     []string // stages that are not part of the circle, but wait for it
	Waiting    int      // items in all edges of the run

	Capacity int    // what Smallest has got by Grow; 0 where it has not
	Shed     string // the edge that has dropped an item; "" where none has
	Refused  string // why neither was possible, where one of them was configured
}

// DeadlockHop is one stage of a [DeadlockError].
type DeadlockHop struct {
	Stage string
	// Waits is "to write" or "to read" an edge, "for its turn" among the goroutines of its stage, "at its gate": a loop with as many
	// items inside as it lets in, "for a settlement": a source at its limit, or "for its groups": a GroupBy that needs a place, or that
	// the last group of a key or all of them end.
	Waits    string
	Edge     string // where it waits to write or to read
	Length   int    // items in the edge; of the lanes of a GroupBy, in the one where it waits
	Capacity int    // of the edge, or of one lane
	OnFull   Policy
	For      time.Duration // how long it has waited
	Holds    int           // items that it gathers without a limit in time, and has too few of
	Groups   int           // of a GroupBy: how many groups wait so, or are open behind its goroutine that does
}

// deadlockError is what users see of a deadlock.
func deadlockError(d *engine.Deadlock) *DeadlockError {
	e := &DeadlockError{
		Artificial: d.Smallest != "", Age: d.Age, Smallest: d.Smallest, Behind: d.Behind, Waiting: d.Waiting,
	}
	for i := range d.Hops {
		h := &d.Hops[i]
		e.Hops = append(e.Hops, DeadlockHop{
			Stage: h.Stage, Waits: h.Waits(), Edge: h.Edge, Length: h.Length, Capacity: h.Capacity, OnFull: h.OnFull,
			For: h.Waited, Holds: h.Holds, Groups: h.Groups,
		})
	}
	return e
}

// Error draws the circle, one hop in each line.
func (e *DeadlockError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "flow: deadlock after %v: each of these waits for the next one, the last for the first; %s\n", round(e.Age), e.remedy())
	names, waits := 0, 0
	for i := range e.Hops {
		names = max(names, len(strconv.Quote(e.Hops[i].Stage)))
		waits = max(waits, len(e.Hops[i].Waits))
	}
	for i := range e.Hops {
		fmt.Fprintf(&b, "  %s %s\n", e.corner(i), e.Hops[i].line(names, waits))
	}
	if e.Artificial {
		fmt.Fprintf(&b, "  smallest full edge: %q\n", e.Smallest)
	}
	if len(e.Behind) > 0 {
		fmt.Fprintf(&b, "  behind them: %s\n", quoted(e.Behind))
	}
	fmt.Fprintf(&b, "  items in edges: %d", e.Waiting)
	b.WriteString(e.outcome())
	return b.String()
}

// remedy says which bound is too small for them, if any is.
func (e *DeadlockError) remedy() string {
	if e.Artificial {
		return "a larger edge would let them go on"
	}
	for i := range e.Hops {
		switch e.Hops[i].Waits {
		case engine.WaitsAtGate:
			return "none of them for room in an edge, but a gate that lets in more would let them go on"
		case engine.WaitsForSettlement:
			return "none of them for room, but a source that leaves more unsettled would let them go on"
		}
	}
	return "none of them for room, so no capacity would help"
}

// corner is the part of the drawn circle in front of a hop.
func (e *DeadlockError) corner(i int) string {
	switch {
	case len(e.Hops) == 1:
		return "->"
	case i == 0:
		return "┌>"
	case i == len(e.Hops)-1:
		return "└─"
	default:
		return "│ "
	}
}

// outcome says what was done.
func (e *DeadlockError) outcome() string {
	switch {
	case e.Capacity > 0:
		return fmt.Sprintf("\n  edge %q has %d places from now on: give it as many", e.Smallest, e.Capacity)
	case e.Shed != "":
		return fmt.Sprintf("\n  edge %q has dropped its oldest item", e.Shed)
	case e.Refused != "":
		return "\n  nothing was done about it: " + e.Refused
	default:
		return ""
	}
}

// line is the hop with its columns filled to some width.
func (h *DeadlockHop) line(names, waits int) string {
	s := fmt.Sprintf("%-*q waits %-*s", names, h.Stage, waits, h.Waits)
	if h.Edge != "" {
		s += fmt.Sprintf(" edge %q, %d of %d, %s", h.Edge, h.Length, h.Capacity, h.OnFull)
	}
	s += fmt.Sprintf(", for %v", round(h.For))
	if h.Holds > 0 {
		s += fmt.Sprintf(", holds %d without a limit in time", h.Holds)
	}
	switch h.Groups {
	case 0:
	case 1:
		s += ", 1 group"
	default:
		s += fmt.Sprintf(", %d groups", h.Groups)
	}
	return s
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// quoted lists names.
func quoted(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = strconv.Quote(name)
	}
	return strings.Join(all, ", ")
}
