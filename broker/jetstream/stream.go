package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// EnsureStream makes a stream, or sees to it that the one of that name is as it was asked for.
//
// A stream that is in place is updated where that can do no harm: limits are raised, subjects and replicas are added. A limit that
// is above what was asked for, or another rule, retention or storage than that, is an error which names both values: lowering
// a limit may delete messages, or stop whoever else writes to the stream. All findings come in one error.
//
// It waits for a server that can't be reached, and asks again where an answer is lost, until ctx ends. A stream without a limit is refused with [broker.ErrUnbounded].
func EnsureStream(ctx context.Context, nc *nats.Conn, c StreamConfig) error {
	if err := c.Validate(); err != nil {
		return err
	}
	js, err := open(ctx, nc, c.Domain)
	if err != nil {
		return err
	}
	var info *jetstream.StreamInfo
	name := fmt.Sprintf("jetstream: stream %q", c.Name)
	err = persist(ctx, name, func(ctx context.Context) error {
		if info, err = ensureOnce(ctx, js, c); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return checkStream(info, c.use()).err(false)
}

func ensureOnce(ctx context.Context, js jetstream.JetStream, c StreamConfig) (*jetstream.StreamInfo, error) {
	info, err := makeStream(ctx, js, c.settings())
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return adjustStream(ctx, js, c)
	}
	return info, err
}

// The folder of streams may take a moment to go, when the last stream was deleted just now. A stream made meanwhile finds it missing.
const (
	storeRetry   = 10 * time.Millisecond
	storeRetries = 50
)

func makeStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig) (*jetstream.StreamInfo, error) {
	stream, err := js.CreateStream(ctx, want)
	for n := 0; n < storeRetries && hasCode(err, codeStreamStore); n++ {
		if err := sleep(ctx, storeRetry); err != nil {
			return nil, err
		}
		stream, err = js.CreateStream(ctx, want)
	}
	if err != nil {
		return nil, err
	}
	return stream.CachedInfo(), dropped(want, stream.CachedInfo().Config)
}

// adjustStream updates a stream that is in place, unless it contradicts c.
func adjustStream(ctx context.Context, js jetstream.JetStream, c StreamConfig) (*jetstream.StreamInfo, error) {
	stream, err := js.Stream(ctx, c.Name)
	if err != nil {
		return nil, err
	}
	have := stream.CachedInfo().Config
	want, changed, err := c.onto(have)
	if err != nil || !changed {
		return stream.CachedInfo(), err
	}
	if stream, err = js.UpdateStream(ctx, want); err != nil {
		return nil, err
	}
	return stream.CachedInfo(), dropped(want, stream.CachedInfo().Config)
}

// onto applies c to the settings of a stream.
func (c StreamConfig) onto(have jetstream.StreamConfig) (want jetstream.StreamConfig, changed bool, err error) {
	want = have
	fresh := c.settings()
	errs := []error{
		same("Retention", have.Retention, fresh.Retention),
		same("Discard", have.Discard, fresh.Discard),
		same("Storage", have.Storage, fresh.Storage),
		raise("MaxMsgs", &want.MaxMsgs, c.MaxMessages, &changed),
		raise("MaxBytes", &want.MaxBytes, c.MaxBytes, &changed),
		raise("MaxMsgSize", &want.MaxMsgSize, int32(c.MaxMessageSize), &changed),
		raise("MaxAge", &want.MaxAge, c.MaxAge, &changed),
		raise("Replicas", &want.Replicas, c.Replicas, &changed),
		raise("Duplicates", &want.Duplicates, c.Duplicates, &changed),
	}
	for _, s := range c.Subjects {
		if !anyCovers(want.Subjects, s) {
			want.Subjects = append(slices.Clip(want.Subjects), s)
			changed = true
		}
	}
	return want, changed, errors.Join(errs...)
}

func same[T comparable](setting string, have, want T) error {
	if have == want {
		return nil
	}
	return fmt.Errorf("%s: the stream has %v, %v was asked for", setting, have, want)
}

// raise sets a limit to what was asked for, unless that lowers it. 0 was not asked for.
func raise[T int | int32 | int64 | time.Duration](setting string, limit *T, want T, changed *bool) error {
	have := *limit
	switch {
	case want == 0 || want == have:
		return nil
	case have <= 0:
		return fmt.Errorf("%s: the stream has no limit, %v was asked for: limits of a stream in use are not lowered", setting, want)
	case want < have:
		return fmt.Errorf("%s: the stream has %v, %v was asked for: limits of a stream in use are not lowered", setting, have, want)
	}
	*limit = want
	*changed = true
	return nil
}

// dropped reports settings that the server has taken without a word and not heeded.
func dropped(want, got jetstream.StreamConfig) error {
	errs := []error{
		kept("Retention", want.Retention, got.Retention),
		kept("Discard", want.Discard, got.Discard),
		kept("Storage", want.Storage, got.Storage),
		kept("Replicas", want.Replicas, got.Replicas),
		kept("MaxMsgs", max(want.MaxMsgs, 0), max(got.MaxMsgs, 0)),
		kept("MaxBytes", max(want.MaxBytes, 0), max(got.MaxBytes, 0)),
		kept("MaxMsgSize", max(want.MaxMsgSize, 0), max(got.MaxMsgSize, 0)),
		kept("MaxAge", want.MaxAge, got.MaxAge),
	}
	if want.Duplicates > 0 {
		errs = append(errs, kept("Duplicates", want.Duplicates, got.Duplicates))
	}
	for _, s := range want.Subjects {
		if !anyCovers(got.Subjects, s) {
			errs = append(errs, kept("Subjects", s, "nothing"))
		}
	}
	return errors.Join(errs...)
}

func kept[T comparable](setting string, want, got T) error {
	if want == got {
		return nil
	}
	return fmt.Errorf("%s: the server has made %v of %v", setting, got, want)
}

func hasCode(err error, code jetstream.ErrorCode) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.ErrorCode == code
}

// sleep waits for d, or returns the cause of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
