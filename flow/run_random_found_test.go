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
