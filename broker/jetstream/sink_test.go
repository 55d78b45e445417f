package jetstream

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

var (
	_ stage.Sink[int]     = (*Sink[int])(nil)
	_ stage.ItemSink[int] = (*Sink[int])(nil)
	_ stage.Opener        = (*Sink[int])(nil)
	_ stage.Validator     = (*Sink[int])(nil)
)

func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i + 1
	}
	return all
}

// A stream that is full holds the source back, and nothing is lost or out of order.
func TestASinkWaitsForRoom(t *testing.T) {
	const total = 2000
	l := newLab(t)
	l.stream(depth(50))
	sink := NewSink(l.nc, broker.JSON[int](), SinkConfig[int]{Stream: "S", To: "s.x", Ordered: true, Window: 64})
	got := l.drain(total)
	if err := flow.FromSlice(numbers(total)).To(sink).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantNumbersIn(t, <-got, 1, total)
	st := sink.Stats()
	if st.Stored != total || st.Sender.Published != total || st.Full == 0 || st.Blocked == 0 {
		t.Errorf("%+v", st)
	}
}

func TestASinkDropsTheNewest(t *testing.T) {
	l := newLab(t)
	l.stream(depth(30))
	var dropped []int
	sink := NewSink(l.nc, broker.JSON[int](), SinkConfig[int]{
		Stream: "S", Subject: func(n int) string { return "s." + strconv.Itoa(n%2) }, ID: strconv.Itoa,
		OnFull: flow.DropNewest, Dropped: func(n int) { dropped = append(dropped, n) },
	})
	if err := flow.FromSlice(numbers(100)).To(sink).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantNumbersIn(t, bodies(t, l.js), 1, 30)
	if st := sink.Stats(); len(dropped) != 70 || st.Dropped != 70 || st.Stored != 30 {
		t.Errorf("%d were dropped, want 70: %+v", len(dropped), st)
	}
}

func TestASinkThatRejectsStopsTheRun(t *testing.T) {
	l := newLab(t)
	l.stream(depth(30))
	sink := NewSink(l.nc, broker.JSON[int](), SinkConfig[int]{Stream: "S", To: "s.x", OnFull: flow.Reject})
	err := flow.FromSlice(numbers(100)).To(sink, flow.Name("orders")).Run(t.Context())
	if !errors.Is(err, broker.ErrFull) || !strings.Contains(err.Error(), "orders") {
		t.Errorf("%v, want ErrFull of stage orders", err)
	}
}

func TestASinkOnAStreamThatDropsTheOldest(t *testing.T) {
	l := newLab(t)
	l.stream(depth(30), dropOld, limits)
	wrong := NewSink(l.nc, broker.JSON[int](), SinkConfig[int]{Stream: "S", To: "s.x"})
	if err := flow.FromSlice(numbers(100)).To(wrong).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "Discard") {
		t.Errorf("Block: %v", err)
	}
	sink := NewSink(l.nc, broker.JSON[int](), SinkConfig[int]{Stream: "S", To: "s.x", OnFull: flow.DropOldest})
	if err := flow.FromSlice(numbers(100)).To(sink).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantNumbersIn(t, bodies(t, l.js), 71, 100)
	if w := strings.Join(sink.Warnings(), "\n"); !strings.Contains(w, "Storage") {
		t.Errorf("warnings: %q", w)
	}
}

func TestASinkIsReadyWhileItIsOpen(t *testing.T) {
	l := newLab(t)
	l.stream()
	sink := NewSink(l.nc, broker.JSON[int](), SinkConfig[int]{Stream: "S", To: "s.x"})
	if sink.Ready(t.Context()) == nil {
		t.Error("ready before Open")
	}
	if err := sink.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := sink.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if err := sink.Close(); err != nil {
		t.Error(err)
	}
	if sink.Ready(t.Context()) == nil {
		t.Error("ready after Close")
	}
}

func TestSinkValidate(t *testing.T) {
	sink := NewSink[int](nil, nil, SinkConfig[int]{
		Stream: "a b", Subject: func(int) string { return "" }, To: "a..b", Window: -1, AckTimeout: time.Microsecond, PushSize: -1, OnFull: 9,
	})
	_, err := flow.FromSlice(numbers(1)).To(sink).Start(t.Context())
	for _, want := range []string{
		"connection is nil", "Stream", "Subject and To", "To", "Window", "AckTimeout", "PushSize", "OnFull", "codec",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not name %s", err, want)
		}
	}
	if err := NewSink(new(nats.Conn), broker.JSON[int](), SinkConfig[int]{Stream: "S"}).Validate(); err == nil || !strings.Contains(err.Error(), "Subject") {
		t.Errorf("without a subject: %v", err)
	}
}
