package jetstream

import (
	"errors"
	"fmt"
	"net/textproto"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/weir-go/weir/broker"
)

// Headers that this package sets.
const (
	idHeader     = "Nats-Msg-Id"
	expectHeader = "Nats-Expected-Last-Sequence"
)

const (
	controlPrefix  = "Nats-" // of the headers by which a server is told what to do with a message
	headerLine     = len("NATS/1.0\r\n") + len("\r\n")
	fieldOverhead  = len(": \r\n")
	mostHeader     = 64<<10 - 1
	longestNumber  = 20 // digits of a sequence number
	storedOverhead = 34 // what a store adds to a message and its subject at most
)

// control says whether a header would make the server do something: purge a stream, expire the message, put it in order behind
// another, send it elsewhere. What somebody else has put into a message must not.
func control(name string) bool { return hasPrefixFold(name, controlPrefix) }

// headerSize is the size of m's headers on the wire, with the ID and, in a chain, the expected sequence number. A header that can't be
// written as it is, is an error: the client would turn a line break into a space.
func headerSize(m *broker.Message, id string, ordered bool) (int, error) {
	if !oneLine(id) {
		return 0, errors.New("the ID has a line break")
	}
	n := headerLine + len(idHeader) + len(id) + fieldOverhead
	if ordered {
		n += len(expectHeader) + longestNumber + fieldOverhead
	}
	for name, values := range m.Header {
		if control(name) {
			continue
		}
		if !validField(name) {
			return 0, errors.New("the name of a header is malformed")
		}
		for _, v := range values {
			if !oneLine(v) {
				return 0, errors.New("a header has a line break")
			}
			n += len(name) + len(textproto.TrimString(v)) + fieldOverhead
		}
	}
	return n, nil
}

func oneLine(s string) bool { return !strings.ContainsAny(s, "\r\n") }

// validField says whether a header may have that name: visible ASCII characters without a colon.
func validField(name string) bool {
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || c == ':' {
			return false
		}
	}
	return name != ""
}

// bounds are the sizes that a server and a stream take.
type bounds struct {
	payload int64 // headers and payload together, by the server; 0 is not known
	message int64 // the same by the stream; 0 is no limit
	stored  int64 // the whole stream; 0 is no limit
}

// least is the size that no message can exceed; 0 is not known.
func (b bounds) least() int64 {
	var n int64
	for _, limit := range []int64{b.payload, b.message, b.stored} {
		if limit > 0 && (n == 0 || limit < n) {
			n = limit
		}
	}
	return n
}

// check says why a message can never be stored.
func (b bounds) check(m *broker.Message, id string, ordered bool) error {
	header, err := headerSize(m, id, ordered)
	if err != nil {
		return err
	}
	size := int64(header + len(m.Data))
	stored := size + int64(len(m.Subject)) + storedOverhead
	switch {
	case header > mostHeader:
		return fmt.Errorf("headers of %d bytes, at most %d are possible", header, mostHeader)
	case b.payload > 0 && size > b.payload:
		return fmt.Errorf("%d bytes, the server takes %d", size, b.payload)
	case b.message > 0 && size > b.message:
		return fmt.Errorf("%d bytes, the stream takes %d", size, b.message)
	case b.stored > 0 && stored > b.stored:
		return fmt.Errorf("%d bytes in the store, the whole stream has %d", stored, b.stored)
	}
	return nil
}

// storedSize is what a message of an order takes in a store, at most.
func storedSize(m *broker.Message, id string) int64 {
	header, err := headerSize(m, id, true)
	if err != nil {
		return 0 // it is refused, and never stored
	}
	return int64(header + len(m.Data) + len(m.Subject) + storedOverhead)
}

// envelope is what messages are published in, one after the other: the client copies everything.
type envelope struct {
	msg    nats.Msg
	header nats.Header
	id     []string
	expect []string
	reply  []byte
}

func newEnvelope(inbox string) *envelope {
	e := &envelope{header: make(nats.Header), id: make([]string, 1), expect: make([]string, 1)}
	e.reply = append(e.reply, inbox...)
	return e
}

// fill prepares m to be published.
func (e *envelope) fill(m *broker.Message, id string) {
	clear(e.header)
	for name, values := range m.Header {
		if !control(name) {
			e.header[name] = values
		}
	}
	e.id[0] = id
	e.header[idHeader] = e.id
	e.msg = nats.Msg{Subject: m.Subject, Header: e.header, Data: m.Data}
}

// follow demands that m is stored behind the message with that sequence number.
func (e *envelope) follow(seq uint64) {
	e.expect[0] = strconv.FormatUint(seq, 10)
	e.header[expectHeader] = e.expect
}

// address says under which ticket the answer is to come.
func (e *envelope) address(ticket uint64) {
	prefix := len(e.reply)
	e.reply = strconv.AppendUint(e.reply, ticket, 36)
	e.msg.Reply = string(e.reply)
	e.reply = e.reply[:prefix]
}
