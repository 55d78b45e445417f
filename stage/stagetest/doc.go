// Package stagetest checks that a source, a sink or a publisher keeps its contract.
//
// One call does it ([TestSource], [TestSink], [TestPublisher]): a function that opens the part, and what it delivers or takes.
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
// A rule that needs more than a healthy part (one that waits, fails or panics) is checked when the options bring such a
// part, and otherwise skipped with the name of the option. A rule that a part can't keep is left out with
// SourceOptions.Skip, which wants a reason: an io.Reader, for example, can't be interrupted.
//
// # Rules that hold everywhere
//
// The functions that open parts are called once for each part, in the goroutine of the subtest, and may use t.Cleanup. The kit
// closes every part that is an io.Closer. Calls of one part never overlap, but come from different goroutines. With
// Bubble each subtest runs in a bubble of testing/synctest: time is virtual, and a goroutine left behind is a failure.
// Set it unless the part does I/O that blocks outside Go's own channels and timers.
//
// # When not to use it
//
// The kit knows the contract, not what the part is for. It does not look for a data race by itself: run it with -race. For
// leaks outside a bubble use go.uber.org/goleak in TestMain.
package stagetest
