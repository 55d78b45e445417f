package main

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEachBranchAddsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		if err := run(t.Context(), &out); err != nil {
			t.Fatalf("run() = %v, want no error", err)
		}
		var sent, ledger, display, dropped int
		if _, err := fmt.Sscanf(out.String(), "sent %d\nledger %d\ndisplay %d, dropped %d\n", &sent, &ledger, &display, &dropped); err != nil {
			t.Fatalf("output = %q: %v", out.String(), err)
		}
		if ledger != sent || sent != 2*each {
			t.Errorf("the blocking branch got %d of %d items, want all %d", ledger, sent, 2*each)
		}
		if display+dropped != sent {
			t.Errorf("the dropping branch got %d and dropped %d, want %d together", display, dropped, sent)
		}
		if dropped == 0 {
			t.Error("the dropping branch dropped nothing, though its consumer is slow")
		}
	})
}
