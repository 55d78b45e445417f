package jetstream

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestFateOf(t *testing.T) {
	api := func(httpCode int, code jetstream.ErrorCode, text string) error {
		return &jetstream.APIError{Code: httpCode, ErrorCode: code, Description: text}
	}
	tests := []struct {
		name string
		err  error
		want fate
	}{
		{"MaxMsgs", api(503, 10077, "maximum messages exceeded"), fateFull},
		{"MaxBytes", api(503, 10077, "maximum bytes exceeded"), fateFull},
		{"MaxMsgsPerSubject", api(503, 10077, "maximum messages per subject exceeded"), fateFull},
		{"over the store's record limit", api(503, 10077, "message too large"), fateRefused},
		{"another failure of the store", api(503, 10077, "no space left on device"), fateAgain},
		{"MaxMsgSize", api(400, 10054, "message size exceeds maximum allowed"), fateRefused},
		{"headers too large", api(400, 10097, "header size exceeds maximum allowed of 64k"), fateRefused},
		{"limits of the server", api(503, 10023, "insufficient resources"), fateScarce},
		{"limits of the account", api(400, 10002, "resource limits exceeded for account"), fateScarce},
		{"the same ID in process", api(409, 10158, "duplicate message id is in process"), fateAgain},
		{"no leader", api(503, 10008, "JetStream system temporarily unavailable"), fateAgain},
		{"another stream was expected", api(400, 10060, "expected stream does not match"), fateRefused},
		{"wrong last sequence", api(400, 10071, "wrong last sequence: 7"), fateBehind},
		{"wrong last sequence of a replicated stream", api(400, 10164, "wrong last sequence"), fateBehind},
		{"TTL disabled", api(400, 10166, "per-message TTL is disabled"), fateRefused},
		{"TTL invalid", api(400, 10165, "invalid per-message TTL"), fateRefused},
		{"sealed", api(400, 10109, "invalid operation on sealed stream"), fateRefused},
		{"any other mistake", api(400, 10188, "message schedules is disabled"), fateRefused},
		{"any other trouble", api(500, 10999, "something new"), fateAgain},

		{"too large for the server", nats.ErrMaxPayload, fateRefused},
		{"a malformed subject", nats.ErrBadSubject, fateRefused},
		{"a malformed header", nats.ErrBadHeaderMsg, fateRefused},
		{"no stream on the subject", jetstream.ErrNoStreamResponse, fateNobody},
		{"no responders", nats.ErrNoResponders, fateNobody},
		{"not connected", nats.ErrReconnectBufExceeded, fateUnsent},
		{"connection closed", nats.ErrConnectionClosed, fateClosed},
		{"connection draining", nats.ErrConnectionDraining, fateClosed},
		{"disconnected", nats.ErrDisconnected, fateUnknown},
		{"timeout", nats.ErrTimeout, fateUnknown},
		{"late confirmation", jetstream.ErrAsyncPublishTimeout, fateUnknown},
		{"deadline", context.DeadlineExceeded, fateUnknown},
		{"anything else", errors.New("broken pipe"), fateUnknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := fateOf(tt.err); got != tt.want {
				t.Errorf("fateOf(%v) = %d, want %d", tt.err, got, tt.want)
			}
			if got := fateOf(fmt.Errorf("nats: %w", tt.err)); got != tt.want {
				t.Errorf("wrapped: %d, want %d", got, tt.want)
			}
		})
	}
}
