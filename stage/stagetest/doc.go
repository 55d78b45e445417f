// Package stagetest checks that a source, a stage, a sink, an edge or a publisher keeps its contract.
//
// One call does it ([TestSource], [TestStage], [TestOperator], [TestSink], [TestEdge], [TestPublisher]): a function that opens the part, and
// what it delivers, makes or takes. [Values] and [Items] put an ItemSource and an ItemSink under it.
//
//	func TestCountdown(t *testing.T) {
//		stagetest.TestSource(t, stagetest.SourceOptions[int]{
//			Want:   []int{3, 2, 1},
//			Bubble: true,
//		}, func(t *testing.T) stage.Source[int] {
//			return &countdown{left: 3}
//		})
//	}
//
// Each rule is a subtest named after it, as in "P7 cancel without loss", and opens parts of its own:
//
//	        open()            calls                                  findings
//	options ─────▶ the part ◀─────── odd sizes, contexts that ──────▶ what happened,
//	                                 end, slices overwritten,        and the rule that
//	                                 calls after the end             says otherwise
//
// The rules of sources, sinks and publishers stand at their interfaces in package stage. A stage, and what is made of operators,
// runs in pipelines of the kit, between a source that sees how each message ends and a sink that waits, refuses and leaves:
//
//	15  What goes in comes out as it should: no value is lost, repeated or made up, at odd numbers and with pauses.
//	16  A message settles once: when all that was made of it has left, or at once where nothing is made of it. In a run
//	    without a fault none fails.
//	17  The order that was declared holds, however long each call takes.
//	18  An error, a panic, a nil panic and a Goexit in user code are errors of the stage and stop the run. The message
//	    fails; what else was inside is not done.
//	19  While nobody takes its results a part holds no more than it says.
//	20  A stop gets through within 100 ms, whether the part waits for input, for output or in user code. What is inside
//	    is given back.
//	21  What a part holds back is handed on at once when its input ends or is drained, and is not done when the run
//	    fails.
//	22  Hours without a value, and hours in which nobody takes a result, change nothing.
//	23  When downstream wants no more the part ends at once, without an error, and what is in front of it as well.
//	24  As many calls of user code run at the same time as declared, and never one more.
//
// An edge is what an Inlet puts its items into:
//
//	28  What an edge has taken over it hands out once, in the order that was declared, which is first in, first out for
//	    all items or for those of a key, however many write and read at the same time.
//	29  Whatever is offered is delivered, dropped with a reason or refused, exactly one of these, and the counts say the
//	    same.
//	30  An item heavier than MaxWeight is passed alone or refused. It waits neither for ever nor do others because of it.
//
// A rule that needs more than a healthy part (one that waits, fails or panics) is checked when the options bring such a
// part, and otherwise skipped with the name of the option. A rule that a part can't keep is left out with the options' Skip, which
// wants a reason: an io.Reader, for example, can't be interrupted.
//
// # Rules that hold everywhere
//
// The functions that open parts are called once for each part, in the goroutine of the subtest, and may use t.Cleanup. The kit
// closes every source and sink that is an io.Closer. Calls of one of them never overlap, but come from different goroutines. With
// Bubble each subtest runs in a bubble of testing/synctest: time is virtual, and a goroutine left behind is a failure.
// Set it unless the part does I/O that blocks outside Go's own channels and timers. A Pull or Push that has not returned after
// three hours of virtual time hangs, one without a bubble after ten seconds.
//
// The pauses in a run for the rules 15 to 18, 20, 21 and 23 add up to less than a second: they do not reach a maxWait of a second or
// more.
//
// # When not to use it
//
// The kit knows the contract, not what the part is for. It does not look for a data race by itself: run it with -race. For
// leaks outside a bubble use go.uber.org/goleak in TestMain.
package stagetest
