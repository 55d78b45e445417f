package memory

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/weir-go/weir/broker"
)

// StreamConfig describes a [Stream]. A limit is required: MaxMessages, MaxBytes or both.
type StreamConfig struct {
	Name        string // letters, digits, '.', '_', '-', up to 64 of them; "memory" by default
	MaxMessages int64  // most messages stored at a time; 0 is no limit of this kind
	MaxBytes    int64  // most bytes stored at a time, by broker.Message.Size; 0 is no limit of this kind
	Unbounded   bool   // there is no limit, and that is meant

	Full       broker.FullRule // what happens to a message for a full stream
	MaxMessage int             // most bytes of one message, 1 MiB by default; never above MaxBytes

	AckWait     time.Duration // without a sign of life for this long a message is delivered again; 30 s by default, < 0 is for ever
	DedupWindow time.Duration // how long the identity of a message is remembered, 2 min by default
	DedupIDs    int           // how many identities are remembered at most, 65,536 by default; the oldest are forgotten first
}

// FetchConfig describes a [Fetcher].
type FetchConfig struct {
	InFlight  int           // most unsettled deliveries, 1,024 by default
	KeepAlive time.Duration // time between signs of life while something is unsettled, AckWait/3 by default and at most; < 0 is none
	CloseWait time.Duration // how long Close waits for a broker that is down, 5 s by default
}

// SendConfig describes a [Sender].
type SendConfig struct {
	InFlight    int           // messages sent at once, before the next confirmation is waited for, 256 by default
	ConfirmWait time.Duration // how long a confirmation may take before the messages are sent again, 5 s by default
}

var goodName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

func (c *StreamConfig) setDefaults() {
	orElse(&c.Name, "memory")
	orElse(&c.MaxMessage, 1<<20)
	orElse(&c.AckWait, 30*time.Second)
	orElse(&c.DedupWindow, 2*time.Minute)
	orElse(&c.DedupIDs, 1<<16)
	if c.MaxBytes > 0 {
		c.MaxMessage = int(min(int64(c.MaxMessage), c.MaxBytes))
	}
}

func (c *StreamConfig) validate() error {
	f := findings{of: "StreamConfig"}
	f.check(goodName.MatchString(c.Name), "Name %.80q is not 1 to 64 letters, digits, '.', '_' and '-'", c.Name)
	f.check(c.MaxMessages >= 0, "MaxMessages must be >= 0, got %d", c.MaxMessages)
	f.check(c.MaxBytes >= 0, "MaxBytes must be >= 0, got %d", c.MaxBytes)
	f.check(c.Full == broker.RefusesNew || c.Full == broker.DropsOldest, "Full is no rule: %d", c.Full)
	f.check(c.MaxMessage > 0, "MaxMessage must be >= 0, got %d", c.MaxMessage)
	f.check(c.DedupWindow > 0, "DedupWindow must be >= 0, got %v", c.DedupWindow)
	f.check(c.DedupIDs > 0, "DedupIDs must be >= 0, got %d", c.DedupIDs)
	limited := c.MaxMessages != 0 || c.MaxBytes != 0
	f.check(!limited || !c.Unbounded, "Unbounded contradicts MaxMessages and MaxBytes")
	if !limited && !c.Unbounded {
		f.add(fmt.Errorf("memory: StreamConfig: MaxMessages or MaxBytes is required: %w", broker.ErrUnbounded))
	}
	return f.join()
}

func (c *FetchConfig) setDefaults(ackWait time.Duration) {
	orElse(&c.InFlight, 1024)
	orElse(&c.CloseWait, 5*time.Second)
	if ackWait > 0 {
		orElse(&c.KeepAlive, ackWait/3)
	}
}

func (c *FetchConfig) validate(ackWait time.Duration) error {
	f := findings{of: "FetchConfig"}
	f.check(c.InFlight > 0, "InFlight must be >= 0, got %d", c.InFlight)
	f.check(ackWait < 0 || c.KeepAlive <= ackWait/3, "KeepAlive must be at most a third of AckWait, %v, got %v", ackWait, c.KeepAlive)
	f.check(c.CloseWait > 0, "CloseWait must be >= 0, got %v", c.CloseWait)
	return f.join()
}

func (c *SendConfig) setDefaults() {
	orElse(&c.InFlight, 256)
	orElse(&c.ConfirmWait, 5*time.Second)
}

func (c *SendConfig) validate() error {
	f := findings{of: "SendConfig"}
	f.check(c.InFlight > 0, "InFlight must be >= 0, got %d", c.InFlight)
	f.check(c.ConfirmWait > 0, "ConfirmWait must be >= 0, got %v", c.ConfirmWait)
	return f.join()
}

func orElse[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// findings are what is wrong with a config, all of it.
type findings struct {
	of   string
	errs []error
}

func (f *findings) check(ok bool, format string, args ...any) {
	if !ok {
		f.add(fmt.Errorf("memory: "+f.of+": "+format, args...))
	}
}

func (f *findings) add(err error) { f.errs = append(f.errs, err) }

func (f *findings) join() error { return errors.Join(f.errs...) }
