package jetprom_test

import (
	_ "embed"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/jetstream"
	"github.com/weir-go/weir/broker/jetstream/jetprom"
)

var (
	_ jetprom.Statser[jetstream.SourceStats]  = (*jetstream.Source[int])(nil)
	_ jetprom.Statser[jetstream.FetcherStats] = (*jetstream.Fetcher)(nil)
	_ jetprom.Statser[jetstream.SinkStats]    = (*jetstream.Sink[int])(nil)
	_ jetprom.Statser[jetstream.SenderStats]  = (*jetstream.Sender)(nil)
	_ jetprom.Statser[broker.SourceStats]     = (*broker.Source[int])(nil)
	_ jetprom.Statser[broker.SinkStats]       = (*broker.EdgeSink[int])(nil)
)

// fixed is a part that has counted something.
type fixed[S jetprom.Stats] struct{ stats S }

func (f fixed[S]) Stats() S { return f.stats }

// A number of its own for each field, so that one that is exchanged for another shows.
var (
	sourceStats = jetstream.SourceStats{
		Received: 101, Redelivered: 102, InFlight: 103, Done: 104, Terminated: 105, Failed: 106, GivenBack: 107,
		Undecodable: 108, BadHeaders: 109, DeadLetters: 110, Unburied: 111, Discarded: 112,

		Pending: 201, Waiting: 202, AckPending: 203, Acked: 204, Naked: 205, Ended: 206, Returned: 207, Unsent: 208, Unproven: 209,
		LeaseLost: 210, Overheld: 211, Pulls: 212, Nudges: 213, Recreated: 214, Reconnects: 215, Stalled: "the consumer is paused",
		Lost: 216, Unseen: 217,
	}
	sinkStats = jetstream.SinkStats{
		Stored: 301, Dropped: 302, Failed: 303, Full: 304, Blocked: 305500 * time.Millisecond,
		Sender: jetstream.SenderStats{
			Published: 401, Duplicates: 402, Full: 403, Scarce: 404, Refused: 405, Unknown: 406, Retried: 407, Late: 408, InWindow: 409,
		},
	}
)

func add[S jetprom.Stats](t *testing.T, c *jetprom.Collector, name string, s S) {
	t.Helper()
	if err := c.Add(name, fixed[S]{s}); err != nil {
		t.Fatal(err)
	}
}

//go:embed testdata/all.prom
var all string

func TestEveryNumberIsExported(t *testing.T) {
	c := jetprom.New()
	add(t, c, "orders", sourceStats)
	add(t, c, "invoices", sinkStats)
	if err := testutil.CollectAndCompare(c, strings.NewReader(all)); err != nil {
		t.Error(err)
	}
	fields := 0
	for _, s := range []any{sourceStats.SourceStats, sourceStats.FetcherStats, sinkStats.SinkStats, sinkStats.Sender} {
		fields += reflect.TypeOf(s).NumField()
		for name, v := range reflect.ValueOf(s).Fields() {
			if v.IsZero() {
				t.Errorf("%T.%s has no number in this test", s, name.Name)
			}
		}
	}
	if got := testutil.CollectAndCount(c); got != fields {
		t.Errorf("%d metrics for %d fields", got, fields)
	}
	problems, err := testutil.CollectAndLint(c)
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
}

// docs/jetstream.md says what to watch. It must exist.
func TestTheGuideNamesMetricsThatExist(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/jetstream.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`\bweir_\w+`).FindAllString(string(guide), -1)
	if len(names) < 15 {
		t.Errorf("%d metrics were found, want at least 15: the guide is not understood", len(names))
	}
	for _, name := range names {
		if !strings.Contains(all, "\n"+name+"{") {
			t.Errorf("there is no %s", name)
		}
	}
}

