package jetstream

import (
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
)

// verdict is what a status means for the requests that have been sent.
type verdict int

const (
	alive   verdict = iota // the request waits
	over                   // the request has ended; what it did not get is off the credit
	lost                   // no request is left, ask again
	refused                // no request is left, ask again later: the next one might fare no better
	missing                // no request is left, and perhaps no consumer
	useless                // this consumer will never answer
)

// statusRule says what a status means that has this code and whose description starts like this.
type statusRule struct {
	code, prefix string
	verdict      verdict
}

// statusRules holds everything that a server says in answer to a pull request; the first that fits counts.
var statusRules = []statusRule{
	{"100", "", alive},
	{"404", "", refused}, // only an impatient request gets it
	{"408", "", over},    // Request Timeout, Interest Expired, Requests Pending
	{"409", "Batch Completed", over},
	{"409", "Message Size Exceeds MaxBytes", refused},
	{"409", "Leadership Change", lost},
	{"409", "Server Shutdown", lost},
	{"409", "Consumer Deleted", missing},
	{"409", "Exceeded Max", missing}, // MaxRequestBatch, -Expires, -MaxBytes, MaxWaiting: somebody has changed the consumer
	{"409", "Consumer is push based", useless},
	{"400", "", useless}, // Bad Request: priority groups, mostly
	{"412", "", useless}, // Required Api Level
	{"423", "", refused}, // another client is pinned
	{"503", "", missing}, // no responders: nobody listens where the consumer should
}

// Headers of a status.
const (
	statusHeader      = "Status"
	descriptionHeader = "Description"
	pendingHeader     = "Nats-Pending-Messages"
)

// readStatus returns what a status means, and how many messages its request still lacked; -1 where it does not say.
func readStatus(h nats.Header) (v verdict, lacked int) {
	lacked = -1
	if n, err := strconv.Atoi(h.Get(pendingHeader)); err == nil && n >= 0 {
		lacked = n
	}
	code, description := h.Get(statusHeader), h.Get(descriptionHeader)
	for _, r := range statusRules {
		if r.code == code && hasPrefixFold(description, r.prefix) {
			return r.verdict, lacked
		}
	}
	return refused, lacked
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
