package claim_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/weir-go/weir/internal/claim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBoom = errors.New("boom")

var (
	done       = claim.Outcome{}
	terminated = claim.Outcome{Kind: claim.Terminated, Err: errBoom}
	failed     = claim.Outcome{Kind: claim.Failed, Err: errBoom, Delay: time.Second}
)

type tag = claim.Tag[string]

// ledger remembers every settlement.
type ledger struct {
	mu  sync.Mutex
	got map[uint64][]claim.Outcome
}

func (l *ledger) Settle(token uint64, o claim.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.got == nil {
		l.got = make(map[uint64][]claim.Outcome)
	}
	l.got[token] = append(l.got[token], o)
}

func (l *ledger) settled(token uint64) []claim.Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.got[token]
}

// want checks that token has settled once with o, or not at all if there is none.
func (l *ledger) want(t *testing.T, token uint64, o ...claim.Outcome) {
	t.Helper()
	if got := l.settled(token); fmt.Sprint(got) != fmt.Sprint(o) {
		t.Fatalf("token %d settled with %v, want %v", token, got, o)
	}
}

func TestTheLastShareSettles(t *testing.T) {
	var l ledger
	root := claim.Claimed("m", &l, 7)
	root.Share(2)
	for range 2 {
		root.Release(done)
		l.want(t, 7)
	}
	root.Release(done)
	l.want(t, 7, done)
}

func TestTheWorstShareDecides(t *testing.T) {
	for name, c := range map[string]struct {
		releases []claim.Outcome
		want     claim.Outcome
	}{
		"all done":                  {[]claim.Outcome{done, done, done}, done},
		"terminated above done":     {[]claim.Outcome{done, terminated, done}, terminated},
		"failed above terminated":   {[]claim.Outcome{terminated, failed, done}, failed},
		"failed stays above":        {[]claim.Outcome{failed, terminated, done}, failed},
		"failed by the last":        {[]claim.Outcome{done, terminated, failed}, failed},
		"failed by the only one":    {[]claim.Outcome{failed}, failed},
		"done in spite of an error": {[]claim.Outcome{{Err: errBoom}}, done},
		"of two failures the first": {[]claim.Outcome{failed, {Kind: claim.Failed}}, failed},
	} {
		t.Run(name, func(t *testing.T) {
			var l ledger
			root := claim.Claimed("m", &l, 1)
			root.Share(len(c.releases) - 1)
			for _, o := range c.releases {
				root.Release(o)
			}
			l.want(t, 1, c.want)
		})
	}
}

func TestDeriveTakesSharesOver(t *testing.T) {
	var l ledger
	a, b := claim.Claimed("a", &l, 1), claim.Claimed("b", &l, 2)
	a.Share(1)
	both := claim.Derive("ab", a, nil, b)
	if both.Meta != "ab" {
		t.Fatalf("Meta = %q, want ab", both.Meta)
	}
	both.Release(terminated)
	l.want(t, 1) // has a share of its own left
	l.want(t, 2, terminated)
	a.Release(failed)
	l.want(t, 1, failed)
}

func TestParentsSettleWithTheWorstOfTheDerived(t *testing.T) {
	var l ledger
	leaf := claim.Derive("3", claim.Derive("2", claim.Derive("1", claim.Claimed("0", &l, 1))))
	leaf.Share(1)
	leaf.Release(failed)
	l.want(t, 1)
	leaf.Release(done)
	l.want(t, 1, failed)
}

func TestClaimedAndSole(t *testing.T) {
	var l ledger
	plain, root := claim.New("m"), claim.Claimed("m", &l, 1)
	nobody := claim.Claimed("m", nil, 1)
	derived := claim.Derive("m", plain, root)
	for name, c := range map[string]struct {
		tag  *tag
		want bool
	}{"new": {plain, false}, "claimed": {root, true}, "no settler": {nobody, false}, "derived": {derived, true}, "nil": {nil, false}} {
		if got := c.tag.Claimed(); got != c.want {
			t.Errorf("%s: Claimed() = %v, want %v", name, got, c.want)
		}
	}
	if !derived.Sole() {
		t.Error("Sole() = false with one share")
	}
	derived.Share(1)
	if derived.Sole() {
		t.Error("Sole() = true with two shares")
	}
	derived.Release(done)
	derived.Release(done)
	nobody.Release(done)
}

func TestANilTagAcceptsEveryCall(t *testing.T) {
	var none *tag
	none.Share(3)
	none.Release(failed)
	if none.Sole() || none.Claimed() {
		t.Error("a nil tag has a holder or a claim")
	}
}

