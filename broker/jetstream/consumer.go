package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
)

// binding is a durable consumer that has been looked at and found right.
type binding struct {
	stream   *jetstream.StreamInfo
	consumer *jetstream.ConsumerInfo
	warnings []string

	maxAckPending int
	ackWait       time.Duration // of the shortest step where the consumer has a BackOff
	maxBatch      int           // of one request; 0 is no limit
	maxRequests   int           // that may stand at once
	expiry        time.Duration // of one request
}

const (
	mostRequests = 8 // of one fetcher at once; half of the credit is asked for at a time, so there are seldom more than 3
)

// bind finds the consumer, or makes it, and looks at every setting. It waits for a server that is down.
func bind(ctx context.Context, nc *nats.Conn, c *SourceConfig) (*binding, error) {
	js, err := open(ctx, nc, c.Domain)
	if err != nil {
		return nil, err
	}
	var b *binding
	name := fmt.Sprintf("jetstream: consumer %q of stream %q", c.Durable, c.Stream)
	err = persist(ctx, name, func(ctx context.Context) error {
		b, err = bindOnce(ctx, js, name, c)
		return err
	})
	return b, err
}

func bindOnce(ctx context.Context, js jetstream.JetStream, name string, c *SourceConfig) (*binding, error) {
	stream, err := js.Stream(ctx, c.Stream)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	info := stream.CachedInfo()
	found := checkStream(info, streamUse{role: fetching, unbounded: c.Unbounded})
	found = append(found, connAdvice(js.Conn())...)
	found = append(found, checkMode(info, c)...)
	consumer, err := stream.Consumer(ctx, c.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		if err := found.err(false); err != nil {
			return nil, err // a consumer that is refused need not be made first
		}
		consumer, err = stream.CreateConsumer(ctx, wanted(c))
		if errors.Is(err, jetstream.ErrConsumerExists) { // another process was faster
			consumer, err = stream.Consumer(ctx, c.Durable)
		}
	}
	if err != nil {
		return nil, errors.Join(found.err(false), fmt.Errorf("%s: %w", name, err))
	}
	b := newBinding(info, consumer.CachedInfo(), c)
	found = append(found, checkConsumer(b, c)...)
	b.warnings = found.warnings(false)
	return b, found.err(false)
}

// wanted is the consumer that is made where there is none.
func wanted(c *SourceConfig) jetstream.ConsumerConfig {
	cfg := jetstream.ConsumerConfig{
		Durable:        c.Durable,
		AckPolicy:      ackPolicy(c.Ack),
		AckWait:        cmp.Or(c.AckWait, defaultAckWait),
		MaxAckPending:  cmp.Or(c.MaxAckPending, defaultMaxAckPending),
		MaxDeliver:     -1,
		FilterSubjects: c.Filters,
	}
	if len(c.Filters) == 1 {
		cfg.FilterSubject, cfg.FilterSubjects = c.Filters[0], nil
	}
	return cfg
}

func ackPolicy(m AckMode) jetstream.AckPolicy {
	if m == Cumulative {
		return jetstream.AckAllPolicy
	}
	return jetstream.AckExplicitPolicy
}

func newBinding(stream *jetstream.StreamInfo, consumer *jetstream.ConsumerInfo, c *SourceConfig) *binding {
	cfg := &consumer.Config
	b := &binding{
		stream: stream, consumer: consumer,
		maxAckPending: cfg.MaxAckPending,
		ackWait:       cfg.AckWait,
		maxBatch:      max(cfg.MaxRequestBatch, 0),
		maxRequests:   mostRequests,
		expiry:        c.PullExpiry,
	}
	if len(cfg.BackOff) > 0 {
		b.ackWait = slices.Min(cfg.BackOff)
	}
	if cfg.MaxWaiting > 0 {
		b.maxRequests = min(b.maxRequests, cfg.MaxWaiting)
	}
	if cfg.MaxRequestExpires > 0 {
		b.expiry = min(b.expiry, cfg.MaxRequestExpires)
	}
	return b
}

// checkMode finds what the stream has against the mode.
func checkMode(info *jetstream.StreamInfo, c *SourceConfig) findings {
	var fs findings
	if c.Ack == Cumulative && info.Config.Retention == jetstream.WorkQueuePolicy {
		fs.add(never, fmt.Sprintf("stream %q", c.Stream), "Retention",
			"is work queue, whose messages are acknowledged one by one; Cumulative needs limits or interest")
	}
	return fs
}

