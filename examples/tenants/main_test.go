package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-go/weir/examples/internal/virtual"
	"github.com/weir-go/weir/flow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Served in turn, a tenant that sends little waits for the row in service and for no more than one of the importer's; in one line with
// all others it waits for all that is there.
func TestOtherTenantWaits(t *testing.T) {
	tenant := func(r Row) string { return r.Tenant }
	for name, c := range map[string]struct {
		order       flow.Discipline[Row]
		least, most time.Duration
	}{
		"in one line": {nil, capacity * service, (capacity + 2) * service},
		"in turn":     {flow.FairBy(tenant), 0, 2 * service},
	} {
		var (
			seen outcome
			err  error
		)
		virtual.For(t)(func() { seen, err = share(context.Background(), 5000, c.order) })
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if seen.imported != 5000 || seen.others < 13 {
			t.Errorf("%s: %d rows imported and %d of the other tenant, want 5000 and at least 13", name, seen.imported, seen.others)
		}
		if seen.longest < c.least || seen.longest > c.most {
			t.Errorf("%s: the other tenant waited %v at most, want %v to %v", name, seen.longest, c.least, c.most)
		}
	}
}

func TestBothWaysArePrinted(t *testing.T) {
	var out bytes.Buffer
	if err := compare(&out, virtual.For(t), 100); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Count(got, "100 rows imported") != 2 || !strings.Contains(got, "fair by tenant") {
		t.Errorf("printed %q, want a line for each way", got)
	}
}
