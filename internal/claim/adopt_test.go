package claim_test

import (
	"testing"

	"github.com/weir-go/weir/internal/claim"
)

func TestAdoptTakesAShareOver(t *testing.T) {
	var l ledger
	group := claim.Derive("g", claim.New("plain"))
	if group.Claimed() {
		t.Error("Claimed() = true without a claim")
	}
	const n = 100_000 // deep, if it were a chain
	for token := range uint64(n) {
		group.Adopt(claim.Claimed("m", &l, token))
	}
	group.Adopt(nil)
	if !group.Claimed() {
		t.Error("Claimed() = false behind Adopt, want true")
	}
	group.Share(1)
	group.Release(terminated)
	l.want(t, 0)
	group.Release(done)
	for token := range uint64(n) {
		l.want(t, token, terminated)
	}
}

func TestAdoptLeavesOtherSharesAlone(t *testing.T) {
	var l ledger
	shared := claim.Claimed("m", &l, 1)
	shared.Share(1)
	group := claim.Derive("g", claim.Claimed("m", &l, 2))
	group.Adopt(shared)
	shared.Release(failed)
	group.Release(done)
	l.want(t, 1, failed)
	l.want(t, 2, done)
}
