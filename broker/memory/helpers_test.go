package memory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/memory"
	"github.com/weir-go/weir/stage"
)

var (
	_ broker.Fetcher  = (*memory.Fetcher)(nil)
	_ broker.Sender   = (*memory.Sender)(nil)
	_ stage.Validator = (*memory.Fetcher)(nil)
	_ stage.Validator = (*memory.Sender)(nil)
)

// inBubble is a subtest in virtual time.
func inBubble(t *testing.T, name string, fn func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, fn) })
}

// opened opens a Fetcher, which the end of the test closes.
func opened(t *testing.T, s *memory.Stream, c memory.FetchConfig) *memory.Fetcher {
	t.Helper()
	f := s.Fetcher(c)
	if err := f.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func sending(t *testing.T, s *memory.Stream, c memory.SendConfig) *memory.Sender {
	t.Helper()
	sender := s.Sender(c)
	if err := sender.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return sender
}

// texts makes messages of the words.
func texts(words ...string) []broker.Message {
	msgs := make([]broker.Message, len(words))
	for i, w := range words {
		msgs[i] = broker.Message{Data: []byte(w)}
	}
	return msgs
}

// fill sends words, which must be stored.
func fill(t *testing.T, s *memory.Stream, words ...string) {
	t.Helper()
	if err := sending(t, s, memory.SendConfig{}).Send(t.Context(), texts(words...)); err != nil {
		t.Fatal(err)
	}
}

// want fetches once and compares what is delivered: words, with their attempt where it is not the first, like "a 2".
func want(t *testing.T, f *memory.Fetcher, words ...string) []broker.Delivery {
	t.Helper()
	dst := make([]broker.Delivery, 10)
	n, err := f.Fetch(t.Context(), dst)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range dst[:n] {
		word := string(d.Data)
		if d.Attempt > 1 {
			word = fmt.Sprint(word, " ", d.Attempt)
		}
		got = append(got, word)
	}
	if !slices.Equal(got, words) {
		t.Fatalf("fetched %q, want %q", got, words)
	}
	return dst[:n]
}

var errGaveUp = errors.New("gave up")

// wantNothing sees that Fetch waits.
func wantNothing(t *testing.T, f *memory.Fetcher) {
	t.Helper()
	if n, err := fetchFor0s(t, f); n != 0 || !errors.Is(err, errGaveUp) {
		t.Fatalf("Fetch returned (%d, %v), want it to wait", n, err)
	}
}

// fetchFor0s gives Fetch up when it waits.
func fetchFor0s(t *testing.T, f *memory.Fetcher) (n int, err error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		n, err = f.Fetch(ctx, make([]broker.Delivery, 10))
	}()
	synctest.Wait()
	cancel(errGaveUp)
	<-over
	return n, err
}

func wantError(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("error is %v, want %v", got, want)
	}
}

func done() stage.Outcome { return stage.Outcome{} }

func failed() stage.Outcome { return stage.Outcome{Kind: stage.Failed} }
