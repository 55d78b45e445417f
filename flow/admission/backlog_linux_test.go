package admission_test

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-go/weir/flow/admission"
)

// The backlog is set, and reported as the system sees it.
func TestListenerSetsTheBacklog(t *testing.T) {
	text, err := os.ReadFile("/proc/sys/net/core/somaxconn")
	if err != nil {
		t.Fatal(err)
	}
	most, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "as it is", listen(t, admission.ListenerConfig{Limit: 1}).Backlog(), admission.Backlog{SOMaxConn: most})
	l := listen(t, admission.ListenerConfig{Limit: 1, Backlog: 1})
	equal(t, "set", l.Backlog().Effective(), 1)
	more := listen(t, admission.ListenerConfig{Limit: 1, Backlog: most + 1})
	equal(t, "too much", more.Backlog().Effective(), most)
	equal(t, "that is said", more.Backlog().Warning() != "", true)
	if _, err := admission.Listen(&pipes{}, admission.ListenerConfig{Limit: 1, Backlog: 1}); err == nil {
		t.Error("a listener without a socket takes a backlog")
	}
	var _ net.Listener = l
}
