package jetstream

import "strings"

// ackPrefix is how the reply subject of every delivery starts. A status has another one, or none.
const ackPrefix = "$JS.ACK."

// facts are what the server says of a delivery in the subject that it is acknowledged on:
//
//	$JS.ACK.<stream>.<consumer>.<attempt>.<sequence>.<delivery>.<stored>.<pending>
//	$JS.ACK.<domain>.<account>.<stream>.<consumer>.<attempt>.<sequence>.<delivery>.<stored>.<pending>[.<random>]
type facts struct {
	attempt  uint64
	sequence uint64 // in the stream
	delivery uint64 // counts what the consumer has handed out
	stored   uint64 // nanoseconds of Unix time
	pending  uint64 // what waits in the stream behind it
}

// Tokens in front of the numbers, and in the whole subject.
const (
	shortLead, shortTokens = 4, 9
	longLead, longTokens   = 6, 11
)

// parseReply reads a reply subject without allocating. ok is false for one that is no delivery's.
func parseReply(reply string) (f facts, ok bool) {
	if !strings.HasPrefix(reply, ackPrefix) {
		return f, false
	}
	lead := shortLead
	switch tokens := strings.Count(reply, ".") + 1; {
	case tokens >= longTokens:
		lead = longLead
	case tokens != shortTokens:
		return f, false
	}
	for range lead { // there are more dots than that
		reply = reply[strings.IndexByte(reply, '.')+1:]
	}
	for _, field := range [...]*uint64{&f.attempt, &f.sequence, &f.delivery, &f.stored, &f.pending} {
		if *field, reply, ok = cutNumber(reply); !ok {
			return facts{}, false
		}
	}
	return f, true
}

// cutNumber reads the number in front of the next dot.
func cutNumber(s string) (n uint64, rest string, ok bool) {
	for i := range len(s) {
		switch c := s[i]; {
		case c == '.':
			return n, s[i+1:], i > 0
		case c < '0' || c > '9':
			return 0, "", false
		default:
			n = n*10 + uint64(c-'0')
		}
	}
	return n, "", s != ""
}
