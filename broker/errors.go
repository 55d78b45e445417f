package broker

import "errors"

// What an adapter's errors wrap.
var (
	// ErrFull says that the stream had no room for a message. It is not stored, and may be sent again later.
	ErrFull = errors.New("broker: the stream is full")
	// ErrRefused says that a message will never be stored: it is too large, or the stream does not take it.
	ErrRefused = errors.New("broker: the message is refused")
	// ErrUnknown says that nobody knows whether a message was stored.
	ErrUnknown = errors.New("broker: the message may or may not be stored")
	// ErrDeleted says that a stream or consumer no longer exists.
	ErrDeleted = errors.New("broker: deleted")
	// ErrUnbounded says that a stream has no maximum depth.
	ErrUnbounded = errors.New("broker: the stream has no limit")
	// ErrClosed is returned by what has been closed.
	ErrClosed = errors.New("broker: closed")
	// ErrDecode says that a payload is not what the codec expects.
	ErrDecode = errors.New("broker: the message can't be decoded")
)