func TestShareIgnoresWhatIsNotPositive(t *testing.T) {
	var l ledger
	root := claim.Claimed("m", &l, 1)
	root.Share(0)
	root.Share(-1)
	root.Release(done)
	l.want(t, 1, done)
}

func TestReleaseAllIsReleaseOfEach(t *testing.T) {
	var l ledger
	a, b, c := claim.Claimed("a", &l, 1), claim.Claimed("b", &l, 2), claim.Claimed("c", &l, 3)
	a.Share(2)
	b.Share(2)
	tags := []*tag{a, a, nil, b, a, b, c}
	claim.ReleaseAll(tags, terminated)
	for i, left := range tags {
		if left != nil {
			t.Errorf("tags[%d] is still there", i)
		}
	}
	l.want(t, 1, terminated)
	l.want(t, 2)
	l.want(t, 3, terminated)
	b.Release(done)
	l.want(t, 2, terminated)
	claim.ReleaseAll[string](nil, done)
}

func TestReleasingMoreThanWasSharedPanics(t *testing.T) {
	root := claim.New("m")
	root.Share(1)
	root.Release(done)
	root.Release(done)
	defer func() {
		if recover() == nil {
			t.Error("a third Release of two shares did not panic")
		}
	}()
	root.Release(done)
}

func TestAReusedTagIsClean(t *testing.T) {
	var l ledger
	for token := range uint64(100) {
		root := claim.Claimed("m", &l, token)
		claim.Derive("d", root).Release(failed)
		l.want(t, token, failed)
		plain := claim.New("n") // most likely the tag just released
		if plain.Meta != "n" || plain.Claimed() || !plain.Sole() {
			t.Fatalf("a new tag has meta %q, claimed %v, sole %v", plain.Meta, plain.Claimed(), plain.Sole())
		}
		plain.Release(done)
		l.want(t, token, failed)
	}
}

func TestShareAndReleaseDoNotAllocate(t *testing.T) {
	root := claim.New("m")
	defer root.Release(done)
	allocs := testing.AllocsPerRun(100, func() {
		root.Share(1)
		root.Release(failed)
	})
	if allocs != 0 {
		t.Fatalf("%v allocations, want 0", allocs)
	}
}

// holder is one share in the model: its tag, and the roots that hang on it.
type holder struct {
	tag   *tag
	roots map[uint64]bool
}

// graph is the model: a root settles when no holder hangs on it any more, with the worst outcome that any of them reported.
type graph struct {
	ledger  ledger
	holders []holder
	worst   map[uint64]claim.Kind
	next    uint64
}

func (g *graph) take(t *rapid.T) holder {
	if len(g.holders) == 0 {
		t.Skip("no share is held")
	}
	i := rapid.IntRange(0, len(g.holders)-1).Draw(t, "share")
	h := g.holders[i]
	g.holders = append(g.holders[:i], g.holders[i+1:]...)
	return h
}

func (g *graph) claim(*rapid.T) {
	g.next++
	g.worst[g.next] = claim.Done
	g.holders = append(g.holders, holder{claim.Claimed("m", &g.ledger, g.next), map[uint64]bool{g.next: true}})
}

func (g *graph) share(t *rapid.T) {
	h := g.take(t)
	n := rapid.IntRange(1, 3).Draw(t, "n")
	h.tag.Share(n)
	for range n + 1 {
		g.holders = append(g.holders, h)
	}
}

func (g *graph) derive(t *rapid.T) {
	roots := make(map[uint64]bool)
	var parents []*tag
	for range rapid.IntRange(1, min(4, max(len(g.holders), 1))).Draw(t, "parents") {
		h := g.take(t)
		parents = append(parents, h.tag)
		for root := range h.roots {
			roots[root] = true
		}
	}
	g.holders = append(g.holders, holder{claim.Derive("d", parents...), roots})
}

func (g *graph) release(t *rapid.T) {
	h := g.take(t)
	kind := rapid.SampledFrom([]claim.Kind{claim.Done, claim.Done, claim.Terminated, claim.Failed}).Draw(t, "kind")
	for root := range h.roots {
		g.worst[root] = max(g.worst[root], kind)
	}
	h.tag.Release(claim.Outcome{Kind: kind})
}

