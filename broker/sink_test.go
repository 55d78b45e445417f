package broker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

func subject(v string) string { return "out." + v }

// numbered returns v0 to v(n-1).
func numbered(n int) []string {
	vs := make([]string, n)
	for i := range vs {
		vs[i] = fmt.Sprintf("v%d", i)
	}
	return vs
}

func indices(t *testing.T, err error) []int {
	t.Helper()
	bad, ok := errors.AsType[*stage.BatchError](err)
	if !ok {
		t.Fatalf("got %v, want a BatchError", err)
	}
	var is []int
	for _, it := range bad.Items {
		is = append(is, it.Index)
	}
	return is
}

func TestBlockWaitsForRoomAndKeepsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dst := &shelf{room: 3}
		s := broker.NewSink(dst, text, broker.SinkOptions[string]{Subject: subject})
		for i := range 4 {
			time.AfterFunc(time.Duration(i+1)*time.Second, func() { dst.free(2) })
		}
		must(t, s.Push(t.Context(), numbered(10)))
		wantSlice(t, "stored", dst.payloads(), numbered(10))
		for i := 1; i < len(dst.times); i++ {
			if pause := dst.times[i].Sub(dst.times[i-1]); pause < 0 || pause > 250*time.Millisecond {
				t.Errorf("waited %v, want 0 to 250ms", pause)
			}
		}
		if n := len(dst.times); n < 4*4 || n > 400 {
			t.Errorf("%d attempts in 4 s", n)
		}
		if st := s.Stats(); st.Stored != 10 || st.Full == 0 || st.Blocked != time.Since(dst.times[0]) {
			t.Errorf("stats %+v", st)
		}
	})
}

func TestBlockEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dst := &shelf{room: 2}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(errBoom) })
		err := broker.NewSink(dst, text, broker.SinkOptions[string]{Subject: subject}).Push(ctx, numbered(4))
		if !errors.Is(err, errBoom) {
			t.Errorf("got %v", err)
		}
		wantSlice(t, "failed", indices(t, err), []int{2, 3})
	})
}

func TestPoliciesAtAFullStream(t *testing.T) {
	var dropped []string
	dst := &shelf{room: 2}
	s := broker.NewSink(dst, text, broker.SinkOptions[string]{Subject: subject, OnFull: flow.DropNewest, Dropped: func(v string) { dropped = append(dropped, v) }})
	must(t, s.Push(t.Context(), numbered(4)))
	wantSlice(t, "stored", dst.payloads(), []string{"v0", "v1"})
	wantSlice(t, "dropped", dropped, []string{"v2", "v3"})
	if st := s.Stats(); st.Stored != 2 || st.Dropped != 2 || st.Failed != 0 {
		t.Errorf("stats %+v", st)
	}

	s = broker.NewSink(&shelf{room: 2}, text, broker.SinkOptions[string]{Subject: subject, OnFull: flow.Reject})
	err := s.Push(t.Context(), numbered(4))
	wantSlice(t, "failed", indices(t, err), []int{2, 3})
	if !errors.Is(err, broker.ErrFull) {
		t.Errorf("%v is not ErrFull", err)
	}
}

func TestThePolicyAndTheStreamMustAgree(t *testing.T) {
	for name, c := range map[string]struct {
		onFull flow.Policy
		limits broker.Limits
		ok     bool
	}{
		"block, refuses":        {flow.Block, broker.Limits{Messages: 10}, true},
		"block, drops":          {flow.Block, broker.Limits{Messages: 10, Full: broker.DropsOldest}, false},
		"drop-newest, drops":    {flow.DropNewest, broker.Limits{Bytes: 10, Full: broker.DropsOldest}, false},
		"drop-oldest, drops":    {flow.DropOldest, broker.Limits{Bytes: 10, Full: broker.DropsOldest}, true},
		"drop-oldest, refuses":  {flow.DropOldest, broker.Limits{Bytes: 10}, false},
		"block, without limits": {flow.Block, broker.Limits{Full: broker.DropsOldest}, true},
	} {
		dst := &shelf{limits: c.limits}
		err := broker.NewSink(dst, text, broker.SinkOptions[string]{Subject: subject, OnFull: c.onFull}).Open(t.Context())
		if e := broker.NewSink(&shelf{limits: c.limits}, text, broker.SinkOptions[string]{Subject: subject, OnFull: c.onFull, Tolerate: true}).Open(t.Context()); e != nil {
			t.Errorf("%s: %v, although it is tolerated", name, e)
		}
		if (err == nil) != c.ok || !c.ok && (!strings.Contains(err.Error(), "OnFull") || dst.closed != 1) {
			t.Errorf("%s: got %v, closed %d times", name, err, dst.closed)
		}
	}
}

