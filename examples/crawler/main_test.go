package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-go/weir/flow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func usual() config {
	return config{gate: 8, limit: 10_000, workers: 8, pages: 300, timeout: time.Minute}
}

func TestEveryPageIsFetchedOnce(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), usual(), &out); err != nil {
		t.Fatalf("run() = %v, want nil", err)
	}
	want := "300 pages, 1500 links, 1 not found; the site was asked 301 times, 0 of them for a page that it had served\n"
	if out.String() != want {
		t.Fatalf("output = %q, want %q", out.String(), want)
	}
}

func TestAGateOfNothingIsABuildError(t *testing.T) {
	c := usual()
	c.gate = 0
	err := run(t.Context(), c, &strings.Builder{})
	if err == nil || !strings.Contains(err.Error(), "Gated: k must be 1 to 2147483647, got 0") {
		t.Fatalf("run() = %v, want a build error", err)
	}
}

func TestTooManyLinksEndTheCrawl(t *testing.T) {
	c := usual()
	c.limit = 5
	err := run(t.Context(), c, &strings.Builder{})
	full, ok := errors.AsType[*flow.LoopFullError](err)
	if !ok || full.Loop != "crawl" || full.Limit != 5 {
		t.Fatalf("run() = %v, want a *flow.LoopFullError of crawl", err)
	}
}
