package main

import (
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every trade is in the sums, and the screen has been drawn once for ten of them: 11 quotes, the first and the last of less.
func TestTicker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		if err := run(t.Context(), &out); err != nil {
			t.Fatalf("run() = %v, want no error", err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if got, want := lines[len(lines)-1], "100 trades, volume 1000"; got != want {
			t.Errorf("the sums are %q, want %q", got, want)
		}
		if got, want := lines[0], "price 101,  1 trades since the last quote"; got != want {
			t.Errorf("the first quote is %q, want %q", got, want)
		}
		if got := len(lines) - 1; got < 10 || got > 12 {
			t.Errorf("%d quotes, want one for about ten trades:\n%s", got, out.String())
		}
		if got := lines[len(lines)-2]; !strings.HasPrefix(got, "price 200,") {
			t.Errorf("the last quote is %q, want that of the last trade", got)
		}
	})
}
