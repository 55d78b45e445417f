package jetprom

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/jetstream"
)

// Stats are the counts that can be exported.
type Stats interface {
	jetstream.SourceStats | jetstream.FetcherStats | jetstream.SinkStats | jetstream.SenderStats |
		broker.SourceStats | broker.SinkStats
}

// Statser is a part that counts. Its Stats must be safe for concurrent use.
type Statser[S Stats] interface{ Stats() S }

// Collector is a prometheus.Collector of any number of parts. It is safe for concurrent use.
type Collector struct {
	mu    sync.Mutex
	parts []part
}

// part is something that was added. Its metrics are those of its side, so no other part of that side may have its name.
type part struct {
	side    side
	name    string
	collect func(ch chan<- prometheus.Metric)
}

type side string

const (
	reading side = "source"
	writing side = "sink"
)

// New returns a Collector without parts.
func New() *Collector { return &Collector{} }

var validName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// Add has what s counts collected, with the label name. Names are 1 to 64 of A-Z a-z 0-9 . _ - and are given in the program, never taken
// from data. A source and a sink may have the same name, two sources or two sinks may not. Each call is for one more part: a
// source that replaces another needs Remove first.
func (c *Collector) Add[S Stats](name string, s Statser[S]) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("jetprom: the name %.80q is not 1 to 64 of A-Z a-z 0-9 . _ -", name)
	}
	if s == nil {
		return errors.New("jetprom: the part " + name + " is nil")
	}
	p := part{sideOf[S](), name, func(ch chan<- prometheus.Metric) { send(ch, name, s.Stats()) }}
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.ContainsFunc(c.parts, func(q part) bool { return q.side == p.side && q.name == name }) {
		return fmt.Errorf("jetprom: there is a %s %s already", p.side, name)
	}
	c.parts = append(c.parts, p)
	return nil
}

// Remove takes out every part of that name. Nothing of it is collected any more.
func (c *Collector) Remove(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parts = slices.DeleteFunc(c.parts, func(p part) bool { return p.name == name })
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	describe(ch, ofSource)
	describe(ch, ofFetcher)
	describe(ch, ofSink)
	describe(ch, ofSender)
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	parts := slices.Clone(c.parts)
	c.mu.Unlock()
	for _, p := range parts {
		p.collect(ch)
	}
}

func sideOf[S Stats]() side {
	var s S
	switch any(s).(type) {
	case jetstream.SourceStats, jetstream.FetcherStats, broker.SourceStats:
		return reading
	default:
		return writing
	}
}

// send sends what a part has counted.
func send[S Stats](ch chan<- prometheus.Metric, name string, s S) {
	switch st := any(s).(type) {
	case jetstream.SourceStats:
		values(ch, name, ofSource, &st.SourceStats)
		values(ch, name, ofFetcher, &st.FetcherStats)
	case jetstream.FetcherStats:
		values(ch, name, ofFetcher, &st)
	case broker.SourceStats:
		values(ch, name, ofSource, &st)
	case jetstream.SinkStats:
		values(ch, name, ofSink, &st.SinkStats)
		values(ch, name, ofSender, &st.Sender)
	case jetstream.SenderStats:
		values(ch, name, ofSender, &st)
	case broker.SinkStats:
		values(ch, name, ofSink, &st)
	}
}
