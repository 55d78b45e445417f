package broker_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/stage"
)

func TestMetadataCrossesInHeaders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := stage.Meta{
			Key: rapid.StringN(0, 20, 256).Draw(t, "key"), Trace: rapid.StringN(0, 60, 256).Draw(t, "trace"),
			Criticality: stage.Criticality(rapid.IntRange(-2, 1).Draw(t, "class")), Attempt: rapid.IntRange(0, 1<<31-1).Draw(t, "attempt"),
		}
		if rapid.Bool().Draw(t, "deadline?") {
			m.Deadline = time.Unix(rapid.Int64Range(1, 1<<33).Draw(t, "deadline"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
		}
		d := broker.Delivery{Header: broker.WriteMeta(nil, m), ID: "id", Attempt: 3}
		m.ID, m.Attempt = "id", max(m.Attempt, 3)
		got, ignored := broker.ReadMeta(&d, true)
		if !reflect.DeepEqual(got, m) || ignored != 0 {
			t.Fatalf("got %+v, %d ignored, want %+v", got, ignored, m)
		}
		if got, _ := broker.ReadMeta(&d, false); got != (stage.Meta{ID: "id", Attempt: 3}) {
			t.Fatalf("untrusted headers count: %+v", got)
		}
	})
}

func TestHeadersThatMakeNoSenseAreIgnored(t *testing.T) {
	d := broker.Delivery{Header: broker.Header{
		broker.HeaderKey: {strings.Repeat("k", 257)}, broker.HeaderCriticality: {"Almighty"}, broker.HeaderDeadline: {"soon"},
		broker.HeaderTrace: {""}, "Weir-Other": {"x"}, broker.HeaderAttempt: {"-1"},
	}}
	if m, ignored := broker.ReadMeta(&d, true); m != (stage.Meta{}) || ignored != 4 {
		t.Errorf("got %+v, %d ignored, want nothing and 4", m, ignored)
	}
	if h := broker.WriteMeta(nil, stage.Meta{Key: strings.Repeat("k", 257)}); h != nil {
		t.Errorf("headers %v", h)
	}
}
