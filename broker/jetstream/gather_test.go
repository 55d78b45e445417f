package jetstream

import (
	"testing"

	"github.com/nats-io/nats.go"
)

// A Fetch lets others go on where a burst may be on its way, and only there: it has something, wants more, and more was asked for
// and is in the stream.
func TestABurstIsWhereMoreMayBeCloseBehind(t *testing.T) {
	const reply = "$JS.ACK.S.d.1.1.1.1." // how many wait behind it follows
	for _, c := range []struct {
		name    string
		arrived int
		pending string
		demand  int
		credit  int
		want    bool
	}{
		{"nothing has come", 0, "5", 4, 4, false},
		{"some of it has come", 1, "5", 4, 4, true},
		{"no more is wanted", 1, "5", 1, 4, false},
		{"no more was asked for", 1, "5", 4, 1, false},
		{"the stream is empty", 1, "0", 4, 4, false},
		{"all that was asked for has come", 4, "5", 4, 4, false},
	} {
		f := NewFetcher(nil, SourceConfig{})
		f.limit, f.inbox, f.pulls.sub = 16, make(chan *nats.Msg, 16), &nats.Subscription{}
		f.pulls.credit = c.credit
		for range c.arrived {
			f.inbox <- &nats.Msg{Sub: f.pulls.sub, Reply: reply + c.pending}
		}
		if got := f.burst(c.demand); got != c.want {
			t.Errorf("%s: burst() = %v, want %v", c.name, got, c.want)
		}
		if got := f.ready.len(); got != c.arrived {
			t.Errorf("%s: %d are received, want %d", c.name, got, c.arrived)
		}
	}
}
