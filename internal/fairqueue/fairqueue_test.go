package fairqueue_test

import (
	"math"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/weir-go/weir/internal/fairqueue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lanes are queues of costs in front of a server.
type lanes struct {
	q      *fairqueue.Queue
	weight []int
	wait   [][]int64
	served []int64 // cost, by lane
}

func newLanes(weights []int, newFirst bool) *lanes {
	return &lanes{fairqueue.New(len(weights), newFirst), weights, make([][]int64, len(weights)), make([]int64, len(weights))}
}

func (l *lanes) put(i int, cost int64) {
	if l.wait[i] = append(l.wait[i], cost); len(l.wait[i]) == 1 {
		l.q.Add(i, l.weight[i])
	}
}

// serve serves one, and returns its lane.
func (l *lanes) serve() int {
	i := l.q.Next()
	if i < 0 {
		return i
	}
	cost := l.wait[i][0]
	l.wait[i] = l.wait[i][1:]
	l.served[i] += cost
	l.q.Charge(i, cost)
	if len(l.wait[i]) == 0 {
		l.q.Empty(i)
	}
	return i
}

// fairShares is the weighted max-min allocation of capacity, by filling up.
func fairShares(capacity float64, weights []int, demand []float64) []float64 {
	share, open := make([]float64, len(demand)), map[int]bool{}
	for i := range demand {
		open[i] = true
	}
	for len(open) > 0 {
		sum := 0.0
		for i := range open {
			sum += float64(weights[i])
		}
		level, closed := capacity/sum, false
		for i := range open {
			if demand[i] <= level*float64(weights[i]) {
				share[i] = demand[i]
				capacity -= demand[i]
				delete(open, i)
				closed = true
			}
		}
		if !closed {
			for i := range open {
				share[i] = level * float64(weights[i])
			}
			return share
		}
	}
	return share
}

// Lanes with random weights and demands get their max-min shares, and the server never rests while something waits.
func TestSharesAreMaxMin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const rounds, capacity = 150, 40.0 // cost per round
		n, newFirst := rapid.IntRange(1, 12).Draw(t, "lanes"), rapid.Bool().Draw(t, "new first")
		weights, demand, cost := make([]int, n), make([]float64, n), make([]int64, n)
		for i := range n {
			weights[i] = rapid.IntRange(1, 8).Draw(t, "weight")
			demand[i] = float64(rapid.IntRange(0, 60).Draw(t, "demand"))
			if newFirst && demand[i] > 1 {
				demand[i] = capacity // a lane that asks for just its share is new now and then, and gets a little more
			}
			cost[i] = rapid.Int64Range(1, 5).Draw(t, "cost")
		}
		l := newLanes(weights, newFirst)
		sent, spare := make([]float64, n), 0.0
		for range rounds {
			for i := range n {
				for sent[i] += demand[i]; sent[i] >= float64(cost[i]); sent[i] -= float64(cost[i]) {
					l.put(i, cost[i])
				}
			}
			for spare += capacity; spare > 0; {
				i := l.serve()
				if i < 0 {
					spare = 0 // nothing waits
					for j := range n {
						if len(l.wait[j]) > 0 {
							t.Fatalf("the server rests while %d wait in lane %d", len(l.wait[j]), j)
						}
					}
					break
				}
				spare -= float64(cost[i])
			}
		}
		want := fairShares(capacity, weights, demand)
		for i := range n {
			got := float64(l.served[i]) / rounds
			if slack := 1.5; math.Abs(got-want[i]) > slack {
				t.Fatalf("lane %d (weight %d, demand %v) got %v a round, want %v: weights %v, demands %v", i, weights[i], demand[i], got, want[i], weights, demand)
			}
		}
	})
}

// A lane that had nothing for a long time gets no more than the others when it is back.
func TestNoCreditIsSaved(t *testing.T) {
	for _, newFirst := range []bool{false, true} {
		l := newLanes([]int{1, 1}, newFirst)
		for range 2000 {
			l.put(0, 1)
		}
		for range 1000 {
			l.serve()
		}
		for range 1000 {
			l.put(1, 1)
		}
		ahead := 0
		for range 200 {
			if l.serve() == 1 {
				ahead++
			} else {
				ahead--
			}
			if ahead > 2 {
				t.Fatalf("new first %t: the lane that was idle is %d ahead, want at most 2", newFirst, ahead)
			}
		}
	}
}

// What is new is next, once; a lane that sends in pieces is not new again and again.
func TestANewLaneIsNextOnce(t *testing.T) {
	l := newLanes([]int{1, 1, 1}, true)
	for range 200 {
		l.put(0, 1)
		l.put(1, 1)
	}
	for range 10 {
		l.serve()
	}
	l.put(2, 1)
	if got := l.serve(); got != 2 {
		t.Fatalf("served lane %d, want 2, which is new", got)
	}
	for every := range 2 { // it sends one whenever it has none, at once or when another has been served
		counts := make([]int, 3)
		for i := range 99 {
			if len(l.wait[2]) == 0 && i%(every+1) == 0 {
				l.put(2, 1)
			}
			counts[l.serve()]++
		}
		if counts[2] > 36 {
			t.Errorf("the lane that sends one by one got %d of 99, want a third: %v", counts[2], counts)
		}
	}
}

func TestNobodyIsNextInAnEmptyQueue(t *testing.T) {
	q := fairqueue.New(2, true)
	if got := q.Next(); got != -1 {
		t.Fatalf("Next() = %d, want -1", got)
	}
	q.Add(1, 1)
	q.Empty(1)
	if got := q.Next(); got != -1 {
		t.Fatalf("Next() = %d behind Empty, want -1", got)
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	q := fairqueue.New(64, true)
	for i := range 64 {
		q.Add(i, i+1)
	}
	if n := testing.AllocsPerRun(100, func() {
		i := q.Next()
		q.Charge(i, 1)
		q.Empty(i)
		q.Add(i, 1)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
