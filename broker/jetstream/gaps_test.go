package jetstream

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/weir-go/weir/stage"
)

// delivered are the numbers of a delivery.
func delivered(sequence, delivery, attempt uint64) facts {
	return facts{sequence: sequence, delivery: delivery, attempt: attempt}
}

func TestGaps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		in           []facts
		lost, unseen uint64
	}{
		{"none", []facts{delivered(11, 6, 1), delivered(12, 7, 1)}, 0, 0},
		{"dropped before they were delivered", []facts{delivered(11, 6, 1), delivered(20, 7, 1)}, 8, 0},
		{"dropped before the first", []facts{delivered(15, 6, 1)}, 4, 0},
		{"a repetition is no gap", []facts{delivered(11, 6, 1), delivered(3, 7, 2), delivered(12, 8, 1)}, 0, 0},
		{"a repetition in a gap", []facts{delivered(11, 6, 1), delivered(3, 7, 2), delivered(14, 8, 1)}, 2, 0},
		{"to another process", []facts{delivered(11, 6, 1), delivered(14, 9, 1)}, 0, 2},
		{"to another process, and dropped", []facts{delivered(11, 6, 1), delivered(20, 9, 1)}, 6, 2},
		{"repetitions to another process", []facts{delivered(11, 6, 1), delivered(12, 9, 1)}, 0, 2},
		{"what is missed counts once", []facts{delivered(11, 6, 1), delivered(12, 9, 1), delivered(15, 10, 1)}, 2, 2},
		{"a leader that has forgotten a little", []facts{delivered(12, 7, 1), delivered(11, 6, 1), delivered(12, 7, 2), delivered(14, 8, 1)}, 1, 1},
	} {
		g := gaps{sequence: 10, delivery: 5}
		for _, f := range c.in {
			g.arrived(f)
		}
		if g.lost != c.lost || g.unseen != c.unseen {
			t.Errorf("%s: %d lost and %d unseen, want %d and %d", c.name, g.lost, g.unseen, c.lost, c.unseen)
		}
	}
}

// What is deleted from the stream while it is here, or waits to come again, is lost unless it ends well.
func TestEvictions(t *testing.T) {
	t.Parallel()
	advise := func(f *Fetcher, sequence uint64, reason string) {
		f.receiveEviction(&nats.Msg{Data: fmt.Appendf(nil, `{"stream_seq":%d,"reason":%q}`, sequence, reason)})
	}
	for name, c := range map[string]struct {
		then func(f *Fetcher, i int32)
		lost uint64
	}{
		"done":             {func(f *Fetcher, i int32) { f.settle(i, doneOutcome, false) }, 0},
		"failed":           {func(f *Fetcher, i int32) { f.settle(i, stage.Outcome{Kind: stage.Failed}, false) }, 1},
		"its lease lost":   {func(f *Fetcher, i int32) { f.settle(i, stage.Outcome{Kind: stage.Failed}, true) }, 1},
		"forgone":          {func(f *Fetcher, i int32) { f.forgo(i) }, 1},
		"given back":       {func(f *Fetcher, _ int32) { f.giveBack() }, 1},
		"still being held": {func(*Fetcher, int32) {}, 0},
	} {
		for _, when := range []string{"before it is received", "while it is here", "behind that"} {
			f := NewFetcher(nil, quick())
			f.limit, f.bound = 100, &binding{ackWait: quick().AckWait}
			f.gaps.away, f.gaps.early = map[uint64]struct{}{}, map[uint64]struct{}{}
			f.gaps.sequence = 6
			evict := func(at string) {
				if at == when {
					advise(f, 7, evictedReason)
				}
			}
			m := &nats.Msg{Reply: "$JS.ACK.S.d.1.7.7.0.0"}
			facts, _ := parseReply(m.Reply)
			evict("before it is received")
			f.gaps.arrived(facts)
			i := f.accept(m, facts, 1<<62)
			evict("while it is here")
			c.then(f, i)
			evict("behind that")
			advise(f, 7, evictedReason) // once more is not one more
			advise(f, 6, evictedReason)
			advise(f, 7, "weir: terminated by the pipeline")
			if f.gaps.lost != c.lost || len(f.gaps.early) != 0 {
				t.Errorf("%s, deleted %s: %d lost, want %d; %d are expected", name, when, f.gaps.lost, c.lost, len(f.gaps.early))
			}
		}
	}
}

// Without advisories what was given back is not remembered for ever.
func TestForgottenReturns(t *testing.T) {
	t.Parallel()
	g := gaps{away: map[uint64]struct{}{}}
	for i := range uint64(1000) {
		g.returned(&slot{facts: facts{sequence: i}}, 10)
		if len(g.away) > 20 {
			t.Fatalf("%d are remembered, the server keeps 10", len(g.away))
		}
	}
}