// What has the numbers of one half only exports those.
func TestPartsAlone(t *testing.T) {
	for name, c := range map[string]struct {
		add    func(*testing.T, *jetprom.Collector)
		has    string
		hasNot string
	}{
		"a fetcher": {
			func(t *testing.T, c *jetprom.Collector) { add(t, c, "edge", sourceStats.FetcherStats) },
			`weir_fetcher_pending{name="edge"} 201`, "weir_source_",
		},
		"a source of another broker": {
			func(t *testing.T, c *jetprom.Collector) { add(t, c, "edge", sourceStats.SourceStats) },
			`weir_source_unburied_total{name="edge"} 111`, "weir_fetcher_",
		},
		"a sender": {
			func(t *testing.T, c *jetprom.Collector) { add(t, c, "edge", sinkStats.Sender) },
			`weir_sender_late_total{name="edge"} 408`, "weir_sink_",
		},
		"a sink of another broker": {
			func(t *testing.T, c *jetprom.Collector) { add(t, c, "edge", sinkStats.SinkStats) },
			`weir_sink_blocked_seconds_total{name="edge"} 305.5`, "weir_sender_",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := jetprom.New()
			c.add(t, m)
			got := text(t, m)
			if !strings.Contains(got, c.has+"\n") || strings.Contains(got, c.hasNot) {
				t.Errorf("want %s and nothing of %s:\n%s", c.has, c.hasNot, got)
			}
		})
	}
}

// text is what c collects, a line for each number.
func text(t *testing.T, c prometheus.Collector) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range families {
		for _, m := range f.GetMetric() {
			label := m.GetLabel()[0]
			fmt.Fprintf(&b, "%s{%s=%q} %v\n", f.GetName(), label.GetName(), label.GetValue(), m.GetCounter().GetValue()+m.GetGauge().GetValue())
		}
	}
	return b.String()
}

func TestNames(t *testing.T) {
	c := jetprom.New()
	for name, wrong := range map[string]string{
		"":                       "is not 1 to 64",
		strings.Repeat("n", 65):  "is not 1 to 64",
		"tenant 7":               "is not 1 to 64",
		"a\nweir_forged_total 1": "is not 1 to 64",
		`a"} 1`:                  "is not 1 to 64",
		strings.Repeat("n", 64):  "",
		"Orders.eu-1_v2":         "",
	} {
		err := c.Add(name, fixed[jetstream.SourceStats]{})
		if wrong == "" && err != nil || wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong)) {
			t.Errorf("Add(%q) = %v, want %q", name, err, wrong)
		}
	}
	if err := c.Add[jetstream.SourceStats]("nothing", nil); err == nil {
		t.Error("a nil part is accepted")
	}
}

// Prometheus refuses a series that comes twice, and with it everything else of that collector.
func TestANameStandsForOneSourceAndOneSink(t *testing.T) {
	c := jetprom.New()
	add(t, c, "edge", sourceStats)
	add(t, c, "edge", sinkStats)
	if err := c.Add("edge", fixed[jetstream.FetcherStats]{}); err == nil {
		t.Error("the metrics of a source exist twice")
	}
	if err := c.Add("edge", fixed[broker.SinkStats]{}); err == nil {
		t.Error("the metrics of a sink exist twice")
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	if _, err := registry.Gather(); err != nil {
		t.Error(err)
	}
	c.Remove("edge")
	if got := testutil.CollectAndCount(c); got != 0 {
		t.Errorf("%d metrics of what was removed", got)
	}
	add(t, c, "edge", sourceStats)
}

// Parts come and go while somebody collects.
func TestManyAtOnce(t *testing.T) {
	c := jetprom.New()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	var wg sync.WaitGroup
	for i := range 4 {
		name := fmt.Sprint("source-", i)
		wg.Go(func() {
			for range 100 {
				if err := c.Add(name, fixed[jetstream.SourceStats]{sourceStats}); err != nil {
					t.Error(err)
				}
				c.Remove(name)
			}
		})
		wg.Go(func() {
			for range 50 {
				if _, err := registry.Gather(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
