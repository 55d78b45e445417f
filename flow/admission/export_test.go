package admission

// Probability is what a client refuses itself with.
func Probability(requests, accepts int64, k float64) float64 {
	return probability(requests, accepts, k)
}

// Random makes c throw with random instead of dice.
func (c *Caller) Random(random func() float64) {
	for _, t := range c.throttle {
		t.random = random
	}
}

// Caller returns what t is made of.
func (t *Transport) Caller() *Caller { return t.caller }
