package claim_test

import (
	"errors"
	"testing"

	"github.com/weir-go/weir/internal/claim"
)

// What was given back is not to blame, so any share that knows more about the item decides.
func TestAFailureIsWorseThanWhatWasGivenBack(t *testing.T) {
	back := claim.GivenBack(errBoom)
	if back.Kind != claim.Failed || !back.GivenBack || !errors.Is(back.Err, errBoom) {
		t.Fatalf("GivenBack() = %+v, want a failure that is not to blame, with its cause", back)
	}
	for name, c := range map[string]struct {
		first, second, want claim.Outcome
	}{
		"given back above done":       {done, back, back},
		"done below given back":       {back, done, back},
		"given back above terminated": {terminated, back, back},
		"terminated below given back": {back, terminated, back},
		"failed above given back":     {back, failed, failed},
		"given back below failed":     {failed, back, failed},
	} {
		t.Run(name, func(t *testing.T) {
			var l ledger
			root := claim.Claimed("m", &l, 1)
			root.Share(1)
			root.Release(c.first)
			root.Release(c.second)
			l.want(t, 1, c.want)

			group := claim.Derive("g", claim.Claimed("a", &l, 2), claim.Claimed("b", &l, 3))
			group.Blame(0, c.first)
			group.Blame(0, c.second)
			group.Release(done)
			l.want(t, 2, c.want)
			l.want(t, 3, done)

			group = claim.Derive("g", claim.Claimed("a", &l, 4), claim.Claimed("b", &l, 5))
			group.Blame(1, c.first)
			group.Release(c.second)
			l.want(t, 4, c.second)
			l.want(t, 5, c.want)
		})
	}
}
