package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// meter measures a stream at its two ends, as far as this process uses them: what the summary says of an edge.
type meter struct {
	mu       sync.Mutex
	capacity int64
	found    int64 // in the stream at the beginning
	depth    int64 // in the stream now, as far as this process knows
	highest  int64
	stored   int64
	refused  int64 // there was no room, as often as that was so
	done     int64
	full     time.Time // since when there is no room; zero while there is
	blocked  time.Duration
	waits    flow.Histogram
}

func (m *meter) begin(capacity, found int64) {
	m.capacity, m.found, m.depth, m.highest = capacity, found, found, found
}

// sent counts a Send.
func (m *meter) sent(stored, refused int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stored += int64(stored)
	m.refused += int64(refused)
	m.depth = min(m.depth+int64(stored), m.capacity) // a stream may drop its oldest
	m.highest = max(m.highest, m.depth)
	now := time.Now()
	if !m.full.IsZero() {
		m.blocked += now.Sub(m.full)
		m.full = time.Time{}
	}
	if refused > 0 {
		m.full = now
	}
}

// fetched counts deliveries.
func (m *meter) fetched(ds []broker.Delivery) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	for i := range ds {
		m.waits.Record(max(now.Sub(ds[i].Stored), 0), 1)
	}
}

// settled counts a function that is in the table.
func (m *meter) settled() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done++
	m.depth = max(m.depth-1, 0)
}

// confirmed is how many functions this process has stored.
func (m *meter) confirmed() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stored
}

// edge is the row of the summary. What has come in, and at the end is neither in the stream nor in the table, the stream has
// dropped. end is nil while that is not known.
func (m *meter) edge(policy flow.Policy, end *level) edge {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := edge{
		Name: "functions", Capacity: int(m.capacity), MaxDepth: int(m.highest), In: m.found + m.stored, Out: m.done,
		p50: m.waits.Quantile(0.5), p99: m.waits.Quantile(0.99),
	}
	e.SojournP99ms = float64(e.p99) / float64(time.Millisecond)
	switch policy {
	case flow.Block:
		e.BlockedSeconds = m.blocked.Seconds()
	case flow.DropNewest:
		e.In += m.refused
		e.Dropped = m.refused
	case flow.DropOldest:
		if end != nil {
			e.Dropped = max(e.In-e.Out-end.waiting, 0)
		}
	case flow.Reject: // the first one ends the run
	}
	return e
}

// meteredSender counts what goes into a stream.
type meteredSender struct {
	broker.Sender
	meter *meter
}

// Send implements broker.Sender.
func (s meteredSender) Send(ctx context.Context, msgs []broker.Message) error {
	err := s.Sender.Send(ctx, msgs)
	failed, refused := 0, 0
	if bad, ok := errors.AsType[*stage.BatchError](err); ok {
		failed = len(bad.Items)
		for _, it := range bad.Items {
			if errors.Is(it.Err, broker.ErrFull) {
				refused++
			}
		}
	} else if err != nil {
		failed = len(msgs)
	}
	s.meter.sent(len(msgs)-failed, refused)
	return err
}

// meteredFetcher counts what comes out of a stream.
type meteredFetcher struct {
	fetcher
	meter *meter
}

// Fetch implements broker.Fetcher.
func (f meteredFetcher) Fetch(ctx context.Context, dst []broker.Delivery) (int, error) {
	n, err := f.fetcher.Fetch(ctx, dst)
	f.meter.fetched(dst[:n])
	return n, err
}

// Settle implements broker.Fetcher.
func (f meteredFetcher) Settle(token uint64, o stage.Outcome) {
	if o.Kind == stage.Done {
		f.meter.settled()
	}
	f.fetcher.Settle(token, o)
}
