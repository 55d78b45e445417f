// Package brokertest checks that an adapter for a message broker keeps the contract of package broker.
//
// One call does it: a function that makes a stream, and whatever the adapter's tests can do to their broker.
//
//	func TestConformance(t *testing.T) {
//		brokertest.Test(t, brokertest.Adapter{
//			Features: brokertest.Features{Bubble: true},
//			New: func(t *testing.T, c brokertest.Config) brokertest.Stream {
//				s := memory.NewStream(memory.StreamConfig{MaxMessages: c.Messages, MaxMessage: c.Message, AckWait: c.AckWait})
//				return brokertest.Stream{
//					Fetcher: func() broker.Fetcher { return s.Fetcher(memory.FetchConfig{InFlight: c.InFlight}) },
//					Sender:  func() broker.Sender { return s.Sender(memory.SendConfig{}) },
//					Down:    s.Down,
//					Up:      s.Up,
//				}
//			},
//		})
//	}
//
// Each check is a subtest with a stream of its own:
//
//	          Sender ──▶ stream ──▶ Fetcher          findings
//	check ───▶  sends, fetches, settles,  ─────────▶ what happened, and the
//	            takes the broker away, kills         rule that says otherwise
//
// Those called F and S check the rules of broker.Fetcher and broker.Sender. The others check what a pipeline relies on when
// something breaks:
//
//	31  A message is acknowledged after it has been processed, never before.
//	32  A consumer that is killed loses nothing, and repeats no more than it had in flight.
//	33  A broker that is down at the start is waited for, until the context ends.
//	34  A broker that restarts loses nothing, repeats no more than was in flight, and is no error.
//	35  An acknowledgement earned while the broker is down counts when the broker has got it, and not before.
//	36  A stream or consumer that is deleted is an error, and never the end of the stream.
//	37  A message whose processing takes longer than the broker waits is not delivered to somebody else meanwhile.
//	38  A message that fails for the last time becomes one dead letter, and never comes again.
//	39  A message that fails comes again after its delay, not at once.
//	40  A message that is too large, or has bad headers, is refused, and does nothing to those beside it.
//	41  What is sent again because its confirmation was lost is stored once.
//	42  A drain finishes what is under way, and gives the rest back at once.
//	43  As many messages may be in flight as Limits says, so that a graph that holds them all gets them all.
//
// A check that needs more than the adapter offers is skipped with the name of what is missing; a rule that can't be kept is
// left out with Adapter.Skip, which wants a reason.
//
// # Rules that hold everywhere
//
// Adapter.New is called in the goroutine of its subtest, and may use t.Cleanup. The kit opens and closes Fetchers and Senders.
// Its messages are small, and all of one subject. With Features.Bubble each subtest runs in a bubble of testing/synctest, time is
// virtual, and a goroutine left behind is a failure. Real brokers get real time: waits of a few seconds where a rule is about time,
// and no finding because something took long, unless it took longer than Features.Patience.
//
// # When not to use it
//
// The kit knows the contract, not the broker. What only one broker has, such as its error codes, wants tests of its own. It does not
// look for data races by itself: run it with -race.
package brokertest
