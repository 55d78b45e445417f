package jetstream

import (
	"testing"
	"time"

	"github.com/weir-go/weir/broker"
)

func TestTicketsAreUsedOnce(t *testing.T) {
	w := newWindow(1, nil)
	b := newBatch()
	b.reset(make([]broker.Message, 2), time.Minute)
	b.left = 1
	first, _ := w.enter(t.Context(), b, 0)
	w.giveUp(b, errNoAnswer)
	second, _ := w.enter(t.Context(), b, 1)
	w.settle(first, receipt{fate: fateStored, seq: 1}) // comes late
	if l := b.letters[1]; l.fate != fatePending {
		t.Errorf("the answer to the first message settled the second: %+v", l)
	}
	if l := b.letters[0]; l.fate != fateUnknown || !l.doubt {
		t.Errorf("the first message: %+v, want unknown", l)
	}
	w.settle(second, receipt{fate: fateStored, seq: 2})
	w.settle(second, receipt{fate: fateFull}) // comes twice
	if l := b.letters[1]; l.fate != fateStored || w.inUse() != 0 {
		t.Errorf("the second message: %+v, want stored", l)
	}
	w.endRound(b)
	if len(b.done) != 1 || b.left != 0 {
		t.Errorf("%d left, %d signals, want 0 and 1", b.left, len(b.done))
	}
}

func TestASendAllocatesLittle(t *testing.T) {
	w := newWindow(16, nil)
	b := newBatch()
	msgs := make([]broker.Message, 16)
	e := newEnvelope("_INBOX.0123456789012345678901.")
	msg := broker.Message{Subject: "s.x", Data: []byte("x")}
	n := testing.AllocsPerRun(100, func() {
		b.reset(msgs, time.Minute)
		b.left = 1
		for i := range msgs {
			ticket, _ := w.enter(t.Context(), b, i)
			e.fill(&msg, "some id")
			e.address(ticket)
			w.settle(ticket, receipt{fate: fateStored, seq: 1})
		}
		w.endRound(b)
		<-b.done
	})
	if perMessage := n / 16; perMessage > 1 {
		t.Errorf("%v allocations a message, want 1: the subject of its answer", perMessage)
	}
}
