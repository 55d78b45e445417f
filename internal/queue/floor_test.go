package queue_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/internal/queue"
)

// One item in each interval that has not waited is enough: then the queue does clear, however long the others have waited.
func TestMinSojournIsTheMinimum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, in, out := open(queue.Config[int]{Capacity: 10})
		for range 50 {
			for range 4 {
				mustPut(t, q, in, 1)
				time.Sleep(10 * time.Millisecond)
				mustTake(t, q, out, 1)
			}
			mustPut(t, q, in, 1)
			mustTake(t, q, out, 1)
		}
		if d := q.Stats().MinSojourn; d != 0 {
			t.Errorf("MinSojourn = %v, want 0: one in five items has not waited", d)
		}
	})
}
