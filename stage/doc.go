// Package stage holds the contracts that the parts of a pipeline keep, and ready-made sources and sinks.
//
// A pipeline moves values from a source through stages to a sink:
//
//	Source ──Pull(ctx, dst)──▶ steps and edges ──Push(ctx, items)──▶ Sink
//	                              │        ▲
//	                     In.Next  ▼        │  Out.Emit
//	                                Stage
//
// A [Source] is asked for values and fills a slice, as an io.Reader fills bytes. A [Sink] is given values, as an io.Writer
// is. A [Stage] sits between them with a loop of its own; most programs need none, because package flow has operators.
// Where values carry metadata, or a message that must be settled, they travel as an [Item], and [ItemSource] and
// [ItemSink] take the place of Source and Sink.
//
// The smallest program with a source of its own needs one method:
//
//	type countdown struct{ left int }
//
//	func (c *countdown) Pull(ctx context.Context, dst []int) (int, error) {
//		if c.left == 0 {
//			return 0, stage.ErrEnd
//		}
//		if len(dst) == 0 {
//			return 0, nil
//		}
//		dst[0] = c.left
//		c.left--
//		return 1, nil
//	}
//
//	err := flow.From(&countdown{left: 3}).ForEach(launch).Run(ctx)
//
// [Func] does the same with a function, and keeps the rules that the example leaves out: a context that is done, and an
// error that repeats. [Slice], [Seq], [Seq2], [Chan], [Ticker], [Lines], [JSONLines] and [CSV] are sources, [Writer],
// [Collector] and [Discard] are sinks. Package stagetest checks a part of one's own against the contracts.
//
// # Rules that hold everywhere
//
// Demand. The length of dst is the most that a source may hand out. A source waits for its first value only, and returns
// what it has instead of waiting for a second. What it reads ahead is bounded and documented.
//
// End and errors. [ErrEnd] is a clean end, and nothing else is: neither io.EOF, nor an error that wraps ErrEnd, nor a context
// that is done. Final errors repeat.
//
// Closing. The engine closes a part that is an io.Closer, once, after its last call. Parts made here never close what was
// given to them: an io.Reader, an io.Writer and a channel belong to whoever opened them.
//
// Concurrency. A part has one caller at a time. A source serves one run: once it has ended it stays ended. What may be
// called from elsewhere, such as [Collector.Items] and [LineSource.Skipped], says so.
//
// # When not to use it
//
// A program that only builds a pipeline from ready-made sources needs package flow and the constructors here, none of the
// interfaces. A loop over a slice that neither waits nor fails needs no pipeline at all.
package stage
