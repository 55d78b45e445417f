package jetstream

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow"
)

// Retention says when a message leaves a stream.
type Retention int

// The kinds of [Retention].
const (
	WorkQueue Retention = iota // when it is acknowledged. A message has one consumer
	Interest                   // when every consumer has acknowledged it. What nobody consumes is not kept
	Limits                     // when it is too old, or pushed out by newer ones. Needs MaxAge or broker.DropsOldest
)

var policies = map[Retention]jetstream.RetentionPolicy{
	WorkQueue: jetstream.WorkQueuePolicy, Interest: jetstream.InterestPolicy, Limits: jetstream.LimitsPolicy,
}

// StreamConfig describes a stream that is fit for an edge. Name, Subjects, and MaxMessages or MaxBytes must be set.
//
// Where [EnsureStream] finds the stream in place, a field that is zero leaves the stream's setting as it is, except for
// Full, Retention and Memory, which always count.
type StreamConfig struct {
	Name string
	// Subjects are what the stream takes, with or without wildcards. Those that a stream has besides stay.
	Subjects []string
	// Domain is the JetStream domain, "" for that of the connection.
	Domain string

	// MaxMessages is the depth; 0 means that MaxBytes is the bound.
	MaxMessages int64
	// MaxBytes is the depth in bytes as the server counts them: payload, headers, subject and some 30 more for each message;
	// 0 means that MaxMessages is the bound.
	MaxBytes int64
	// MaxMessageSize is the bytes of one message, headers included. 0 means what the server takes, and with MaxBytes the lesser
	// of 1 MiB and MaxBytes less 4 KiB.
	MaxMessageSize int
	// MaxAge is after what time a message is deleted, read or not; 0 means never, else at least 100 ms.
	MaxAge time.Duration
	// Unbounded allows a stream with neither MaxMessages nor MaxBytes.
	Unbounded bool

	// Full is what happens at the limit; the zero value is broker.RefusesNew.
	Full broker.FullRule
	// Retention is when a message leaves; the zero value is WorkQueue.
	Retention Retention

	// Replicas is 1, 3 or 5; 0 means 1.
	Replicas int
	// Memory keeps messages in memory instead of in files: they are lost when the servers stop.
	Memory bool
	// Duplicates is how long the server remembers a message's ID; 0 means 2 min, or MaxAge if that is less.
	Duplicates time.Duration
}

const (
	leastAge       = 100 * time.Millisecond
	leastWindow    = 100 * time.Millisecond
	defaultMaxSize = 1 << 20
	sizeOverhead   = 4 << 10 // what the server adds to a message at most: its subject, and 34 bytes
)

// Validate reports everything that is wrong with c.
func (c StreamConfig) Validate() error {
	var errs []error
	bad := func(setting, format string, args ...any) {
		errs = append(errs, fmt.Errorf("jetstream: StreamConfig.%s of %q %s", setting, c.Name, fmt.Sprintf(format, args...)))
	}
	if !validName(c.Name) {
		bad("Name", `must not be empty, or have a space or one of . * > / \ in it`)
	}
	if len(c.Subjects) == 0 {
		bad("Subjects", "must not be empty")
	}
	for _, s := range c.Subjects {
		if !validPattern(s) {
			bad("Subjects", "has %q, which is no subject", s)
		}
	}
	for _, n := range []struct {
		setting string
		value   int64
		most    int64
	}{
		{"MaxMessages", c.MaxMessages, math.MaxInt64},
		{"MaxBytes", c.MaxBytes, math.MaxInt64},
		{"MaxMessageSize", int64(c.MaxMessageSize), math.MaxInt32},
		{"Full", int64(c.Full), int64(broker.DropsOldest)},
		{"Retention", int64(c.Retention), int64(Limits)},
		{"MaxAge", int64(c.MaxAge), math.MaxInt64},
		{"Duplicates", int64(c.Duplicates), math.MaxInt64},
	} {
		if n.value < 0 || n.value > n.most {
			bad(n.setting, "must be in 0..%d, got %d", n.most, n.value)
		}
	}
	if c.Replicas < 0 || c.Replicas > 5 || c.Replicas == 2 || c.Replicas == 4 {
		bad("Replicas", "must be 1, 3 or 5, got %d", c.Replicas)
	}
	if c.MaxAge > 0 && c.MaxAge < leastAge {
		bad("MaxAge", "must be 0 or at least %v, got %v", leastAge, c.MaxAge)
	}
	if c.Duplicates > 0 && c.Duplicates < leastWindow {
		bad("Duplicates", "must be 0 or at least %v, got %v", leastWindow, c.Duplicates)
	}
	if c.MaxAge > 0 && c.Duplicates > c.MaxAge {
		bad("Duplicates", "must not be longer than MaxAge, %v, got %v", c.MaxAge, c.Duplicates)
	}
	if c.MaxBytes > 0 && c.MaxBytes <= sizeOverhead && c.MaxMessageSize == 0 {
		bad("MaxMessageSize", "must be set where MaxBytes is no more than %d", sizeOverhead)
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return checkStream(&jetstream.StreamInfo{Config: c.settings()}, c.use()).err(false)
}

func (c StreamConfig) use() streamUse {
	u := streamUse{role: making, policy: flow.Block, unbounded: c.Unbounded}
	if c.Full == broker.DropsOldest {
		u.policy = flow.DropOldest
	}
	return u
}

// settings are those of a new stream.
func (c StreamConfig) settings() jetstream.StreamConfig {
	s := jetstream.StreamConfig{
		Name:      c.Name,
		Subjects:  c.Subjects,
		Retention: policies[c.Retention],
		Discard:   jetstream.DiscardNew,
		Storage:   jetstream.FileStorage,
		Replicas:  max(c.Replicas, 1),

		MaxMsgs:    c.MaxMessages,
		MaxBytes:   c.MaxBytes,
		MaxMsgSize: c.maxMessageSize(),
		MaxAge:     c.MaxAge,
		Duplicates: c.Duplicates,
	}
	if c.Full == broker.DropsOldest {
		s.Discard = jetstream.DiscardOld
	}
	if c.Memory {
		s.Storage = jetstream.MemoryStorage
	}
	return s
}

func (c StreamConfig) maxMessageSize() int32 {
	if c.MaxMessageSize == 0 && c.MaxBytes > 0 {
		return int32(min(defaultMaxSize, c.MaxBytes-sizeOverhead))
	}
	return int32(c.MaxMessageSize)
}
