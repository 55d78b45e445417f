package jetstream

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
)

// config reads a stream back from the server.
func (l *lab) config(name string) jetstream.StreamConfig {
	l.t.Helper()
	var s jetstream.Stream
	l.answered(func(ctx context.Context) (err error) {
		s, err = l.js.Stream(ctx, name)
		return err
	})
	return s.CachedInfo().Config
}

func TestEnsureStreamMakesAStream(t *testing.T) {
	l := newLab(t)
	c := StreamConfig{
		Name: "ORDERS", Subjects: []string{"orders.>"}, MaxMessages: 1000, MaxBytes: 1 << 20, MaxMessageSize: 1 << 10,
		MaxAge: time.Hour, Duplicates: time.Minute, Memory: true,
	}
	if err := EnsureStream(t.Context(), l.nc, c); err != nil {
		t.Fatal(err)
	}
	got := l.config("ORDERS")
	if got.MaxMsgs != 1000 || got.MaxBytes != 1<<20 || got.MaxMsgSize != 1<<10 || got.MaxAge != time.Hour || got.Duplicates != time.Minute ||
		got.Storage != jetstream.MemoryStorage || got.Retention != jetstream.WorkQueuePolicy || got.Discard != jetstream.DiscardNew {
		t.Errorf("the stream is %+v", got)
	}
	if err := EnsureStream(t.Context(), l.nc, c); err != nil {
		t.Errorf("once more: %v", err)
	}
}