func TestFailuresAreOfSingleItems(t *testing.T) {
	dst := &shelf{room: 100, fail: func(m broker.Message) error {
		if string(m.Data) == "v3" {
			return fmt.Errorf("%w: too large", broker.ErrRefused)
		}
		return nil
	}}
	s := broker.NewSink(dst, text, broker.SinkOptions[string]{Subject: subject})
	err := s.Push(t.Context(), []string{"v1", "secret", "v2", "v3", "v4"})
	wantSlice(t, "failed", indices(t, err), []int{1, 3})
	if !errors.Is(err, broker.ErrRefused) || !errors.Is(err, errBoom) {
		t.Errorf("got %v", err)
	}
	wantSlice(t, "stored", dst.payloads(), []string{"v1", "v2", "v4"})
	dst.err = errBoom
	wantSlice(t, "failed", indices(t, s.Push(t.Context(), []string{"v1", "v2"})), []int{0, 1})
}

func TestMetadataAndIdentityGoIntoTheMessage(t *testing.T) {
	dst := &shelf{room: 100}
	s := broker.NewSink(dst, text, broker.SinkOptions[string]{
		Subject: subject,
		ID:      func(v string) string { return "id-" + v },
		Header:  func(v string, h broker.Header) { h.Set("X", v) },
	})
	m := stage.Meta{ID: "ignored", Key: "acme", Criticality: stage.Sheddable, Trace: "00-a-b-01"}
	must(t, s.PushItems(t.Context(), []stage.Item[string]{stage.NewItem("a", m), stage.NewItem("b", stage.Meta{})}))
	a, b := dst.stored[0], dst.stored[1]
	if a.ID != "id-a" || a.Subject != "out.a" || a.Header.Get(broker.HeaderKey) != "acme" || a.Header.Get(broker.HeaderCriticality) != "Sheddable" ||
		a.Header.Get(broker.HeaderTrace) != m.Trace || a.Header.Get("X") != "a" {
		t.Errorf("message %+v", a)
	}
	if len(b.Header) != 1 {
		t.Errorf("headers %v of an item without metadata", b.Header)
	}
}

func TestSinkOptionsAreCheckedAllAtOnce(t *testing.T) {
	err := broker.NewSink[string](nil, nil, broker.SinkOptions[string]{OnFull: 99, PushSize: -1, Dropped: func(string) {}}).Validate()
	for _, want := range []string{"sender", "codec", "Subject", "OnFull", "PushSize", "Dropped"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not mention %s", err, want)
		}
	}
	must(t, broker.NewSink(&shelf{}, text, broker.SinkOptions[string]{Subject: subject}).Validate())
}

// The messages of a push share what it allocates. The pool forgets at times, the more under the race detector.
func TestPushesAllocateNothingPerMessage(t *testing.T) {
	s := broker.NewSink(nowhere{}, broker.Bytes(), broker.SinkOptions[[]byte]{Subject: func([]byte) string { return "out" }})
	vs := make([][]byte, 2048)
	for i := range vs {
		vs[i] = make([]byte, 100)
	}
	must(t, s.Push(t.Context(), vs))
	per := testing.AllocsPerRun(100, func() { _ = s.Push(t.Context(), vs) })
	if per > 100 {
		t.Errorf("%v allocations for a push of 2048, want at most 100", per)
	}
}

// nowhere stores nothing.
type nowhere struct{}

func (nowhere) Open(context.Context) error                   { return nil }
func (nowhere) Send(context.Context, []broker.Message) error { return nil }
func (nowhere) Limits() broker.Limits                        { return broker.Limits{} }
func (nowhere) Close() error                                 { return nil }
