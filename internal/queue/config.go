package queue

import (
	"errors"
	"fmt"
	"time"

	"github.com/weir-go/weir/internal/claim"
	"github.com/weir-go/weir/internal/codel"
	"github.com/weir-go/weir/stage"
)

// Tag is what travels beside a value; nil for a plain one.
type Tag = claim.Tag[stage.Meta]

// Policy says what a full queue does with one item more.
type Policy uint8

// The policies. "Newest" is the arriving item, "oldest" the one that has waited longest.
const (
	Block      Policy = iota // wait for room
	DropNewest               // discard the arriving item
	DropOldest               // discard the longest waiting item and take the arriving one
	Reject                   // fail with a *FullError

	policies
)

// Valid reports whether p is one of the policies.
func (p Policy) Valid() bool { return p < policies }

// String returns the policy's name as it is written in flags and on graphs.
func (p Policy) String() string {
	names := [...]string{"block", "drop-newest", "drop-oldest", "reject"}
	if !p.Valid() {
		return fmt.Sprintf("policy(%d)", uint8(p))
	}
	return names[p]
}

// Reason says why an item was dropped.
type Reason uint8

// The reasons.
const (
	DropFull     Reason = iota // there was no room
	DropExpired                // it waited longer than MaxWait
	DropDeadline               // its deadline could not be met
	DropShed                   // refused on purpose: by CoDel, or for a group that has ended, by GroupBy with DropRest
	DropTooHeavy               // heavier than MaxWeight, and the queue was not empty

	Reasons // how many there are
)

// String returns the reason's name.
func (r Reason) String() string {
	names := [...]string{"full", "expired", "deadline", "shed", "too heavy"}
	if r >= Reasons {
		return fmt.Sprintf("reason(%d)", uint8(r))
	}
	return names[r]
}

// Config describes a queue. Its values are valid: flow checks what users write.
type Config[T any] struct {
	Name      string
	Capacity  int
	OnFull    Policy
	MaxWait   time.Duration                       // 0: no bound in time
	MaxWeight int64                               // 0: no bound by weight
	Weight    func(T) int64                       // with MaxWeight
	Dropped   func(v T, t *Tag, why Reason)       // takes over the tag; nil: just counted, for plain queues
	Fair      bool                                // a consumer takes at most its share of what waits; see ShareOut
	Tagged    bool                                // values come with tags
	Order     Order                               // FIFO by default
	Lane      func(v T, t *Tag) (lane, share int) // with Fair and ByRank: from 0, and the lane's weight
	KeyText   func(v T, metaKey string) string    // with Fair: the key of an item, for people to read; nil: ""
	Cost      func(v T) int64                     // with Largest
	Deadline  func(v T, t *Tag) time.Time         // what can't be finished by then is dropped; the zero time is never
	OfTag     bool                                // Deadline looks at the tag only, so what has none is not asked about
	CoDel     codel.Config                        // with a Target: what it drops, as DropShed; one law for each lane of Fair
	Target    int                                 // how many may wait before it is a standing queue; 0: half the consumers
	Failed    func(panicked any) error            // told that Weight, Lane, Cost or Deadline panicked, or with nil that it ended its goroutine; nil: nobody is
	Left      func(cause error) (o stage.Outcome) // how waiting items settle when the last consumer leaves; nil: as given back
}

var (
	// ErrLeft is what a producer gets when all consumers have left.
	ErrLeft = errors.New("flow: given back, nobody wants it any more")
	// ErrTimeout is what Take returns when its time was up.
	ErrTimeout = errors.New("queue: time is up")
	// ErrClosed is what a producer gets after it has closed.
	ErrClosed = errors.New("flow: closed")
	// ErrDropped is what an offer gets whose item was dropped.
	ErrDropped = errors.New("flow: dropped by the edge")
	// ErrGaveUp is what a Put gets whose caller stopped waiting.
	ErrGaveUp = errors.New("queue: gave up")
)

// FullError says that an edge was full and its policy is Reject, or that an offer does not wait. One value per edge serves
// all refusals, so that refusing allocates nothing; consumers replace it from time to time.
type FullError struct {
	Edge          string
	Capacity      int
	EstimatedWait time.Duration // how long the next item would wait; 0 while nothing is known
}

// Error names the edge, its capacity and the estimated wait.
func (e *FullError) Error() string {
	if e.EstimatedWait > 0 {
		return fmt.Sprintf("flow: edge %q is full (capacity %d, estimated wait %v)", e.Edge, e.Capacity, e.EstimatedWait.Round(time.Microsecond))
	}
	return fmt.Sprintf("flow: edge %q is full (capacity %d)", e.Edge, e.Capacity)
}
