package jetstream

import (
	"testing"

	"github.com/nats-io/nats.go"
)

func TestStatusesMeanWhatTheServerMeans(t *testing.T) {
	for _, c := range []struct {
		code, description, pending string
		want                       verdict
		lacked                     int
	}{
		{"100", "Idle Heartbeat", "", alive, -1},
		{"404", "No Messages", "", refused, -1},
		{"408", "Request Timeout", "7", over, 7},
		{"408", "Interest Expired", "3", over, 3},
		{"408", "Requests Pending", "", over, -1},
		{"409", "Batch Completed", "2", over, 2},
		{"409", "Message Size Exceeds MaxBytes", "5", refused, 5},
		{"409", "Leadership Change", "", lost, -1},
		{"409", "Server Shutdown", "", lost, -1},
		{"409", "server shutdown", "", lost, -1},
		{"409", "Consumer Deleted", "", missing, -1},
		{"409", "Exceeded MaxRequestBatch of 5", "", missing, -1},
		{"409", "Exceeded MaxRequestExpires of 1s", "", missing, -1},
		{"409", "Exceeded MaxRequestMaxBytes of 10", "", missing, -1},
		{"409", "Exceeded MaxWaiting", "", missing, -1},
		{"409", "Consumer is push based", "", useless, -1},
		{"409", "something new", "4", refused, 4},
		{"400", "Bad Request - Priority Group missing", "", useless, -1},
		{"412", "Required Api Level", "", useless, -1},
		{"423", "Nats-Wrong-Pin-Id", "1", refused, 1},
		{"503", "", "", missing, -1},
		{"999", "what?", "", refused, -1},
		{"", "", "", refused, -1},
		{"408", "Request Timeout", "-7", over, -1},
		{"408", "Request Timeout", "many", over, -1},
	} {
		h := nats.Header{}
		h.Set(statusHeader, c.code)
		h.Set(descriptionHeader, c.description)
		if c.pending != "" {
			h.Set(pendingHeader, c.pending)
		}
		if got, lacked := readStatus(h); got != c.want || lacked != c.lacked {
			t.Errorf("%s %q with %q pending: %v, %d, want %v, %d", c.code, c.description, c.pending, got, lacked, c.want, c.lacked)
		}
	}
}

func TestEveryStatusRuleIsReachable(t *testing.T) {
	for i, r := range statusRules {
		h := nats.Header{}
		h.Set(statusHeader, r.code)
		h.Set(descriptionHeader, r.prefix)
		if got, _ := readStatus(h); got != r.verdict {
			t.Errorf("rule %d (%s %q) gives %v, want %v: one in front of it hides it", i, r.code, r.prefix, got, r.verdict)
		}
	}
}

// What a status does to the credit.
func TestStatusesAndTheCredit(t *testing.T) {
	const now = int64(1e9)
	for _, c := range []struct {
		name, code, description, pending string
		credit                           int
		stale, waits, doubt, final       bool
	}{
		{name: "heartbeat", code: "100", description: "Idle Heartbeat", credit: 10},
		{name: "one of two requests has expired", code: "408", description: "Request Timeout", pending: "4", credit: 6},
		{name: "expired, and does not say how much it lacked", code: "408", description: "Requests Pending"},
		{name: "more than there is", code: "408", description: "Request Timeout", pending: "11"},
		{name: "leadership change", code: "409", description: "Leadership Change", stale: true},
		{name: "server shutdown", code: "409", description: "Server Shutdown", stale: true},
		{name: "consumer deleted", code: "409", description: "Consumer Deleted", stale: true, waits: true, doubt: true},
		{name: "exceeded a limit", code: "409", description: "Exceeded MaxRequestBatch of 5", stale: true, waits: true, doubt: true},
		{name: "no responders", code: "503", stale: true, waits: true, doubt: true},
		{name: "unknown", code: "409", description: "new", stale: true, waits: true},
		{name: "bad request", code: "400", description: "Bad Request", credit: 10, final: true},
	} {
		f := NewFetcher(nil, quick())
		sub := &nats.Subscription{}
		f.pulls.sub, f.pulls.credit, f.pulls.standing = sub, 10, 2
		m := &nats.Msg{Subject: "_INBOX.a.1", Sub: sub, Header: nats.Header{}}
		m.Header.Set(statusHeader, c.code)
		m.Header.Set(descriptionHeader, c.description)
		if c.pending != "" {
			m.Header.Set(pendingHeader, c.pending)
		}
		f.receive(m, now, now)
		p := &f.pulls
		if p.credit != c.credit || p.stale != c.stale || (p.retryAt > now) != c.waits || f.watch.doubt != c.doubt || (f.final != nil) != c.final {
			t.Errorf("%s: credit %d, stale %v, retry %d, doubt %v, final %v; want %+v", c.name, p.credit, p.stale, p.retryAt-now, f.watch.doubt, f.final, c)
		}
	}
}

func TestStatusesOfOldRequestsAreIgnored(t *testing.T) {
	f := NewFetcher(nil, quick())
	f.pulls.sub, f.pulls.credit = &nats.Subscription{}, 10
	m := &nats.Msg{Sub: &nats.Subscription{}, Header: nats.Header{statusHeader: {"408"}, pendingHeader: {"4"}}}
	f.receive(m, 1, 1)
	if f.pulls.credit != 10 {
		t.Fatalf("credit %d, want 10", f.pulls.credit)
	}
}
