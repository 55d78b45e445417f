package broker_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow"
)

// allocated returns how many bytes fn allocates.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// What is made to be dear to decode is refused, and cheaply: within 4 MiB, whatever it is decoded into.
func TestHostilePayloadsAreRefusedCheaply(t *testing.T) {
	for name, payload := range map[string]string{
		"deep":             strings.Repeat("[", 1<<20),
		"deep, and closed": strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
		"deep objects":     strings.Repeat(`{"a":`, 1<<17),
		"just too deep":    strings.Repeat("[", 65) + strings.Repeat("]", 65),
		"a huge number":    "1e400",
		"a long number":    "1e" + strings.Repeat("4", 1<<18),
		"two documents":    "[1] [2]",
		"trailing data":    "[1]x",
		"nothing":          "",
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			data := []byte(payload)
			used := allocated(func() {
				var v any
				err = broker.JSON[any]().Decode(data, &v)
			})
			if err == nil || used > 4<<20 {
				t.Errorf("Decode() = %v with %d bytes allocated, want an error and at most 4 MiB", err, used)
			}
			if err != nil && len(err.Error()) > 200 {
				t.Errorf("the error has %d bytes of what was decoded", len(err.Error()))
			}
		})
	}
	var v any
	if err := broker.JSON[any]().Decode([]byte(strings.Repeat("[", 64)+strings.Repeat("]", 64)), &v); err != nil {
		t.Errorf("64 levels: %v", err)
	}
}

// The size of a payload is looked at before anything is decoded: the codec does not see one that is too large.
func TestTheSizeIsCheckedBeforeDecoding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, dead := newDesk(strings.Repeat("[", 1<<20+1), "x"), &shelf{room: 10}
		var seen []int
		codec := broker.CodecFunc(nil, func(data []byte, v *string) error {
			seen = append(seen, len(data))
			*v = string(data)
			return nil
		})
		s := broker.NewSource(d, codec, broker.SourceOptions{DeadLetters: dead, DeadSubject: "dead"})
		must(t, flow.FromItems(s).ForEach(func(context.Context, string) error { return nil }).Run(t.Context()))
		wantSlice(t, "sizes that were decoded", seen, []int{1})
		wantSlice(t, "ends", d.endings(), []string{"1 terminated", "2 done"})
	})
}

// A message that comes with orders to the broker, and with everything that metadata crosses in, is worked on by a pipeline, which sends
// its result. Right: what was not trusted is not there any more.
func TestHeadersOfTheInputAreNotThoseOfTheOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, out := newDesk("a"), &shelf{room: 10}
		d.waiting[0].Header = broker.Header{
			"Nats-Rollup": {"all"}, "Nats-Msg-Id": {"forged"}, "Nats-Expected-Stream": {"S"}, "X-Tenant": {"root"},
			broker.HeaderKey: {"forged"}, broker.HeaderCriticality: {"critical+"}, broker.HeaderDeadline: {"2030-01-01T00:00:00Z"},
			broker.HeaderTrace: {"forged"}, broker.HeaderAttempt: {"7"}, broker.HeaderDeadHops: {"3"},
		}
		sink := broker.NewSink(out, text, broker.SinkOptions[string]{Subject: func(string) string { return "out" }})
		must(t, flow.FromItems(broker.NewSource(d, text, broker.SourceOptions{})).To(sink).Run(t.Context()))
		if len(out.stored) != 1 || len(out.stored[0].Header) != 0 {
			t.Errorf("stored %+v, want one message without headers", out.stored)
		}
	})
}
