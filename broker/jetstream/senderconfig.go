package jetstream

import (
	"errors"
	"fmt"
	"time"

	"github.com/weir-go/weir/flow"
)

// SenderConfig says where and how a [Sender] publishes. Stream must be set.
type SenderConfig struct {
	// Stream is the name of the stream.
	Stream string
	// Domain is the JetStream domain, "" for that of the connection.
	Domain string

	// Window is how many messages may be sent and not confirmed; 0 means 1,024, at most 65,536.
	Window int
	// Ordered keeps the order where the stream is full, too, and over broken connections. It is for one writer per stream.
	Ordered bool
	// AckTimeout is how long there may be no answer at all before messages are sent again. It doubles while that does not
	// help, up to eight times what it was. 0 means 1 s, at least 10 ms.
	AckTimeout time.Duration

	// OnFull is what the edge does where the stream is full, which the stream's Discard must fit. The zero value is flow.Block.
	OnFull flow.Policy
	// Unbounded allows a stream with neither MaxMsgs nor MaxBytes.
	Unbounded bool
	// Tolerate makes warnings of settings by which the stream may lose messages, or have a writer wait for ever.
	Tolerate bool
}

const (
	defaultWindow     = 1024
	highestWindow     = 1 << 16
	defaultAckTimeout = time.Second
	leastAckTimeout   = 10 * time.Millisecond
)

// Validate reports everything that is wrong with c.
func (c SenderConfig) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("jetstream: SenderConfig."+format, args...))
		}
	}
	check(validName(c.Stream), "Stream must be a name without dots, wildcards, slashes and spaces, got %q", c.Stream)
	check(c.Domain == "" || validName(c.Domain), "Domain must be a name without dots, wildcards, slashes and spaces, got %q", c.Domain)
	check(c.Window >= 0 && c.Window <= highestWindow, "Window must be in 0..%d, got %d", highestWindow, c.Window)
	check(c.AckTimeout == 0 || c.AckTimeout >= leastAckTimeout, "AckTimeout must be 0 or at least %v, got %v", leastAckTimeout, c.AckTimeout)
	check(c.OnFull >= flow.Block && c.OnFull <= flow.Reject, "OnFull: unknown policy %v", c.OnFull)
	return errors.Join(errs...)
}
