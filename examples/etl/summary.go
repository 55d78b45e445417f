package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/weir-go/weir/flow"
)

// summary is what a run has done. Its JSON form is what -json prints.
type summary struct {
	Files     int64   `json:"files"`     // walked
	Parsed    int64   `json:"parsed"`    // of them
	Failed    int64   `json:"failed"`    // files and folders that could not be read or parsed
	Extracted int64   `json:"extracted"` // functions that reached the edge functions
	Loaded    int64   `json:"loaded"`    // rows written
	Dropped   int64   `json:"dropped"`   // functions that the edge dropped
	Found     int64   `json:"found"`     // functions that were in the stream at the beginning; 0 where there is none, as all that follow
	Published int64   `json:"published"` // functions that the stream has confirmed since it was made, in earlier runs as well
	Left      int64   `json:"left"`      // functions that are in the stream at the end: the next run loads them
	Seconds   float64 `json:"seconds"`
	Edges     []edge  `json:"edges"`
}

type edge struct {
	Name           string  `json:"name"`
	Capacity       int     `json:"capacity"`
	MaxDepth       int     `json:"max_depth"`
	In             int64   `json:"in"`
	Out            int64   `json:"out"`
	Dropped        int64   `json:"dropped"`
	BlockedSeconds float64 `json:"blocked_seconds"`
	SojournP99ms   float64 `json:"sojourn_p99_ms"`

	p50, p99 time.Duration
}

func newSummary(stats flow.Stats, loaded, failed int64) summary {
	s := summary{Failed: failed, Loaded: loaded, Seconds: stats.Elapsed.Seconds()}
	for _, st := range stats.Stages {
		switch st.Name {
		case "walk":
			s.Files = st.Out
		case "parse":
			s.Parsed = st.Out
		}
	}
	for i := range stats.Edges {
		e := &stats.Edges[i]
		p99 := e.Sojourn.Quantile(0.99)
		s.Edges = append(s.Edges, edge{
			Name: e.Name, Capacity: e.Capacity, MaxDepth: e.MaxDepth, In: e.In, Out: e.Out, Dropped: e.Dropped.Total(),
			BlockedSeconds: e.Blocked.Seconds(), SojournP99ms: float64(p99) / float64(time.Millisecond),
			p50: e.Sojourn.Quantile(0.5), p99: p99,
		})
		if e.Name == "functions" {
			s.Extracted, s.Dropped = e.In, e.Dropped.Total()
		}
	}
	return s
}

// summary sums up what has been done so far. end is the level of the stream at the end, nil while the run goes on.
func (j *job) summary(end *level) summary {
	s := newSummary(j.pipe.Stats(), j.loader.rows.Load(), j.failures.count())
	d := j.durable
	if d == nil {
		return s
	}
	alone := end
	if j.nats != "" && j.half != bothHalves {
		alone = nil // what the stream has dropped, and what other processes have taken, can't be told apart
	}
	e := d.meter.edge(j.onFull, alone)
	s.Extracted, s.Dropped = e.In-d.found.waiting, e.Dropped
	s.Found, s.Published = d.found.waiting, d.found.confirmed+d.meter.confirmed()
	if end != nil {
		s.Published, s.Left = end.confirmed, end.waiting // other processes may have stored some, too
	}
	i := slices.IndexFunc(s.Edges, func(e edge) bool { return e.Name == "load.in" })
	s.Edges = slices.Insert(s.Edges, max(i, 0), e)
	return s
}

// bottleneck is the stage that sets the pace. It is never the way into the stream, which seems busy while it waits for room.
func (j *job) bottleneck() flow.Bottleneck {
	stats := j.pipe.Stats()
	stats.Stages = slices.DeleteFunc(stats.Stages, func(s flow.StageStats) bool { return s.Name == "functions.in" })
	return stats.Bottleneck()
}

func (s *summary) json(out *bytes.Buffer) error { return json.NewEncoder(out).Encode(s) }

// print writes the counts and the table of the edges.
func (s *summary) print(out *bytes.Buffer) error {
	fmt.Fprintf(out, "%d files: %d parsed, %d failed; %d functions: %d loaded, %d dropped; %.1f s\n\n",
		s.Files, s.Parsed, s.Failed, s.Extracted, s.Loaded, s.Dropped, s.Seconds)
	s.printStream(out)
	var rows bytes.Buffer
	fmt.Fprintln(&rows, "edge\tcapacity\thighest\tin\tout\tdropped\tblocked\twait p50\twait p99\t")
	for _, e := range s.Edges {
		fmt.Fprintf(&rows, "%s\t%d\t%d\t%d\t%d\t%d\t%.1f s\t%s\t%s\t\n", e.Name, e.Capacity, e.MaxDepth, e.In, e.Out, e.Dropped,
			e.BlockedSeconds, short(e.p50), short(e.p99))
	}
	return align(out, &rows, tabwriter.AlignRight)
}

// printStream writes what there is to say of the stream, if functions go through one.
func (s *summary) printStream(out *bytes.Buffer) {
	if s.Published > 0 {
		fmt.Fprintf(out, "stream: %d functions found in it, %d confirmed in all, %d left for the next run\n\n", s.Found, s.Published, s.Left)
	}
}

// align writes rows as a table.
func align(out, rows *bytes.Buffer, flags uint) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', flags)
	if _, err := rows.WriteTo(t); err != nil {
		return err
	}
	return t.Flush()
}

// short is a duration with a precision that can be read.
func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	default:
		return d.Round(100 * time.Nanosecond).String()
	}
}

// printTop lists the most complex functions, as the database has them.
func printTop(ctx context.Context, out *bytes.Buffer, tab table) error {
	top, err := tab.Top(ctx, 10)
	if err != nil {
		return fmt.Errorf("read the most complex functions: %w", err)
	}
	if len(top) == 0 {
		return nil
	}
	var rows bytes.Buffer
	fmt.Fprintln(&rows, "complexity\tlines\tname\tplace")
	for _, f := range top {
		fmt.Fprintf(&rows, "%d\t%d\t%s\t%s:%d\n", f.complexity, f.lines, f.name, f.file, f.line)
	}
	fmt.Fprintln(out, "\nthe most complex functions:")
	return align(out, &rows, 0)
}
