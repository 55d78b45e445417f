package admission

import (
	"errors"
	"math"
	"net/http"

	"github.com/weir-go/weir/stage"
)

// Config says what a [Gate] lets in. Only Limit is required.
type Config struct {
	Limit       int // how many are inside at most, 1 to 2147483647
	Concurrency int // how many of them are worked on at a time: workers or connections behind the gate. 0 means Limit

	// Target is the share of Limit from which on the gate refuses what can go, above 0 to 1; 0 means 0.9. Without Classes that is
	// everything. With them it is work that can be done later; retries go halfway to that, and speculative work as far below the
	// target as the limit is above it. The rest is for what must be kept.
	Target  float64
	Classes bool // the items' classes of criticality count

	// Reserved is the share of Limit that only CriticalPlus may use, 0 to 0.1. It needs Classes.
	Reserved float64

	// ScaleAt is the load at which more instances are started, as a share of what can be done: above 0, and below Target, because a
	// gate that sheds first hides the reason to scale. 0 means that there is no autoscaler.
	ScaleAt float64

	// Quota returns how many a tenant may have inside, by Meta.Key, of which the first 256 bytes count; below 0 is no bound. It must
	// be quick, is called by several goroutines at a time, and for those without a key, too. Borrow lets tenants over their quota use
	// what nobody else needs, up to the target.
	Quota  func(key string) int
	Borrow bool

	// MaxAttempts is the attempt from which on a refusal says not to come again; 0 means 3.
	MaxAttempts int

	// Spend bounds what the work costs. Several gates may have the same one.
	Spend *SpendLimiter

	// Meta returns what is known of a request, from the authenticated identity for example. nil means nothing. Headers that say
	// so themselves count only in requests for which Trusted returns true, and then more than Meta; nil means never. Both are
	// used by Handler, and must not read the body.
	Meta    func(*http.Request) stage.Meta
	Trusted func(*http.Request) bool
}

const (
	defaultTarget   = 0.9
	mostReserved    = 0.1
	defaultAttempts = 3
	mostInside      = math.MaxInt32
	rounding        = 1e-9 // 1 - 0.9 is a little less than 0.1
)

// withDefaults fills in what is 0.
func (c Config) withDefaults() Config {
	if c.Concurrency == 0 {
		c.Concurrency = c.Limit
	}
	if c.Target == 0 {
		c.Target = defaultTarget
	}
	if c.MaxAttempts == 0 {
		c.MaxAttempts = defaultAttempts
	}
	return c
}

// Validate returns what is wrong, all of it at once. NewGate panics with it.
func (c Config) Validate() error {
	c = c.withDefaults()
	const of = "Config"
	return errors.Join(
		check(c.Limit >= 1 && c.Limit <= mostInside, of, "Limit", "1 to 2147483647", c.Limit),
		check(c.Limit < 1 || c.Concurrency >= 1 && c.Concurrency <= c.Limit, of, "Concurrency", "1 to Limit", c.Concurrency),
		check(c.Target > 0 && c.Target <= 1, of, "Target", "above 0, and at most 1", c.Target),
		check(c.Reserved >= 0 && c.Reserved <= mostReserved, of, "Reserved", "0 to 0.1", c.Reserved),
		together(c.Reserved == 0 || c.Classes, "Config.Reserved needs Classes: without them nobody may use it"),
		together(c.Reserved == 0 || c.Reserved <= 1-c.Target+rounding, "Config.Reserved must lie between Target and Limit"),
		check(c.ScaleAt == 0 || c.ScaleAt > 0 && c.ScaleAt < c.Target, of, "ScaleAt", "above 0, and below Target", c.ScaleAt),
		check(c.MaxAttempts >= 1, of, "MaxAttempts", ">= 1", c.MaxAttempts),
		together(!c.Borrow || c.Quota != nil, "Config.Borrow needs Quota"),
	)
}
