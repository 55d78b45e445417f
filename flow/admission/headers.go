package admission

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/weir-go/weir/stage"
)

// Headers of a request, by which metadata crosses HTTP. Where they have the same meaning they have the same names as in messages of a
// broker. A deadline is told as the time left, because clocks differ.
const (
	HeaderKey         = "Weir-Key"         // the tenant
	HeaderCriticality = "Weir-Criticality" // the name of the class
	HeaderAttempt     = "Weir-Attempt"     // from 2 on
	HeaderTrace       = "traceparent"      // W3C Trace Context
	HeaderTimeout     = "Weir-Timeout-Ms"  // milliseconds until the deadline
	HeaderID          = "Idempotency-Key"  // the identity of the work
)

// Headers of an answer.
const (
	HeaderRetryAfter   = "Retry-After"         // whole seconds, with jitter
	HeaderRetryAfterMs = "Weir-Retry-After-Ms" // the same, finer
	HeaderNoRetry      = "Weir-No-Retry"       // "1": do not come again at all
	HeaderWait         = "Weir-Wait-Ms"        // the estimated wait, on success as well
	HeaderRung         = "Weir-Rung"           // on success, the way in which the work was done, if not the best

	// HeaderOverload says why, and that nothing was started: the answer is an instruction to the client, and no fault of this
	// instance that another one could make good. HeaderEnvoy says the same to Envoy.
	HeaderOverload = "Weir-Overload"
	HeaderEnvoy    = "X-Envoy-Ratelimited"
)

// maxHeader is how long a header may be that becomes metadata, in bytes.
const maxHeader = 256

// longestTimeout bounds what a header may say.
const longestTimeout = 24 * time.Hour

// ParseMeta adds what headers say to m and returns that. header returns the value of a header, "" if there is none; let it return "" as
// well where there are several, of which a stranger may have sent the first to a proxy that has added its own. What makes no sense
// is left out: values longer than 256 bytes, unknown classes, numbers that are none. A time left of more than a day counts as a day.
// Call it for trusted peers only: everything in it decides who is refused first.
func ParseMeta(header func(name string) string, m stage.Meta) stage.Meta {
	value := func(name string) string {
		if v := header(name); len(v) <= maxHeader {
			return v
		}
		return ""
	}
	text := func(to *string, name string) {
		if v := value(name); v != "" {
			*to = v
		}
	}
	text(&m.Key, HeaderKey)
	text(&m.ID, HeaderID)
	text(&m.Trace, HeaderTrace)
	if c, ok := parseClass(value(HeaderCriticality)); ok {
		m.Criticality = c
	}
	if n, err := strconv.ParseUint(value(HeaderAttempt), 10, 31); err == nil {
		m.Attempt = max(m.Attempt, int(n))
	}
	if d, ok := parseMillis(value(HeaderTimeout)); ok {
		m.Deadline = time.Now().Add(min(d, longestTimeout))
	}
	return m
}

// FormatMeta calls set for each header by which m crosses. What is zero, the usual class and a first attempt have none, nor have texts
// longer than 256 bytes. What is left until the deadline is rounded down, to 0 at least.
func FormatMeta(m stage.Meta, set func(name, value string)) {
	text := func(name, v string) {
		if v != "" && len(v) <= maxHeader && visible(v) {
			set(name, v)
		}
	}
	text(HeaderKey, m.Key)
	text(HeaderID, m.ID)
	text(HeaderTrace, m.Trace)
	if m.Criticality != stage.Critical {
		set(HeaderCriticality, clamp(m.Criticality).String())
	}
	if m.Attempt > 1 {
		set(HeaderAttempt, strconv.Itoa(m.Attempt))
	}
	if !m.Deadline.IsZero() {
		set(HeaderTimeout, strconv.FormatInt(max(time.Until(m.Deadline), 0).Milliseconds(), 10))
	}
}

// visible reports whether v may be the value of a header: nothing in it ends a line, and nothing is cut off at its ends.
func visible(v string) bool {
	for i := range len(v) {
		if v[i] < ' ' || v[i] == 0x7f {
			return false
		}
	}
	return v[0] != ' ' && v[len(v)-1] != ' '
}

func parseClass(name string) (stage.Criticality, bool) {
	for c := stage.Sheddable; c <= stage.CriticalPlus; c++ {
		if c.String() == name {
			return c, true
		}
	}
	return 0, false
}

// parseMillis reads a number of milliseconds.
func parseMillis(v string) (time.Duration, bool) {
	ms, err := strconv.ParseUint(v, 10, 63)
	if err != nil {
		return 0, false
	}
	return time.Duration(min(ms, math.MaxInt64/uint64(time.Millisecond))) * time.Millisecond, true
}

// parseRetryAfter reads how long an answer says to stay away: the finer header counts more, and a date is one of HTTP.
func parseRetryAfter(h http.Header) time.Duration {
	if d, ok := parseMillis(h.Get(HeaderRetryAfterMs)); ok {
		return d
	}
	v := h.Get(HeaderRetryAfter)
	if s, err := strconv.ParseUint(v, 10, 63); err == nil {
		return time.Duration(min(s, math.MaxInt64/uint64(time.Second))) * time.Second
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(time.Until(t), 0)
	}
	return 0
}

// millis is a duration for a header, rounded up.
func millis(d time.Duration) string {
	return strconv.FormatInt(int64((max(d, 0)+time.Millisecond-1)/time.Millisecond), 10)
}
