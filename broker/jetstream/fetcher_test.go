package jetstream

import (
	"testing"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/jetstream/embedded"
)

func TestFetchDeliversInOrderAndAcknowledges(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 10_000)
	f := l.open(quick())
	for n := 0; n < 10_000; {
		ds := fetch(t, f, 64)
		wantNumbers(t, ds, n+1, n+len(ds))
		settleAll(f, ds, doneOutcome)
		n += len(ds)
	}
	mustClose(t, f)
	l.wantNothingLeft()
	if got := l.info().NumRedelivered; got != 0 {
		t.Errorf("%d messages were delivered again", got)
	}
}

func TestFetchSaysWhatIsKnownOfADelivery(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 3)
	f := l.open(quick())
	ds := fetchAll(t, f, 3, 3)
	seen := map[uint64]bool{}
	for i, d := range ds {
		want := []string{"S:1", "S:2", "S:3"}[i]
		if d.ID != want || d.Sequence != uint64(i+1) || d.Attempt != 1 || d.Subject != "s.x" || d.Stored.IsZero() || seen[d.Token] {
			t.Errorf("delivery %d is %+v, want ID %s and a first attempt", i, d, want)
		}
		seen[d.Token] = true
	}
	if l := f.Limits(); l.InFlight != 100 || l.Full != broker.RefusesNew || l.Messages != 100_000 || l.Message != 1<<20 {
		t.Errorf("Limits() = %+v", l)
	}
}

// A stream in a JetStream domain is reached through it.
func TestADomain(t *testing.T) {
	t.Parallel()
	srv, err := embedded.Start(embedded.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0", Domain: "hub"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	l := labAt(t, srv.URL())
	l.stream()
	l.fill(1, 10)
	c := quick()
	c.Domain = "hub"
	f := l.open(c)
	settleAll(f, fetchAll(t, f, 10, 10), doneOutcome)
	mustClose(t, f)
	l.wantNothingLeft()
}
