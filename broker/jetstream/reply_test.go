package jetstream

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

const shortReply, longReply = "$JS.ACK.S.d.3.17.42.1700000000000000001.99", "$JS.ACK._.ACC.S.d.3.17.42.1700000000000000001.99.x7"

func TestParseReply(t *testing.T) {
	want := facts{attempt: 3, sequence: 17, delivery: 42, stored: 1700000000000000001, pending: 99}
	for reply, ok := range map[string]bool{
		shortReply:                            true,
		longReply:                             true,
		strings.TrimSuffix(longReply, ".x7"):  true,
		"":                                    false,
		"_INBOX.a.1":                          false,
		"$JS.ACK.":                            false,
		"$JS.ACK.S.d.3.17.42.1700000":         false,
		"$JS.ACK.S.d.3.17.42.17000000.99.100": false, // neither form
		"$JS.ACK.S.d.3.x.42.1700000.99":       false,
		"$JS.ACK.S.d.3..42.1700000.99":        false,
		"$JS.ACK.S.d.3.17.42.1700000.":        false,
	} {
		got, parsed := parseReply(reply)
		if parsed != ok || ok && got != want || !ok && got != (facts{}) {
			t.Errorf("parseReply(%q) = %+v, %v", reply, got, parsed)
		}
	}
}

func TestParseReplyDoesNotAllocate(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() {
		if _, ok := parseReply(longReply); !ok {
			t.Error("not parsed")
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// The client reads the same subjects, with many allocations and the same result.
func FuzzParseReply(f *testing.F) {
	f.Add(shortReply)
	f.Add(longReply)
	f.Add("$JS.ACK.S.d.1.1.1.1.1")
	f.Fuzz(func(t *testing.T, reply string) {
		got, ok := parseReply(reply)
		if !ok || got.attempt|got.sequence|got.delivery|got.stored|got.pending > 1<<62 {
			return // numbers that no server sends
		}
		m := nats.Msg{Reply: reply, Sub: &nats.Subscription{}}
		meta, err := m.Metadata()
		if err != nil {
			return // it wants a connection for everything
		}
		if meta.Sequence.Stream != got.sequence || meta.Sequence.Consumer != got.delivery || meta.NumDelivered != got.attempt || meta.NumPending != got.pending {
			t.Errorf("parseReply(%q) = %+v, the client has %+v", reply, got, meta)
		}
	})
}

func BenchmarkParseReply(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := parseReply(longReply); !ok {
			b.Fatal("not parsed")
		}
	}
}
