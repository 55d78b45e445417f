package jetstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// receipts reads what a stream answers to those who publish.
type receipts struct {
	stream string
	prefix []byte // of a confirmation as the server writes it: {"stream":"ORDERS",

	mu    sync.Mutex
	known map[string]receipt // refusals seen before, as a full stream sends them by the thousand
}

const mostKnown = 16

func newReceipts(stream string) *receipts {
	return &receipts{
		stream: stream,
		prefix: fmt.Appendf(nil, `{"stream":%q,`, stream),
		known:  make(map[string]receipt),
	}
}

// read returns what m says about a message. ok is false for what no stream sends: somebody else listens to the subject as
// well, and has answered.
func (r *receipts) read(m *nats.Msg) (a receipt, ok bool) {
	if len(m.Data) == 0 {
		if m.Header.Get(statusHeader) == noResponders {
			return receipt{fate: fateNobody, err: errNobody}, true
		}
		return receipt{}, false
	}
	if seq, dup, ok := r.confirmation(m.Data); ok {
		return confirmed(seq, dup), true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if a, ok = r.known[string(m.Data)]; ok {
		return a, true
	}
	if a, ok = r.decode(m.Data); ok && a.err != nil && a.fate != fateBehind && len(r.known) < mostKnown {
		r.known[string(m.Data)] = a
	}
	return a, ok
}

const noResponders = "503"

func confirmed(seq uint64, dup bool) receipt {
	if dup {
		return receipt{fate: fateDuplicate, seq: seq}
	}
	return receipt{fate: fateStored, seq: seq}
}

// confirmation reads one in the form that servers have always sent. Everything else is left to decode.
func (r *receipts) confirmation(data []byte) (seq uint64, dup, ok bool) {
	rest, ok := bytes.CutPrefix(data, r.prefix)
	if !ok {
		return 0, false, false
	}
	if rest, ok = bytes.CutPrefix(bytes.TrimLeft(rest, " "), []byte(`"seq":`)); !ok {
		return 0, false, false
	}
	rest = bytes.TrimLeft(rest, " ")
	n := 0
	for ; n < len(rest) && n < 19 && '0' <= rest[n] && rest[n] <= '9'; n++ {
		if seq = seq*10 + uint64(rest[n]-'0'); seq == 0 {
			return 0, false, false // JSON has no numbers with zeros in front
		}
	}
	switch string(rest[n:]) {
	case "}":
		return seq, false, seq > 0
	case `,"duplicate": true}`:
		return seq, true, seq > 0
	}
	return 0, false, false
}

func (r *receipts) decode(data []byte) (receipt, bool) {
	var reply struct {
		Error *jetstream.APIError `json:"error"`
		jetstream.PubAck
	}
	if err := json.Unmarshal(data, &reply); err != nil || reply.Error == nil && (reply.Stream == "" || reply.Sequence == 0) {
		return receipt{}, false
	}
	if reply.Error != nil {
		a := receipt{fate: fateOfCode(reply.Error), err: reply.Error}
		if a.fate == fateBehind {
			a.seq = lastSequence(reply.Error.Description)
		}
		return a, true
	}
	if reply.Stream != r.stream {
		return receipt{fate: fateRefused, err: fmt.Errorf("stream %q has stored it", reply.Stream)}, true
	}
	return confirmed(reply.Sequence, reply.Duplicate), true
}

// lastSequence reads N from "wrong last sequence: N".
func lastSequence(description string) uint64 {
	_, number, _ := strings.Cut(description, ": ")
	seq, _ := strconv.ParseUint(number, 10, 64) // 0: not known
	return seq
}

// What a letter's fate is explained with.
var (
	errNoAnswer     = errors.New("no answer in time")
	errDisconnected = errors.New("the connection broke")
	errNobody       = errors.New("no stream answers")
	errNotTaken     = errors.New("the stream does not take the subject")
)
