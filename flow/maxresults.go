package flow

import (
	"context"
	"sync/atomic"

	"github.com/cenkalti/backoff/v4"
)

// resultOption is what MaxResults returns.
type resultOption int

func (o resultOption) expand(s *settings) { s.results = new(int(o)) }

// MaxResults limits how many results one call of [Flow.Expand] may emit; n must be positive. It is for values that come from outside and
// say themselves how much they are: an archive with a billion entries, a list of pages that leads back to itself. What is emitted beyond
// it is not handed on: emit returns [ErrTooMany], the call fails with it, and [OnError] decides about the value; it is not retried, as it
// would end the same. The n results stay emitted. The default is no limit, because what a value expands to waits for room and takes
// no memory.
func MaxResults(n int) ExpandOption { return resultOption(n) }

// atMost makes a call of fn fail that emits more than n results.
func atMost[T, U any](n int, fn func(context.Context, T, func(U) error) error) func(context.Context, T, func(U) error) error {
	tooMany := backoff.Permanent(ErrTooMany)
	return func(ctx context.Context, v T, emit func(U) error) error {
		var emitted atomic.Int64
		err := fn(ctx, v, func(u U) error {
			if emitted.Add(1) > int64(n) {
				return tooMany
			}
			return emit(u)
		})
		if err == nil && emitted.Load() > int64(n) {
			return tooMany
		}
		return err
	}
}
