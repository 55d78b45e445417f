package flow

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A bucket against a model that calculates with fractions.
func TestBucketIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, math.MaxInt64).Draw(t, "n")
		per := rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, "per")
		if rapid.Bool().Draw(t, "small") {
			n = n%100 + 1
		}
		b := newBucket(n, time.Duration(per))
		full := new(big.Rat)
		now := int64(0)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			cost := rapid.Int64Range(0, min(n, math.MaxInt64/2)*2).Draw(t, "cost")
			now += rapid.Int64Range(0, 2*per).Draw(t, "pause")
			if got, want := b.level(now), modelLevel(full, now, n, per); got != want {
				t.Fatalf("level = %d, want %d", got, want)
			}
			wait := int64(b.wait(now, cost))
			if want := modelWait(full, now, cost, n, per); wait != want {
				t.Fatalf("wait for %d = %d, want %d", cost, wait, want)
			}
			now += wait
			b.take(now, cost)
			if at := big.NewRat(now, 1); full.Cmp(at) < 0 {
				full.Set(at)
			}
			full.Add(full, new(big.Rat).Mul(big.NewRat(cost, n), big.NewRat(per, 1)))
		}
	})
}

func modelLevel(full *big.Rat, now, n, per int64) int64 {
	missing := new(big.Rat).Sub(full, big.NewRat(now, 1))
	if missing.Sign() <= 0 {
		return n
	}
	there := missing.Sub(big.NewRat(n, 1), missing.Mul(missing, big.NewRat(n, per)))
	if there.Sign() <= 0 {
		return 0
	}
	return new(big.Int).Quo(there.Num(), there.Denom()).Int64()
}

func modelWait(full *big.Rat, now, cost, n, per int64) int64 {
	at := big.NewRat(now, 1)
	if cost == 0 {
		return 0
	}
	need := new(big.Rat).Mul(big.NewRat(min(cost, n), n), big.NewRat(per, 1))
	if full.Cmp(at) > 0 {
		need.Add(need, new(big.Rat).Sub(full, at))
	}
	need.Sub(need, big.NewRat(per, 1))
	if need.Sign() <= 0 {
		return 0
	}
	up := new(big.Int).Add(need.Num(), new(big.Int).Sub(need.Denom(), big.NewInt(1)))
	return up.Quo(up, need.Denom()).Int64()
}

func TestBucketWithAbsurdCosts(t *testing.T) {
	b := newBucket(1, math.MaxInt64)
	for range 5 {
		b.take(1000, math.MaxInt64)
	}
	if w := b.wait(1000, 1); w <= 0 || b.level(1000) != 0 {
		t.Fatalf("wait = %v, level = %d, want a long wait and an empty bucket", w, b.level(1000))
	}
}
