package jetstream

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weir-go/weir/broker"
)

// The defaults and limits of [SourceConfig].
const (
	defaultMaxAckPending = 1024
	defaultAckWait       = 30 * time.Second
	defaultMaxHold       = time.Hour
	defaultPullExpiry    = 4 * time.Second
	defaultCloseTimeout  = 5 * time.Second

	highestMaxAckPending = 1 << 20
	lowestAckWait        = 300 * time.Millisecond // three signs of life in it, each a tenth of a second apart
	lowestPullExpiry     = 400 * time.Millisecond // four heartbeats in it, and the server sends none more often than that
	highestPullExpiry    = 30 * time.Second
)

// AckMode is how deliveries are acknowledged.
type AckMode int

const (
	// Plain sends an acknowledgement for each message and does not wait for an answer. One that gets lost with a connection
	// has its message delivered again.
	Plain AckMode = iota
	// Confirmed has the server confirm each acknowledgement, many at once, and sends it again until it does. A message takes its
	// place in MaxAckPending until then.
	Confirmed
	// Cumulative acknowledges the highest message that has nothing unsettled in front of it, and with it all others up to
	// there. It saves traffic where few messages take long. The stream must not be a work queue, and the consumer must have
	// one process only.
	Cumulative
)

// String returns the name of the mode.
func (m AckMode) String() string {
	switch m {
	case Plain:
		return "Plain"
	case Confirmed:
		return "Confirmed"
	case Cumulative:
		return "Cumulative"
	}
	return fmt.Sprintf("AckMode(%d)", int(m))
}

// SourceConfig says what a [Source] reads, and how. Stream and Durable are needed, all others have defaults. Where the consumer
// exists, a field that is zero is what the consumer has, and one that is not must agree with it.
type SourceConfig struct {
	// Options are those of any broker: attempts, dead letters, trust in headers.
	broker.SourceOptions

	// Stream is the name of the stream.
	Stream string
	// Durable is the name of the consumer. It is made when it does not exist, and never changed.
	Durable string
	// Filters are the subjects to be delivered; none means all.
	Filters []string
	// Domain is the JetStream domain, "" for that of the connection.
	Domain string

	// MaxAckPending is how many messages may be unsettled, at most 1,048,576. All processes of the consumer share it. 1,024 by
	// default. It must be at least what the pipeline holds before it settles anything, as a batch or a window does.
	MaxAckPending int
	// AckWait is how long the server waits for a sign of life before it delivers a message again; at least 300 ms, 30 s by
	// default. The source gives one three times in that time, so this is how soon the messages of a dead process come back.
	AckWait time.Duration
	// MaxHold is how long a message is kept alive at most, so that a stage that hangs does not keep its messages for ever; 1 h
	// by default.
	MaxHold time.Duration
	// Ack is how messages are acknowledged.
	Ack AckMode
	// PullExpiry is how long a request for messages stands before it is repeated, between 400 ms and 30 s; 4 s by default.
	// Four heartbeats come in that time; two that are missing have it repeated at once.
	PullExpiry time.Duration
	// CloseTimeout is how long Close may take to give messages back and to have acknowledgements arrive; 5 s by default.
	CloseTimeout time.Duration

	// Unbounded takes a stream that has neither MaxMsgs nor MaxBytes. Such a stream grows for as long as nobody reads it.
	Unbounded bool
	// Recreate makes the consumer again when it has been deleted while its stream still exists, and goes on behind what the
	// server last reported as acknowledged, which is asked for every second: some messages come once more, none is left out. Not with
	// Cumulative. Without it a consumer that was deleted is an error.
	Recreate bool
}

// withDefaults returns c with every default filled in that does not depend on the consumer.
func (c SourceConfig) withDefaults() SourceConfig {
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	set(&c.MaxHold, defaultMaxHold)
	set(&c.PullExpiry, defaultPullExpiry)
	set(&c.CloseTimeout, defaultCloseTimeout)
	return c
}

// Validate returns everything that is wrong with c itself.
func (c SourceConfig) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("jetstream: SourceConfig."+format, args...))
		}
	}
	between := func(field string, d, least, most time.Duration) {
		check(d == 0 || d >= least && d <= most, "%s must be between %v and %v, got %v", field, least, most, d)
	}
	check(validName(c.Stream), "Stream must be a name without dots, wildcards, slashes and spaces, got %q", c.Stream)
	check(validName(c.Durable), "Durable must be a name without dots, wildcards, slashes and spaces, got %q", c.Durable)
	check(c.Domain == "" || validName(c.Domain), "Domain must be a name without dots, wildcards, slashes and spaces, got %q", c.Domain)
	check(!slices.Contains(c.Filters, ""), "Filters must not hold an empty subject")
	check(c.MaxAckPending >= 0 && c.MaxAckPending <= highestMaxAckPending,
		"MaxAckPending must be in 1..%d, got %d: there is no source without a limit", highestMaxAckPending, c.MaxAckPending)
	between("AckWait", c.AckWait, lowestAckWait, math.MaxInt64)
	between("MaxHold", c.MaxHold, lowestAckWait, math.MaxInt64)
	between("PullExpiry", c.PullExpiry, lowestPullExpiry, highestPullExpiry)
	between("CloseTimeout", c.CloseTimeout, time.Millisecond, math.MaxInt64)
	check(c.Ack >= Plain && c.Ack <= Cumulative, "Ack must be Plain, Confirmed or Cumulative, got %d", int(c.Ack))
	check(!c.Recreate || c.Ack != Cumulative, "Recreate needs Plain or Confirmed")
	return errors.Join(errs...)
}

// validName tells whether a stream or a consumer may be called that.
func validName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune(".*>/\\", r)
	})
}
