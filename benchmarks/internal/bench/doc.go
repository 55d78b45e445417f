// Package bench compares two ways to do the same work, side by side.
//
//	round 0   [A weir | A baseline] [B weir | B baseline] ...     warm-up, not counted
//	round 1   [A baseline | A weir] [B baseline | B weir] ...     the side that goes first alternates
//	...
//
// Absolute times move by a factor of two on shared machines; the ratio of two runs that stand beside each other hardly does.
// So a [Case] is judged by the median of the ratios of its rounds. Each trial verifies what it has done: a lost item
// fails the benchmark.
package bench
