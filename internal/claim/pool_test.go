package claim_test

import (
	"testing"

	"github.com/weir-go/weir/internal/claim"
)

// The members of a group go back to the pool together, and come out of it one by one.
func TestTagsThatSettledTogetherAreReusedApart(t *testing.T) {
	const n = 64
	var l ledger
	token := uint64(0)
	for round := range 50 {
		members := make([]*tag, n)
		seen := make(map[*tag]bool)
		for i := range members {
			m := claim.Claimed("m", &l, token)
			if token++; seen[m] {
				t.Fatalf("round %d: two items have the same tag", round)
			}
			if seen[m] = true; !m.Sole() || m.Members() != nil {
				t.Fatalf("round %d: a new tag is sole %v, derived from %v", round, m.Sole(), m.Members())
			}
			members[i] = m
		}
		both := claim.Derive("d", claim.Derive("a", members[:n/2]...), claim.Derive("b", members[n/2:]...))
		both.Release(failed)
	}
	for i := range token {
		l.want(t, i, failed)
	}
}
