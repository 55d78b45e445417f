package admission

import "time"

// Permit is the right to be inside a [Gate] or a [Limiter], until Release. It is a value: places are used again, and a pointer kept
// beyond Release would give back somebody else's. The zero Permit permits nothing, and all its methods do nothing.
//
// Its methods are safe for concurrent use.
type Permit struct {
	owner      owner
	place      *place
	generation uint64
	wait       time.Duration
	rung       int
}

// owner is whose permit it is.
type owner interface {
	release(p *place, generation uint64)
	begin(p *place, generation uint64) error
	charge(p *place, generation uint64, cost int64)
}

// Release gives the place back. Further calls do nothing, also those of copies.
func (p Permit) Release() {
	if p.owner != nil {
		p.owner.release(p.place, p.generation)
	}
}

// EstimatedWait returns how long the holder was going to wait when it came in, behind those that were inside already. It is 0 while
// nothing is known and where one more could be worked on.
func (p Permit) EstimatedWait() time.Duration { return p.wait }

// Rung returns which of the ways to do the work is to be taken: 0 is the best, and a higher one is cheaper. See [SpendConfig].
func (p Permit) Rung() int { return p.rung }

// Start says that the work begins now, and is for those who take it out of a queue behind the gate. Without it the gate takes for
// granted that the work is done in order, Config.Concurrency at a time. The answer is a *Refusal if the deadline can't be met any
// more: then the work must not begin, and the permit is to be released as always.
func (p Permit) Start() error {
	if p.owner == nil {
		return nil
	}
	return p.owner.begin(p.place, p.generation)
}

// Charge replaces what the work was going to cost by what it has cost, where the gate has a [SpendLimiter]. A cost below 0 counts as 0.
func (p Permit) Charge(cost int64) {
	if p.owner != nil {
		p.owner.charge(p.place, p.generation, max(cost, 0))
	}
}
