package admission_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/stage"
)

// What crosses HTTP and what crosses a broker have the same names, where they are the same.
func TestHeadersAreThoseOfTheBroker(t *testing.T) {
	equal(t, "the key", admission.HeaderKey, broker.HeaderKey)
	equal(t, "the class", admission.HeaderCriticality, broker.HeaderCriticality)
	equal(t, "the attempt", admission.HeaderAttempt, broker.HeaderAttempt)
	equal(t, "the trace", admission.HeaderTrace, broker.HeaderTrace)
}

// Metadata that is written is read again, but for the deadline, which loses less than a millisecond and the time in between.
func TestMetadataCrosses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([!-~]([ -~]{0,40}[!-~])?)?`)
		m := stage.Meta{
			ID: text.Draw(t, "id"), Key: text.Draw(t, "key"), Trace: text.Draw(t, "trace"),
			Criticality: stage.Criticality(rapid.IntRange(-2, 1).Draw(t, "class")), Attempt: rapid.IntRange(2, 1<<31-1).Draw(t, "attempt"),
		}
		left := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "left"))
		if limited := rapid.Bool().Draw(t, "limited"); limited {
			m.Deadline = time.Now().Add(left)
		}
		h := http.Header{}
		admission.FormatMeta(m, h.Set)
		got := admission.ParseMeta(h.Get, stage.Meta{})
		if d := m.Deadline.Sub(got.Deadline).Abs(); !m.Deadline.IsZero() && d > time.Minute || m.Deadline.IsZero() != got.Deadline.IsZero() {
			t.Fatalf("the deadline %v became %v", m.Deadline, got.Deadline)
		}
		got.Deadline = m.Deadline
		if got != m {
			t.Fatalf("%+v became %+v", m, got)
		}
	})
}

func TestWhatDoesNotCross(t *testing.T) {
	h := http.Header{}
	admission.FormatMeta(stage.Meta{
		ID: "two\nlines", Key: strings.Repeat("k", 257), Trace: " cut", Attempt: 1, Criticality: stage.Critical,
	}, h.Set)
	if len(h) != 0 {
		t.Errorf("headers %v, want none", h)
	}
	admission.FormatMeta(stage.Meta{Criticality: 100, Deadline: time.Unix(0, 0)}, h.Set)
	wantHeaders(t, h, admission.HeaderCriticality, "CriticalPlus", admission.HeaderTimeout, "0")
}

func TestHeadersThatMakeNoSenseAreLeftOut(t *testing.T) {
	h := http.Header{}
	for _, pair := range [][2]string{
		{admission.HeaderKey, strings.Repeat("k", 257)},
		{admission.HeaderCriticality, "Almighty"},
		{admission.HeaderAttempt, "-1"},
		{admission.HeaderTimeout, "soon"},
		{admission.HeaderID, ""},
	} {
		h.Set(pair[0], pair[1])
	}
	was := stage.Meta{Key: "k", Criticality: stage.Sheddable, Attempt: 1, ID: "id"}
	equal(t, "the metadata", admission.ParseMeta(h.Get, was), was)
	h.Set(admission.HeaderTimeout, "99999999999999999")
	if got := time.Until(admission.ParseMeta(h.Get, was).Deadline); got > 24*time.Hour || got < 23*time.Hour {
		t.Errorf("the time left is %v", got)
	}
}

// Whatever headers say, the result is within its bounds, and can be written and read again.
func FuzzParseMeta(f *testing.F) {
	f.Add("Critical", "3", "1000", "key", "id", "trace")
	f.Add("Sheddable", "-1", "18446744073709551616", strings.Repeat("k", 300), "\r\nX: y", "")
	f.Fuzz(func(t *testing.T, class, attempt, timeout, key, id, trace string) {
		in := map[string]string{
			admission.HeaderCriticality: class, admission.HeaderAttempt: attempt, admission.HeaderTimeout: timeout,
			admission.HeaderKey: key, admission.HeaderID: id, admission.HeaderTrace: trace,
		}
		m := admission.ParseMeta(func(name string) string { return in[name] }, stage.Meta{})
		if m.Criticality < stage.Sheddable || m.Criticality > stage.CriticalPlus || m.Attempt < 0 || len(m.Key) > 256 || len(m.ID) > 256 || len(m.Trace) > 256 {
			t.Fatalf("got %+v", m)
		}
		if !m.Deadline.IsZero() && time.Until(m.Deadline) > 24*time.Hour {
			t.Fatalf("the deadline is in %v", time.Until(m.Deadline))
		}
		out := map[string]string{}
		admission.FormatMeta(m, func(name, value string) { out[name] = value })
		for name, value := range out {
			if strings.ContainsAny(value, "\r\n\x00") || len(value) > 256 {
				t.Fatalf("%s: %q", name, value)
			}
		}
		again := admission.ParseMeta(func(name string) string { return out[name] }, stage.Meta{})
		if again.Criticality != m.Criticality || again.Attempt != m.Attempt && m.Attempt > 1 {
			t.Fatalf("%+v became %+v", m, again)
		}
	})
}