func (g *graph) check(t *rapid.T) {
	open := make(map[uint64]bool)
	for _, h := range g.holders {
		for root := range h.roots {
			open[root] = true
		}
	}
	for root, worst := range g.worst {
		switch got := g.ledger.settled(root); {
		case open[root] && len(got) != 0:
			t.Fatalf("root %d settled with %v while a share was held", root, got)
		case !open[root] && len(got) != 1:
			t.Fatalf("root %d settled %d times, want once", root, len(got))
		case !open[root] && got[0].Kind != worst:
			t.Fatalf("root %d settled with kind %d, want %d", root, got[0].Kind, worst)
		}
	}
}

func TestEveryRootSettlesOnceWithTheWorstOutcome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &graph{worst: make(map[uint64]claim.Kind)}
		t.Repeat(map[string]func(*rapid.T){
			"claim": g.claim, "share": g.share, "derive": g.derive, "release": g.release, "": g.check,
		})
		for len(g.holders) > 0 {
			g.release(t)
			g.check(t)
		}
	})
}

// Tags go through the pool while others are in use: an early reuse would settle twice, or with another's outcome.
func TestConcurrentHoldersOfPooledTags(t *testing.T) {
	const rounds, roots, workers = 200, 8, 8
	var l ledger
	for round := range uint64(rounds) {
		var wg sync.WaitGroup
		for i := range uint64(roots) {
			root := claim.Claimed("m", &l, round*roots+i)
			root.Share(workers - 1)
			for w := range workers {
				o := done
				if uint64(w) == i { // one bad share a root
					o = failed
				}
				wg.Go(func() { churn(root, o) })
			}
		}
		wg.Wait()
	}
	for token := range uint64(rounds * roots) {
		l.want(t, token, failed)
	}
}

// churn passes a share on through more shares and derived tags, and ends one of them with o.
func churn(t *tag, o claim.Outcome) {
	for range rand.IntN(4) {
		if rand.IntN(2) == 0 {
			t = claim.Derive("d", t)
			continue
		}
		t.Share(1)
		t.Release(done)
	}
	t.Share(1)
	derived := claim.Derive("d", t, claim.New("n"))
	t.Release(done)
	derived.Release(o)
}

// meta is as large as the metadata of items.
type meta [11]uint64

const benchItems = 4096

func reportItems(b *testing.B) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchItems, "ns/item")
}

func BenchmarkClaimToSettle(b *testing.B) {
	var s discard
	b.ReportAllocs()
	for b.Loop() {
		for i := range uint64(benchItems) {
			claim.Claimed(meta{}, &s, i).Release(done)
		}
	}
	reportItems(b)
}

func BenchmarkSharedClaimToSettle(b *testing.B) {
	var s discard
	b.ReportAllocs()
	for b.Loop() {
		for i := range uint64(benchItems) {
			root := claim.Claimed(meta{}, &s, i)
			root.Share(1)
			root.Release(done)
			root.Release(done)
		}
	}
	reportItems(b)
}

func BenchmarkGroupToSettle(b *testing.B) {
	var s discard
	var members [64]*claim.Tag[meta]
	b.ReportAllocs()
	for b.Loop() {
		for i := range uint64(benchItems / len(members)) {
			for j := range members {
				members[j] = claim.Claimed(meta{}, &s, i)
			}
			claim.Derive(meta{}, members[:]...).Release(done)
		}
	}
	reportItems(b)
}

type discard struct{}

func (*discard) Settle(uint64, claim.Outcome) {}

// A member that is blamed ends worse than the others, and never better than the tag; a tag from the pool blames nobody.
func TestBlameEndsASingleMember(t *testing.T) {
	for range 3 {
		s := &ledger{}
		tag := claim.Derive(0, claim.Claimed(0, s, 0), claim.Claimed(0, s, 1), claim.Claimed(0, s, 2))
		if n := len(tag.Members()); n != 3 {
			t.Fatalf("Members() has %d, want 3", n)
		}
		tag.Share(1)
		tag.Blame(1, claim.Outcome{Kind: claim.Failed})
		tag.Blame(1, claim.Outcome{Kind: claim.Terminated}) // less than failed
		tag.Release(claim.Outcome{})
		tag.Release(claim.Outcome{Kind: claim.Terminated})
		want := []claim.Kind{claim.Terminated, claim.Failed, claim.Terminated}
		for i, k := range want {
			if got := s.settled(uint64(i)); len(got) != 1 || got[0].Kind != k {
				t.Fatalf("member %d settled with %v, want once with %v", i, got, k)
			}
		}
	}
	if m := (*claim.Tag[int])(nil).Members(); m != nil {
		t.Fatalf("Members() of a plain value = %v, want none", m)
	}
}
