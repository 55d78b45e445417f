package brokertest

// rules are the sentences of the contract in package broker and of this package's documentation, word by word; a test compares
// them.
var rules = map[string]string{
	"F1": "Open makes it ready. It waits, until ctx ends, for a broker that is down; what waiting can't mend (no such stream, a " +
		"setting that contradicts the options, a server that is too old) is an error at once, all findings in one.",
	"F2": "Fetch waits for the first delivery only and returns up to len(dst) of what is there, in the order of the stream. n > 0 " +
		"may come with an error; the deliveries count first. (0, nil) is returned only for an empty dst.",
	"F3": "No more than Limits().InFlight deliveries are unsettled at any time, and no more is asked of the broker than the " +
		"demand, len(dst), and the free part of that limit.",
	"F4": "Once ctx is done Fetch returns soon with its cause. Nothing is lost: what was asked for and arrives later comes with " +
		"the next Fetch, or is given back by Close.",
	"F5": "Settle ends a delivery, once per token, from any goroutine, and does not block. Done acknowledges it. Terminated makes " +
		"the broker forget it. Failed has it delivered again after Outcome.Delay, at once if that is 0: NewSource sees to " +
		"the delays. A delivery that the broker has meanwhile given to somebody else is counted, not failed again.",
	"F6": "Deliveries that take long are kept alive at the broker, those that still wait to be fetched as well.",
	"F7": "What ends a consumer for good (it or its stream was deleted) is an error that wraps [ErrDeleted], within 5 s, and " +
		"repeats. A broker that is down is none: Fetch goes on when it is back. A clean end, [stage.ErrEnd], is returned only " +
		"where the adapter was told that the stream has one.",
	"F8": "Close comes after the last Fetch, may come more than once, and returns when every acknowledgement has gone out and " +
		"everything not settled has been given back, without delay. What could not be confirmed in time is an error that says " +
		"how many.",
	"F9": "Fetch has one caller at a time.",

	"S1": "Open as for a Fetcher.",
	"S2": "Send returns nil when the broker has confirmed that it stored every message.",
	"S3": "A *stage.BatchError says which messages failed; all others are stored. A message that the broker had no room for " +
		"fails with an error that wraps [ErrFull]: it is not stored, and may be sent again. One that can never be stored wraps " +
		"[ErrRefused], and did not go over the wire where its size tells.",
	"S4": "Whether a message was stored may be unknown: a confirmation is late, a connection breaks. The Sender sends it again " +
		"under the same ID until it knows, or ctx ends; then the error wraps [ErrUnknown].",
	"S5": "Messages are stored in their order. Where Limits().Ordered is true that holds when some fail, too: behind one that " +
		"failed with ErrFull none of the same Send is stored.",
	"S6": "Send does not wait for room: what to do where a stream is full is the caller's policy.",
	"S7": "Send keeps neither msgs nor what they point to, and may be called by many goroutines at once.",
	"S8": "Close comes after the last Send, and may come more than once.",

	"limits":   "Limits says what an adapter holds at most. They are known when Open has returned, InFlight of a Fetcher before.",
	"delivery": "Delivery is one message that a [Fetcher] hands over.",

	"31": "A message is acknowledged after it has been processed, never before.",
	"32": "A consumer that is killed loses nothing, and repeats no more than it had in flight.",
	"33": "A broker that is down at the start is waited for, until the context ends.",
	"34": "A broker that restarts loses nothing, repeats no more than was in flight, and is no error.",
	"35": "An acknowledgement earned while the broker is down counts when the broker has got it, and not before.",
	"36": "A stream or consumer that is deleted is an error, and never the end of the stream.",
	"37": "A message whose processing takes longer than the broker waits is not delivered to somebody else meanwhile.",
	"38": "A message that fails for the last time becomes one dead letter, and never comes again.",
	"39": "A message that fails comes again after its delay, not at once.",
	"40": "A message that is too large, or has bad headers, is refused, and does nothing to those beside it.",
	"41": "What is sent again because its confirmation was lost is stored once.",
	"42": "A drain finishes what is under way, and gives the rest back at once.",
	"43": "As many messages may be in flight as Limits says, so that a graph that holds them all gets them all.",
}
