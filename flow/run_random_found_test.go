package flow_test

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// TestFoundGraphs runs graphs that random ones have found, which are rare among them.
func TestFoundGraphs(t *testing.T) {
	ms := time.Millisecond
	found := map[string]func(i int) *scenario{
		// A goroutine of an Expand is ended by user code of the edge into which it emits.
		"goexit in the edge behind an expand": func(i int) *scenario {
			return &scenario{
				fault: "goexit", source: "items", sink: "batch", sinkN: 4, items: 8, pause: ms, at: 14 * ms, failAt: int64(i),
				ops: []*op{{kind: "expand", n: i%4 + 1, m: 19}, {kind: "drop", n: 9, m: i % 5}, {kind: "weighed", n: 3, m: 1}},
			}
		},
		// An edge refuses what an Expand emits, and a decision lets the item go.
		"reject behind an expand": func(i int) *scenario {
			return &scenario{
				fault: faults[i%8], source: "items", sink: "foreach", items: 48, most: 18, slow: 2 * ms, at: 13 * ms, failAt: int64(2 * i), leave: 7,
				ops: []*op{{kind: "expand", n: i%9 + 1, m: i % 2}, {kind: "reject", n: 1}},
			}
		},
		// An edge refuses what an Expand emits, and Retry has the call begin again: what it had emitted is there twice.
		"retry behind an expand": func(i int) *scenario {
			beside := []*op{{kind: "besteffort", n: 4}, {kind: "dedup", n: 3, m: 14}, {kind: "batch", n: 9, m: 64}}
			return &scenario{
				fault: "none", source: "items", sink: "hub", sinkN: i%3 + 1, items: 85, most: 9, pause: ms, slow: 2 * ms, at: 6 * ms, leave: 27, atFrom: true,
				ops: []*op{
					{kind: "groupby", n: 5, m: 13},
					{kind: "concat", n: 7, m: 3, source: "push", subs: [][]*op{beside}},
					{kind: "expand", n: 6, m: 76},
					{kind: "reject", n: i%5 + 1},
					{kind: "batch", n: 5, m: 5},
				},
			}
		},
	}
	for name, scenario := range found {
		for i := range 60 {
			inBubble(t, fmt.Sprint(name, " ", i), func(t *testing.T) {
				s := scenario(i)
				if err := s.run(context.WithoutCancel(t.Context())); err != nil {
					t.Fatalf("%v\n%v", s, err)
				}
			})
		}
	}
}
