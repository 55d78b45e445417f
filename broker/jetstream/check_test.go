package jetstream

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow"
)

func TestCheckStream(t *testing.T) {
	good := jetstream.StreamInfo{Config: jetstream.StreamConfig{
		Name: "S", MaxMsgs: 10, MaxBytes: 1 << 20, MaxMsgSize: 1 << 10, MaxMsgsPerSubject: -1, Replicas: 3,
		Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew,
	}}
	type info = jetstream.StreamInfo
	tests := []struct {
		name    string
		change  func(*info)
		use     streamUse
		setting string // "" means that nothing is wrong
		level   severity
	}{
		{"good", func(*info) {}, streamUse{role: sending}, "", 0},
		{"no limit", func(i *info) { i.Config.MaxMsgs, i.Config.MaxBytes = -1, -1 }, streamUse{role: fetching}, "MaxMsgs, MaxBytes", never},
		{"no limit, on purpose", func(i *info) { i.Config.MaxMsgs, i.Config.MaxBytes = -1, -1 }, streamUse{role: sending, unbounded: true}, "", 0},
		{"MaxAge only", func(i *info) { i.Config.MaxMsgs, i.Config.MaxBytes, i.Config.MaxAge = 0, 0, time.Hour }, streamUse{role: making}, "MaxMsgs, MaxBytes", never},
		{"MaxMsgsPerSubject only", func(i *info) {
			i.Config.MaxMsgs, i.Config.MaxBytes, i.Config.MaxMsgsPerSubject, i.Config.DiscardNewPerSubject = -1, -1, 5, true
		}, streamUse{role: sending}, "MaxMsgs, MaxBytes", never},
		{"NoAck", func(i *info) { i.Config.NoAck = true }, streamUse{role: sending}, "NoAck", never},
		{"NoAck does not matter to a reader", func(i *info) { i.Config.NoAck = true }, streamUse{role: fetching}, "", 0},
		{"sealed", func(i *info) { i.Config.Sealed = true }, streamUse{role: sending}, "Sealed", never},
		{"mirror", func(i *info) { i.Config.Mirror = &jetstream.StreamSource{Name: "T"} }, streamUse{role: sending}, "Mirror", never},
		{"Block on old", func(i *info) { i.Config.Discard = jetstream.DiscardOld }, streamUse{role: sending}, "Discard", unless},
		{"DropNewest on old", func(i *info) { i.Config.Discard = jetstream.DiscardOld }, streamUse{role: sending, policy: flow.DropNewest}, "Discard", unless},
		{"DropOldest on old", func(i *info) { i.Config.Discard = jetstream.DiscardOld }, streamUse{role: sending, policy: flow.DropOldest}, "", 0},
		{"DropOldest on new", func(*info) {}, streamUse{role: sending, policy: flow.DropOldest}, "Discard", unless},
		{"Block on limits", func(i *info) { i.Config.Retention = jetstream.LimitsPolicy }, streamUse{role: sending}, "Retention", unless},
		{"Block on limits with MaxAge", func(i *info) { i.Config.Retention, i.Config.MaxAge = jetstream.LimitsPolicy, time.Hour }, streamUse{role: sending}, "", 0},
		{"Reject on limits", func(i *info) { i.Config.Retention = jetstream.LimitsPolicy }, streamUse{role: sending, policy: flow.Reject}, "", 0},
		{"limit per subject that drops", func(i *info) { i.Config.MaxMsgsPerSubject = 5 }, streamUse{role: sending}, "MaxMsgsPerSubject", unless},
		{"limit per subject that refuses", func(i *info) { i.Config.MaxMsgsPerSubject, i.Config.DiscardNewPerSubject = 5, true }, streamUse{role: sending}, "", 0},
		{"MaxBytes without MaxMsgSize", func(i *info) { i.Config.MaxMsgSize = -1 }, streamUse{role: making}, "MaxMsgSize", unless},
		{"MaxMsgSize above MaxBytes", func(i *info) { i.Config.MaxMsgSize = 1<<20 + 1 }, streamUse{role: sending}, "MaxMsgSize", unless},
		{"interest of nobody", func(i *info) { i.Config.Retention = jetstream.InterestPolicy }, streamUse{role: sending}, "Retention", unless},
		{"interest of nobody yet", func(i *info) { i.Config.Retention = jetstream.InterestPolicy }, streamUse{role: making}, "", 0},
		{"interest of somebody", func(i *info) { i.Config.Retention, i.State.Consumers = jetstream.InterestPolicy, 1 }, streamUse{role: sending}, "", 0},
		{"one replica", func(i *info) { i.Config.Replicas = 1 }, streamUse{role: fetching}, "Replicas", advice},
		{"memory", func(i *info) { i.Config.Storage = jetstream.MemoryStorage }, streamUse{role: sending}, "Storage", advice},
	}
	fired := make(map[string]bool)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			i := good
			tt.change(&i)
			got := checkStream(&i, tt.use)
			if tt.setting == "" {
				if len(got) != 0 {
					t.Errorf("found %v", got)
				}
				return
			}
			if len(got) != 1 || got[0].setting != tt.setting || got[0].severity != tt.level {
				t.Fatalf("found %v, want one of %s, severity %d", got, tt.setting, tt.level)
			}
			fired[got[0].text] = true
			if text := got[0].Error(); !strings.Contains(text, `stream "S"`) || !strings.Contains(text, tt.setting) {
				t.Errorf("%q does not name stream and setting", text)
			}
			if (got.err(false) != nil) != (tt.level != advice) || (got.err(true) != nil) != (tt.level == never) {
				t.Errorf("severity %d: err(false) = %v, err(true) = %v", tt.level, got.err(false), got.err(true))
			}
			if n := len(got.warnings(false)); (n == 1) != (tt.level == advice) {
				t.Errorf("severity %d: %d warnings", tt.level, n)
			}
			if unbounded := errors.Is(got.err(false), broker.ErrUnbounded); unbounded != (tt.setting == "MaxMsgs, MaxBytes") {
				t.Errorf("is ErrUnbounded: %v", unbounded)
			}
		})
	}
	if len(fired) != len(streamChecks) {
		t.Errorf("%d of %d checks were seen", len(fired), len(streamChecks))
	}
}

func TestFindingsComeAllAtOnce(t *testing.T) {
	i := jetstream.StreamInfo{Config: jetstream.StreamConfig{Name: "S", NoAck: true, Sealed: true, MaxMsgsPerSubject: 1}}
	err := checkStream(&i, streamUse{role: sending}).err(false)
	for _, want := range []string{"MaxMsgs, MaxBytes", "NoAck", "Sealed", "MaxMsgsPerSubject"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}
