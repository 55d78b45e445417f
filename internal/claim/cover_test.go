package claim_test

import (
	"slices"
	"testing"

	"github.com/weir-go/weir/internal/claim"
)

// gate remembers how covers ended, and lets what they cover end otherwise.
type gate struct {
	ended []claim.Outcome
	then  *claim.Outcome
}

func (g *gate) Ended(o claim.Outcome) claim.Outcome {
	g.ended = append(g.ended, o)
	if g.then != nil {
		return *g.then
	}
	return o
}

func TestTheGateIsToldOfTheLastShare(t *testing.T) {
	var l ledger
	var g gate
	cover := claim.Cover("m", &g, claim.Claimed("p", &l, 1))
	if !cover.Claimed() || !cover.CoveredBy(&g) || cover.CoveredBy(new(gate)) {
		t.Error("a cover does not know whose it is")
	}
	cover.Share(1)
	cover.Release(failed)
	l.want(t, 1)
	cover.Release(done)
	l.want(t, 1, failed)
	if len(g.ended) != 1 || g.ended[0] != failed {
		t.Errorf("the gate was told %v, want one failure", g.ended)
	}
}

func TestTheGateSaysHowWhatIsCoveredEnds(t *testing.T) {
	var l ledger
	g := gate{then: &terminated}
	claim.Cover("m", &g, claim.Claimed("p", &l, 1)).Release(done)
	l.want(t, 1, terminated)
}

// A pooled tag that was a cover is none when it is used again.
func TestACoverIsForgotten(t *testing.T) {
	var g gate
	for range 100 {
		claim.Cover[string]("m", &g).Release(done)
		if d := claim.Derive("d", claim.New("p")); d.CoveredBy(&g) {
			t.Fatal("a derived tag is a cover")
		} else {
			d.Release(done)
		}
	}
	if len(g.ended) != 100 {
		t.Errorf("the gate was told of %d, want 100", len(g.ended))
	}
}

func TestBeneathTheCoversOfAGate(t *testing.T) {
	var l ledger
	var g, outer gate
	p, q, r := claim.Claimed("p", &l, 1), claim.Claimed("q", &l, 2), claim.Claimed("r", &l, 3)
	over := claim.Cover("over", &outer, q)
	p.Share(1)
	batch := claim.Derive("batch", claim.Cover("a", &g, p), claim.Cover("b", &g, over), claim.Cover("c", &g, p), nil, r)
	if got := batch.Beneath(&g, nil); !slices.Equal(got, []*tag{p, over, r}) {
		t.Errorf("Beneath() = %v, want what is under the covers of the gate, each once", got)
	}
	var none *tag
	if got := none.Beneath(&g, nil); len(got) != 0 {
		t.Errorf("Beneath() of nothing = %v", got)
	}
	batch.Release(done)
	for token := range uint64(3) {
		l.want(t, token+1, done)
	}
}

// A cover of a batch has the batch's members, one of several tags has none.
func TestMembersUnderACover(t *testing.T) {
	var l ledger
	var g, outer gate
	a, b := claim.Claimed("a", &l, 1), claim.Claimed("b", &l, 2)
	cover := claim.Cover("c", &g, claim.Cover("d", &outer, claim.Derive("batch", a, b)))
	if got := cover.Members(); !slices.Equal(got, []*tag{a, b}) {
		t.Errorf("Members() = %v, want those of the batch", got)
	}
	cover.Blame(1, failed)
	cover.Release(done)
	l.want(t, 1, done)
	l.want(t, 2, failed)
	several := claim.Cover("e", &g, claim.Claimed("x", &l, 3), claim.Claimed("y", &l, 4))
	if got := several.Members(); got != nil {
		t.Errorf("Members() = %v, want none", got)
	}
	several.Release(done)
	l.want(t, 3, done)
	l.want(t, 4, done)
}
