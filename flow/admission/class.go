package admission

import "github.com/weir-go/weir/stage"

// classes is how many classes of criticality there are.
const classes = 4

// PerClass has a number for each class.
type PerClass [classes]int64

// Of returns that of a class. What is outside the range counts as the nearest class.
func (p PerClass) Of(c stage.Criticality) int64 { return p[rank(c)] }

// Sum returns that of all classes together.
func (p PerClass) Sum() (sum int64) {
	for _, n := range p {
		sum += n
	}
	return sum
}

// rank is the place of a class among all, 0 for the first to go.
func rank(c stage.Criticality) int { return int(clamp(c) - stage.Sheddable) }

// class is the class of a rank.
func class(rank int) stage.Criticality { return stage.Sheddable + stage.Criticality(rank) }

func clamp(c stage.Criticality) stage.Criticality {
	return min(max(c, stage.Sheddable), stage.CriticalPlus)
}
