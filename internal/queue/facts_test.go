package queue_test

import (
	"slices"
	"testing"
	"time"

	"github.com/weir-go/weir/internal/claim"
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// A deadline that only the tag can have is asked about where there is a tag, and nowhere else.
func TestOnlyTagsAreAskedForTheirDeadline(t *testing.T) {
	asked := 0
	q := queue.New(queue.Config[int]{
		Name: "e", Capacity: 4, OnFull: queue.DropOldest, Tagged: true, OfTag: true,
		Deadline: func(_ int, t *queue.Tag) time.Time { asked++; return t.Meta.Deadline },
	})
	late := claim.New(stage.Meta{Deadline: time.Now().Add(-time.Second)})
	_, err := q.Put(queue.NewWaiter(), []int{1, 2, 3}, []*queue.Tag{nil, late, nil}, nil)
	if err != nil || asked != 1 {
		t.Fatalf("Put() = %v, and %d items were asked about, want 1", err, asked)
	}
	if err := q.Offer(4, nil); err != nil || asked != 1 {
		t.Fatalf("Offer() = %v, and %d items were asked about, want 1", err, asked)
	}
	var all []int
	for len(all) < 3 {
		got, tags := make([]int, 4), make([]*queue.Tag, 4)
		n, err := q.Take(queue.NewWaiter(), got, tags, nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, got[:n]...)
	}
	if !slices.Equal(all, []int{1, 3, 4}) {
		t.Errorf("took %v, want 1, 3 and 4: the late one is dropped", all)
	}
	if s := q.Stats(); s.Dropped[queue.DropDeadline] != 1 {
		t.Errorf("%d were dropped for their deadline, want 1", s.Dropped[queue.DropDeadline])
	}
}
