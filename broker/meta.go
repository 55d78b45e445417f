package broker

import (
	"strconv"
	"time"

	"github.com/weir-go/weir/stage"
)

// The headers that metadata crosses a broker in. Criticality is the name of its class, Deadline a time as RFC 3339 has it. Attempt is
// written where it is not the first one: what is made of a message is as suspect as that.
const (
	HeaderKey         = "Weir-Key"
	HeaderCriticality = "Weir-Criticality"
	HeaderDeadline    = "Weir-Deadline"
	HeaderAttempt     = "Weir-Attempt"
	HeaderTrace       = "traceparent" // W3C Trace Context
)

// maxHeader is how long a header may be that becomes metadata, in bytes.
const maxHeader = 256

// readMeta returns the metadata of a delivery. What its headers say counts only where they are trusted; ignored is how many of
// them made no sense.
func readMeta(d *Delivery, trusted bool) (m stage.Meta, ignored int) {
	m = stage.Meta{ID: d.ID, Attempt: d.Attempt}
	if !trusted || d.Header == nil {
		return m, 0
	}
	read := func(name string, set func(string) bool) {
		if v := d.Header.Get(name); v != "" && (len(v) > maxHeader || !set(v)) {
			ignored++
		}
	}
	read(HeaderKey, func(v string) bool { m.Key = v; return true })
	read(HeaderTrace, func(v string) bool { m.Trace = v; return true })
	read(HeaderCriticality, func(v string) bool { return setClass(&m.Criticality, v) })
	read(HeaderAttempt, func(v string) bool {
		n, err := strconv.ParseUint(v, 10, 31)
		m.Attempt = max(m.Attempt, int(n))
		return err == nil
	})
	read(HeaderDeadline, func(v string) bool {
		t, err := time.Parse(time.RFC3339Nano, v)
		if err == nil {
			m.Deadline = t
		}
		return err == nil
	})
	return m, ignored
}

// setClass sets c to the class with that name.
func setClass(c *stage.Criticality, name string) bool {
	for class := stage.Sheddable; class <= stage.CriticalPlus; class++ {
		if class.String() == name {
			*c = class
			return true
		}
	}
	return false
}

// writeMeta adds metadata to the headers of a message, which are made when they are first needed.
func writeMeta(h Header, m stage.Meta) Header {
	set := func(name, value string) {
		if h == nil {
			h = make(Header, 2)
		}
		h.Set(name, value)
	}
	if m.Key != "" && len(m.Key) <= maxHeader {
		set(HeaderKey, m.Key)
	}
	if m.Trace != "" && len(m.Trace) <= maxHeader {
		set(HeaderTrace, m.Trace)
	}
	if m.Criticality != stage.Critical {
		set(HeaderCriticality, m.Criticality.String())
	}
	if m.Attempt > 1 {
		set(HeaderAttempt, strconv.Itoa(m.Attempt))
	}
	if !m.Deadline.IsZero() {
		set(HeaderDeadline, m.Deadline.Format(time.RFC3339Nano))
	}
	return h
}
