package broker

import "time"

// Header holds the headers of a message. Its shape is that of net/http and of nats.go; names are matched as they are written.
type Header map[string][]string

// Get returns the first value of a header, "" if there is none.
func (h Header) Get(name string) string {
	if vs := h[name]; len(vs) > 0 {
		return vs[0]
	}
	return ""
}

// Set replaces the values of a header.
func (h Header) Set(name, value string) { h[name] = []string{value} }

// Delivery is one message that a [Fetcher] hands over. Data and Header belong to the receiver, which must not change them: they are
// what a dead letter is made of.
type Delivery struct {
	Token    uint64    // names the delivery in Settle; unique among those that have not settled
	ID       string    // identity of the message: the same each time it is delivered, another for every other message
	Subject  string    // where it was sent
	Header   Header    // nil if it has none
	Data     []byte    // payload
	Sequence uint64    // place in its stream, from 1; 0 is not known
	Stored   time.Time // when the broker stored it, by the broker's clock; zero is not known
	Attempt  int       // how often it has been delivered, this time included; 0 is not known
}

// Message is one message for a [Sender].
type Message struct {
	Subject string
	ID      string // what the broker knows repetitions by; "" leaves that to the Sender
	Header  Header
	Data    []byte
}

// Size is about how much of a broker's limits a message uses: the payload, the headers and the subject, in bytes.
func (m *Message) Size() int {
	n := len(m.Data) + len(m.Subject)
	if m.ID != "" {
		n += len("Nats-Msg-Id: \r\n") + len(m.ID)
	}
	for name, values := range m.Header {
		for _, v := range values {
			n += len(name) + len(v) + len(": \r\n")
		}
	}
	return n
}
