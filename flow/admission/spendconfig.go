package admission

import (
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/weir-go/weir/stage"
)

// SpendConfig says what work may cost. Ceiling and Cost are required. Costs are whole numbers of any unit: millionths of a dollar,
// milliseconds of a worker.
//
// There may be several ways to do the work, rungs of a ladder, the first the best and dearest: a large model, a small one, a cached
// answer. As more is spent, speculative work (Sheddable) goes first, then the others get a cheaper rung, and only then they are refused.
type SpendConfig struct {
	Ceiling int64         // what may be spent in any Window, 1 to 2^53
	Window  time.Duration // 0 means a minute, at least 1 ms

	// Cost returns what an item is going to cost on a rung; below 0 counts as 0. It must be quick, and is called by several
	// goroutines at a time, once for each rung.
	Cost  func(m stage.Meta, rung int) int64
	Rungs int // 1 to 8; 0 means 1: there is nothing cheaper

	// ShedFrom is the share of Ceiling that speculative work may fill up, 0 means 0.8; DowngradeFrom that of the first rung, 0 means
	// 0.9. The other rungs share the rest evenly, up to Ceiling. 0 < ShedFrom <= DowngradeFrom <= 1.
	ShedFrom, DowngradeFrom float64

	// Budget returns the ceiling of one tenant, by Meta.Key; below 0 is none. The same ladder holds for it. At most Tenants of them
	// have an account at a time, 0 means 1024; while all are in use, further ones share one.
	Budget  func(key string) int64
	Tenants int

	// Alert is called when the rate of spending has reached another level, upwards, at most once in a twentieth of Window, in the
	// goroutine of whoever asked. It must be quick.
	Alert func(SpendLevel)
}

const (
	mostCeiling    = 1 << 53
	mostRungs      = 8
	mostTenants    = 1 << 20
	defaultTenants = 1024
)

func (c SpendConfig) withDefaults() SpendConfig {
	if c.Window == 0 {
		c.Window = time.Minute
	}
	if c.Rungs == 0 {
		c.Rungs = 1
	}
	if c.ShedFrom == 0 {
		c.ShedFrom = 0.8
	}
	if c.DowngradeFrom == 0 {
		c.DowngradeFrom = 0.9
	}
	if c.Tenants == 0 {
		c.Tenants = defaultTenants
	}
	return c
}

func (c SpendConfig) validate() error {
	const of = "SpendConfig"
	return errors.Join(
		check(c.Ceiling >= 1 && c.Ceiling <= mostCeiling, of, "Ceiling", "1 to 2^53", c.Ceiling),
		check(c.Window >= time.Millisecond, of, "Window", ">= 1ms", c.Window),
		check(c.Rungs >= 1 && c.Rungs <= mostRungs, of, "Rungs", "1 to 8", c.Rungs),
		check(c.ShedFrom > 0 && c.ShedFrom <= c.DowngradeFrom, of, "ShedFrom", "above 0, and at most DowngradeFrom", c.ShedFrom),
		check(c.DowngradeFrom > 0 && c.DowngradeFrom <= 1, of, "DowngradeFrom", "above 0, and at most 1", c.DowngradeFrom),
		check(c.Tenants >= 1 && c.Tenants <= mostTenants, of, "Tenants", "1 to 1048576", c.Tenants),
		together(c.Cost != nil, "SpendConfig.Cost is required"),
	)
}

// share returns up to where of a ceiling a rung may be used.
func (c *SpendConfig) share(rung int) float64 {
	if rung == c.Rungs-1 {
		return 1
	}
	return c.DowngradeFrom + (1-c.DowngradeFrom)*float64(rung)/float64(c.Rungs-1)
}

// SpendLevel says how far a rate of spending has got.
type SpendLevel uint8

// The levels.
const (
	SpendNormal      SpendLevel = iota
	SpendShedding               // speculative work is refused
	SpendDowngrading            // the others get a cheaper rung
	SpendRefusing               // there is nothing left for anybody
)

// String says what a level means.
func (l SpendLevel) String() string {
	switch l {
	case SpendNormal:
		return "normal"
	case SpendShedding:
		return "shedding"
	case SpendDowngrading:
		return "downgrading"
	case SpendRefusing:
		return "refusing"
	default:
		return "SpendLevel(" + strconv.Itoa(int(l)) + ")"
	}
}

// portion returns a share of a ceiling, in whole numbers.
func portion(ceiling int64, share float64) int64 {
	return int64(math.Floor(float64(ceiling)*share + rounding))
}
