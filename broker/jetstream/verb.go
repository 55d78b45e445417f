package jetstream

import "strconv"

// verb is what the server is told about a delivery.
type verb uint8

const (
	ack verb = iota
	nak
	term
	inProgress
)

// terminated is the reason that the server tells others. It is always the same: nothing of a message or an error leaves here.
const terminated = "+TERM weir: terminated by the pipeline"

var (
	ackBody        = []byte("+ACK")
	nakBody        = []byte("-NAK")
	termBody       = []byte(terminated)
	inProgressBody = []byte("+WPI")
)

// body returns the payload of a verb. One with a delay is appended to buf, all others are shared.
func (v verb) body(delay int64, buf []byte) []byte {
	switch v {
	case nak:
		if delay <= 0 {
			return nakBody
		}
		buf = append(buf, `-NAK {"delay":`...)
		buf = strconv.AppendInt(buf, delay, 10)
		return append(buf, '}')
	case term:
		return termBody
	case inProgress:
		return inProgressBody
	case ack:
	}
	return ackBody
}
