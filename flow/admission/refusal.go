package admission

import (
	"strconv"
	"time"
)

// Reason is why something was refused.
type Reason uint8

// The reasons, those of a Gate in the order in which they are looked at.
const (
	ReasonDeadline   Reason = iota // the answer would come too late
	ReasonSheddable                // speculative work, and it is getting busy
	ReasonRetry                    // has failed or been refused before, and it is getting busy
	ReasonDeferrable               // work that can be done later, and it is busy
	ReasonQuota                    // this tenant has as much inside as it may
	ReasonSaturated                // there is no room
	ReasonBudget                   // this tenant has spent what it may
	ReasonSpend                    // all together have spent what they may
	ReasonFull                     // of a Limiter or an edge: as many run and wait as may
	ReasonThrottled                // by the client itself, which knows that the server refuses most of its calls
	reasons          = iota
)

var reasonNames = [reasons]string{
	"deadline", "sheddable", "retry", "deferrable", "quota", "saturated", "budget", "spend", "full", "throttled",
}

// String returns the reason's name, which is also what [HeaderOverload] says.
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return "Reason(" + strconv.Itoa(int(r)) + ")"
}

// Personal reports whether the caller itself is the reason, and not the load of all: HTTP says 429 instead of 503 then, gRPC
// RESOURCE_EXHAUSTED instead of UNAVAILABLE.
func (r Reason) Personal() bool { return r == ReasonQuota || r == ReasonBudget }

// Refusal is the answer of a Gate, a Limiter or a Caller that does not take something. Nothing has been started. Values are shared,
// because refusing must cost nearly nothing: do not change them. Match with errors.AsType[*admission.Refusal](err).
type Refusal struct { //nolint:errname // it is the answer of a gate, and only then an error
	Reason        Reason
	EstimatedWait time.Duration // of one more at that moment; 0 while nothing is known. Some 10 ms old at most
	RetryAfter    time.Duration // how long to stay away, never 0. Senders add jitter to it
	Retryable     bool          // false: it is no use, or not wanted, to come again
}

// Error implements error.
func (r *Refusal) Error() string {
	text := "admission: refused: " + r.Reason.String()
	if !r.Retryable {
		return text + ", not to be retried"
	}
	return text + ", retry after " + r.RetryAfter.String()
}

// Delay returns how long to stay away, with jitter, 0 if it is no use to come again. A broker.Source asks for it: a message whose work
// was refused comes again then, and is not to blame.
func (r *Refusal) Delay() time.Duration {
	if !r.Retryable {
		return 0
	}
	return Jittered(r.RetryAfter)
}

const (
	unknownWait = time.Second           // how long to stay away where nothing is known
	renewAfter  = 10 * time.Millisecond // how long one refusal serves all
)

// refusals keeps one refusal of each kind for all who get it, and makes a new one now and then. Its owner has the lock.
type refusals struct {
	kept [reasons][2]struct {
		value *Refusal
		made  int64
	}
}

// refusal returns that of a kind.
func (r *refusals) refusal(why Reason, retryable bool, wait, after time.Duration, now int64) *Refusal {
	kind := 0
	if retryable {
		kind = 1
	}
	if after <= 0 {
		after = unknownWait
	}
	k := &r.kept[why][kind]
	fresh := k.value != nil && (now-k.made < int64(renewAfter) || near(k.value.EstimatedWait, wait) && near(k.value.RetryAfter, after))
	if !fresh {
		k.value, k.made = &Refusal{Reason: why, EstimatedWait: wait, RetryAfter: after, Retryable: retryable}, now
	}
	return k.value
}

// near reports whether two durations differ by an eighth at most.
func near(a, b time.Duration) bool { return (a - b).Abs() <= max(a, b)/8 }
