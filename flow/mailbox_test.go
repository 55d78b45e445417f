package flow_test

import (
	"context"
	"fmt"

	"github.com/weir-go/weir/stage"
)

// mailbox is a broker with three messages, as small as it can be. It hands out the second and the third only when the first
// is in work, and the work goes on only when all are handed out: behind an edge with room for one item the third finds it full.
type mailbox struct {
	sent    int
	working chan struct{} // closed when the first message is in work
	empty   chan struct{} // closed when all are handed out
}

func newMailbox() *mailbox {
	return &mailbox{working: make(chan struct{}), empty: make(chan struct{})}
}

// PullItems implements stage.ItemSource.
func (b *mailbox) PullItems(_ context.Context, dst []stage.Item[string]) (int, error) {
	switch b.sent++; b.sent {
	case 2:
		<-b.working
	case 4:
		close(b.empty)
		return 0, stage.ErrEnd
	}
	dst[0] = stage.Claimed(fmt.Sprint("m", b.sent), stage.Meta{}, b, uint64(b.sent))
	return 1, nil
}

// Settle implements stage.Settler.
func (b *mailbox) Settle(token uint64, o stage.Outcome) {
	switch o.Kind {
	case stage.Done:
		fmt.Printf("m%d: acknowledged\n", token)
	case stage.Terminated:
		fmt.Printf("m%d: terminated, %v\n", token, o.Err)
	case stage.Failed:
		fmt.Printf("m%d: again after %v, %v\n", token, o.Delay, o.Err)
	}
}

// work is what is done with a message.
func (b *mailbox) work(_ context.Context, m string) error {
	if m == "m1" {
		close(b.working)
		<-b.empty
	}
	return nil
}