func TestTheSizeOfAMessageIsLimitedBesideMaxBytes(t *testing.T) {
	l := newLab(t)
	for _, tt := range []struct {
		maxBytes int64
		want     int32
	}{{1 << 30, 1 << 20}, {64 << 10, 60 << 10}} {
		c := StreamConfig{Name: "S", Subjects: []string{"s"}, MaxBytes: tt.maxBytes}
		if err := EnsureStream(t.Context(), l.nc, c); err != nil {
			t.Fatal(err)
		}
		if got := l.config("S").MaxMsgSize; got != tt.want {
			t.Errorf("MaxBytes %d: MaxMsgSize %d, want %d", tt.maxBytes, got, tt.want)
		}
		if err := l.js.DeleteStream(t.Context(), "S"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEnsureStreamRaisesLimits(t *testing.T) {
	l := newLab(t)
	c := StreamConfig{Name: "S", Subjects: []string{"s.>"}, MaxMessages: 10}
	if err := EnsureStream(t.Context(), l.nc, c); err != nil {
		t.Fatal(err)
	}
	l.fill(1, 10)
	c.MaxMessages, c.Duplicates, c.Subjects = 20, 5*time.Minute, []string{"s.x", "t"}
	if err := EnsureStream(t.Context(), l.nc, c); err != nil {
		t.Fatal(err)
	}
	got := l.config("S")
	if got.MaxMsgs != 20 || got.Duplicates != 5*time.Minute {
		t.Errorf("MaxMsgs %d, Duplicates %v, want 20 and 5m0s", got.MaxMsgs, got.Duplicates)
	}
	if strings.Join(got.Subjects, " ") != "s.> t" {
		t.Errorf("subjects %v, want s.> and t", got.Subjects)
	}
	l.fill(11, 20)
	if err := EnsureStream(t.Context(), l.nc, StreamConfig{Name: "S", Subjects: []string{"t"}, MaxBytes: 1 << 20}); err == nil {
		t.Error("a limit on bytes that the stream didn't have was set")
	}
}

func TestEnsureStreamLowersNothing(t *testing.T) {
	l := newLab(t)
	have := StreamConfig{
		Name: "S", Subjects: []string{"s.>"}, MaxMessages: 1000, MaxAge: time.Hour, MaxMessageSize: 1 << 10, Duplicates: time.Minute,
	}
	if err := EnsureStream(t.Context(), l.nc, have); err != nil {
		t.Fatal(err)
	}
	before := l.config("S")
	err := EnsureStream(t.Context(), l.nc, StreamConfig{
		Name: "S", Subjects: []string{"new"}, MaxMessages: 500, MaxBytes: 1 << 20, MaxMessageSize: 512, MaxAge: time.Minute, Duplicates: time.Second,
		Full: broker.DropsOldest, Retention: Limits, Memory: true,
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`stream "S"`,
		"MaxMsgs: the stream has 1000, 500 was asked for",
		"MaxBytes: the stream has no limit, 1048576 was asked for",
		"MaxMsgSize: the stream has 1024, 512 was asked for",
		"MaxAge: the stream has 1h0m0s, 1m0s was asked for",
		"Duplicates: the stream has 1m0s, 1s was asked for",
		"Discard: the stream has DiscardNew, DiscardOld was asked for",
		"Retention: the stream has WorkQueue, Limits was asked for",
		"Storage: the stream has File, Memory was asked for",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %q", err, want)
		}
	}
	if after := l.config("S"); after.MaxMsgs != before.MaxMsgs || strings.Join(after.Subjects, " ") != "s.>" {
		t.Errorf("the stream was changed all the same: %+v", after)
	}
}

func TestStreamConfigValidate(t *testing.T) {
	ok := StreamConfig{Name: "S", Subjects: []string{"s"}, MaxMessages: 1}
	if err := ok.Validate(); err != nil {
		t.Errorf("the smallest one: %v", err)
	}
	free := StreamConfig{Name: "S", Subjects: []string{"s"}}
	if err := free.Validate(); !errors.Is(err, broker.ErrUnbounded) || !strings.Contains(err.Error(), `stream "S": MaxMsgs, MaxBytes`) {
		t.Errorf("without a limit: %v", err)
	}
	free.Unbounded = true
	if err := free.Validate(); err != nil {
		t.Errorf("Unbounded: %v", err)
	}
	stuck := StreamConfig{Name: "S", Subjects: []string{"s"}, MaxMessages: 1, Retention: Limits}
	if err := stuck.Validate(); err == nil || !strings.Contains(err.Error(), "Retention") {
		t.Errorf("limits that refuse: %v", err)
	}
	stuck.Full = broker.DropsOldest
	if err := stuck.Validate(); err != nil {
		t.Errorf("limits that drop: %v", err)
	}

	bad := StreamConfig{
		Name: "a.b", Subjects: []string{"a..b"}, MaxMessages: -1, MaxBytes: -2, MaxMessageSize: -3, MaxAge: time.Millisecond,
		Duplicates: time.Microsecond, Full: 7, Retention: -1, Replicas: 2,
	}
	err := bad.Validate()
	for _, want := range []string{
		"Name", "Subjects", "MaxMessages", "MaxBytes", "MaxMessageSize", "MaxAge", "Duplicates", "Full", "Retention", "Replicas",
	} {
		if !strings.Contains(err.Error(), "StreamConfig."+want+" ") {
			t.Errorf("%v\ndoes not name %s", err, want)
		}
	}
	for _, c := range []StreamConfig{
		{Name: "S", MaxMessages: 1},
		{Name: "S", Subjects: []string{"s"}, MaxMessages: 1, MaxAge: time.Second, Duplicates: time.Minute},
		{Name: "S", Subjects: []string{"s"}, MaxBytes: 100},
	} {
		if c.Validate() == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

func TestEnsureStreamByManyAtOnce(t *testing.T) {
	l := newLab(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			c := StreamConfig{Name: "S", Subjects: []string{"s"}, MaxMessages: 100, Duplicates: time.Minute}
			if i%2 == 1 {
				c.Subjects = []string{"t"}
			}
			if err := EnsureStream(t.Context(), l.nc, c); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// The folder of all streams goes with the last one, and may do so while the next one is being made.
func TestEnsureStreamBehindADeletedOne(t *testing.T) {
	l := newLab(t)
	for i := range 60 {
		c := StreamConfig{Name: "S", Subjects: []string{"s"}, MaxMessages: 1, Memory: i%2 == 1}
		if err := EnsureStream(t.Context(), l.nc, c); err != nil {
			t.Fatalf("stream %d: %v", i, err)
		}
		if err := l.js.DeleteStream(t.Context(), "S"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDropped(t *testing.T) {
	want := StreamConfig{Name: "S", Subjects: []string{"s"}, MaxMessages: 7, MaxBytes: 1 << 20, Duplicates: time.Minute, Replicas: 3}.settings()
	got := want
	if err := dropped(want, got); err != nil {
		t.Errorf("the same: %v", err)
	}
	got.MaxMsgs, got.Duplicates, got.Subjects, got.Replicas = -1, 2*time.Minute, nil, 1
	err := dropped(want, got)
	for _, text := range []string{"MaxMsgs: the server has made 0 of 7", "Duplicates", "Subjects", "Replicas"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v does not say %q", err, text)
		}
	}
}
