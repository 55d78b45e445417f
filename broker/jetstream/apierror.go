package jetstream

import (
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// fate is what has become of a message that was published, or what there is to do about it.
type fate uint8

const (
	fatePending   fate = iota // no answer yet
	fateStored                // confirmed
	fateDuplicate             // confirmed: it had been stored before
	fateFull                  // not stored: the stream has no room
	fateScarce                // not stored: the server or the account has no room
	fateRefused               // not stored, and never will be
	fateAgain                 // not stored, or in the course of being stored: to be sent again soon
	fateBehind                // not stored: what it was to follow is not the last message
	fateNobody                // not stored: there is no stream that listens
	fateUnsent                // not stored: it has not left this process
	fateUnknown               // no answer in time, or the connection broke: it may be stored
	fateClosed                // not stored: the connection is closed for good
	fateDeleted               // not stored: the stream no longer exists
)

// Codes of the server that package jetstream of the client has no name for.
const (
	codeAccountLimits jetstream.ErrorCode = 10002
	codeUnavailable   jetstream.ErrorCode = 10008 // the leader isn't known, or the stream is being recovered
	codeNoResources   jetstream.ErrorCode = 10023
	codeStreamStore   jetstream.ErrorCode = 10049 // the store of a new stream could not be made
	codeStoreFailed   jetstream.ErrorCode = 10077
	codeInProcess     jetstream.ErrorCode = 10158 // the same ID is still being replicated
)

// fullTexts are the descriptions of codeStoreFailed that mean a full stream. The code alone says only that the store did not
// take the message, which may be for good.
var fullTexts = map[string]bool{
	"maximum messages exceeded":             true,
	"maximum bytes exceeded":                true,
	"maximum messages per subject exceeded": true,
}

const tooLargeText = "message too large" // another one of codeStoreFailed

// fateOf says what an error of a publish means.
func fateOf(err error) fate {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return fateOfCode(api)
	}
	for _, f := range fates {
		if errors.Is(err, f.err) {
			return f.fate
		}
	}
	return fateUnknown
}

var fates = []struct {
	err  error
	fate fate
}{
	{jetstream.ErrNoStreamResponse, fateNobody},
	{nats.ErrNoResponders, fateNobody},
	{nats.ErrMaxPayload, fateRefused},
	{nats.ErrBadSubject, fateRefused},
	{nats.ErrBadHeaderMsg, fateRefused},
	{nats.ErrHeadersNotSupported, fateRefused},
	{nats.ErrReconnectBufExceeded, fateUnsent},
	{nats.ErrConnectionClosed, fateClosed},
	{nats.ErrConnectionDraining, fateClosed},
}

var codes = map[jetstream.ErrorCode]fate{
	codeNoResources:   fateScarce,
	codeAccountLimits: fateScarce,
	codeInProcess:     fateAgain,
	codeUnavailable:   fateAgain,

	jetstream.JSErrCodeStreamWrongLastSequence:         fateBehind,
	jetstream.JSErrCodeStreamWrongLastSequenceConstant: fateBehind,
}

func fateOfCode(api *jetstream.APIError) fate {
	if api.ErrorCode == codeStoreFailed {
		return fateOfStore(api.Description)
	}
	if f, ok := codes[api.ErrorCode]; ok {
		return f
	}
	if api.Code >= 500 {
		return fateAgain
	}
	return fateRefused
}

func fateOfStore(description string) fate {
	switch {
	case fullTexts[description]:
		return fateFull
	case description == tooLargeText:
		return fateRefused
	default:
		return fateAgain
	}
}
