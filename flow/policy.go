package flow

import "github.com/weir-go/weir/internal/queue"

// Policy says what a full edge does with one item more: [Block], [DropNewest], [DropOldest] or [Reject].
type Policy = queue.Policy

// The policies. "Newest" is the arriving item, "oldest" the one that has waited longest.
const (
	Block      = queue.Block      // wait for room: the wait reaches the source
	DropNewest = queue.DropNewest // discard the arriving item
	DropOldest = queue.DropOldest // discard the longest waiting item and take the arriving one
	Reject     = queue.Reject     // fail with a *FullError: an Inlet returns it to its caller, inside a graph it stops the run
)

// DropReason says why an edge dropped an item.
type DropReason = queue.Reason

// The reasons.
const (
	DropFull     = queue.DropFull     // there was no room
	DropExpired  = queue.DropExpired  // it had waited longer than MaxWait
	DropDeadline = queue.DropDeadline // its deadline could not be met
	DropShed     = queue.DropShed     // refused on purpose: what comes for a group that has ended, by GroupBy with DropRest
	DropTooHeavy = queue.DropTooHeavy // heavier than MaxWeight while others waited
)