// checkConsumer finds every setting of a consumer that is wrong, or is not what the config says.
func checkConsumer(b *binding, c *SourceConfig) findings {
	var fs findings
	got := &b.consumer.Config
	where := fmt.Sprintf("consumer %q of stream %q", c.Durable, c.Stream)
	refuse := func(wrong bool, setting, format string, args ...any) {
		if wrong {
			fs.add(never, where, setting, fmt.Sprintf(format, args...))
		}
	}
	refuse(got.DeliverSubject != "", "DeliverSubject", "is set: a push consumer can't be asked for messages")
	refuse(got.AckPolicy != ackPolicy(c.Ack), "AckPolicy", "is %v, SourceConfig.Ack %v needs %v", got.AckPolicy, c.Ack, ackPolicy(c.Ack))
	refuse(got.MaxAckPending < 1, "MaxAckPending", "is %d: nothing bounds what is in flight", got.MaxAckPending)
	refuse(got.MaxAckPending > highestMaxAckPending, "MaxAckPending", "is %d, the most is %d", got.MaxAckPending, highestMaxAckPending)
	refuse(c.MaxAckPending != 0 && got.MaxAckPending != c.MaxAckPending,
		"MaxAckPending", "is %d, SourceConfig says %d", got.MaxAckPending, c.MaxAckPending)
	refuse(len(got.BackOff) > 0 && c.AckWait != 0,
		"BackOff", "replaces AckWait, so SourceConfig.AckWait must be left out")
	refuse(len(got.BackOff) == 0 && c.AckWait != 0 && got.AckWait != c.AckWait,
		"AckWait", "is %v, SourceConfig says %v", got.AckWait, c.AckWait)
	refuse(b.ackWait < lowestAckWait, "AckWait, BackOff", "is %v at its shortest, at least %v is needed to keep messages alive", b.ackWait, lowestAckWait)
	refuse(len(c.Filters) > 0 && !sameSubjects(filters(got), c.Filters),
		"FilterSubjects", "is %q, SourceConfig says %q", filters(got), c.Filters)
	refuse(got.MaxDeliver > 0 && (c.DeadLetters == nil || c.Attempts == 0 || c.Attempts >= got.MaxDeliver),
		"MaxDeliver", "is %d: behind that a message is never delivered again and stays in the stream; it takes DeadLetters and fewer Attempts, or -1", got.MaxDeliver)
	refuse(got.HeadersOnly, "HeadersOnly", "is set: there would be no payloads")
	refuse(got.PriorityPolicy != jetstream.PriorityPolicyNone, "PriorityPolicy", "is set, priority groups are not supported")
	refuse(b.expiry < lowestPullExpiry, "MaxRequestExpires", "is %v, at least %v is needed", b.expiry, lowestPullExpiry)
	if got.InactiveThreshold > 0 && !c.Recreate {
		fs.add(advice, where, "InactiveThreshold", fmt.Sprintf("is %v: when nobody has asked for that long the consumer is deleted, and what it knew", got.InactiveThreshold))
	}
	return fs
}

func filters(c *jetstream.ConsumerConfig) []string {
	if c.FilterSubject != "" {
		return []string{c.FilterSubject}
	}
	return c.FilterSubjects
}

func sameSubjects(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// recreate makes a consumer that was deleted once more. On streams that keep what was acknowledged it starts behind position.
func recreate(ctx context.Context, nc *nats.Conn, c *SourceConfig, old *binding, position uint64) (*binding, error) {
	ctx, cancel := context.WithTimeout(ctx, infoWait)
	defer cancel()
	js, err := api(nc, c.Domain)
	if err != nil {
		return nil, err
	}
	cfg := old.consumer.Config
	if old.stream.Config.Retention == jetstream.LimitsPolicy && position > 0 {
		cfg.DeliverPolicy, cfg.OptStartSeq, cfg.OptStartTime = jetstream.DeliverByStartSequencePolicy, position+1, nil
	}
	consumer, err := js.CreateConsumer(ctx, c.Stream, cfg)
	if errors.Is(err, jetstream.ErrConsumerExists) { // somebody else was faster
		consumer, err = js.Consumer(ctx, c.Stream, c.Durable)
	}
	if err != nil {
		return nil, fmt.Errorf("jetstream: consumer %q of stream %q: recreate: %w", c.Durable, c.Stream, err)
	}
	b := newBinding(old.stream, consumer.CachedInfo(), c)
	return b, checkConsumer(b, c).err(false)
}

// deletedError says what has been deleted.
func deletedError(c *SourceConfig, code jetstream.ErrorCode) error {
	if code == jetstream.JSErrCodeStreamNotFound {
		return fmt.Errorf("jetstream: stream %q: %w", c.Stream, broker.ErrDeleted)
	}
	return fmt.Errorf("jetstream: consumer %q of stream %q: %w", c.Durable, c.Stream, broker.ErrDeleted)
}
