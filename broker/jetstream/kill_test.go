package jetstream

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/internal/natstest"
	"github.com/weir-go/weir/stage"
)

// The tests that end servers under load do as much as `make test` has time for. The full form, and a repetition:
//
//	go test ./broker/jetstream -run 'UnderLoad' -v -timeout 20m -kills 20 -messages 100000
//	go test ./broker/jetstream -run 'UnderLoad' -v -seed 17
var (
	killsFlag    = flag.Int("kills", 0, "how often the tests that end servers do so; 0 is a few times")
	messagesFlag = flag.Int("messages", 0, "how many messages they move; 0 is some")
	seedFlag     = flag.Uint64("seed", 0, "seed of the moments; 0 is a new one")
)

// ordeal is how much is to be moved, and when something bad happens meanwhile.
type ordeal struct {
	t        *testing.T
	messages int
	moments  []int64 // after so many messages
	rng      *rand.Rand
}

func newOrdeal(t *testing.T, kills, messages int) *ordeal {
	t.Helper()
	seed := cmp.Or(*seedFlag, rand.Uint64N(1<<32))
	t.Logf("seed %d", seed)
	o := &ordeal{t: t, messages: cmp.Or(*messagesFlag, messages), rng: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // a seed is wanted
	for range cmp.Or(*killsFlag, kills) {
		o.moments = append(o.moments, 1+o.rng.Int64N(int64(o.messages)*9/10))
	}
	slices.Sort(o.moments)
	return o
}

// pause waits for a random time.
func (o *ordeal) pause(most time.Duration) { time.Sleep(time.Duration(o.rng.Int64N(int64(most)))) }

// each calls bad at every moment, as far as stored says. It returns early when the run has ended.
func (o *ordeal) each(run *flow.Run, stored func() int64, bad func()) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for _, at := range o.moments {
		for stored() < at {
			select {
			case <-run.Done():
				return
			case <-tick.C:
			}
		}
		o.pause(20 * time.Millisecond)
		bad()
	}
}

// ledger counts what is inside a pipeline: from where a message is decoded to where it is stored.
type ledger struct {
	broker.Codec[int]
	decoded, finished, held atomic.Int64 // held is the most there ever was
}

func newLedger() *ledger { return &ledger{Codec: broker.JSON[int]()} }

func (l *ledger) Decode(data []byte, v *int) error {
	in := l.decoded.Add(1) - l.finished.Load()
	for most := l.held.Load(); in > most && !l.held.CompareAndSwap(most, in); most = l.held.Load() {
	}
	return l.Codec.Decode(data, v)
}

// countedSink is a Sink that tells a ledger what it has stored.
type countedSink struct {
	*Sink[int]
	ledger *ledger
}

func (s *countedSink) Push(ctx context.Context, values []int) error {
	return s.count(len(values), s.Sink.Push(ctx, values))
}

func (s *countedSink) PushItems(ctx context.Context, items []stage.Item[int]) error {
	return s.count(len(items), s.Sink.PushItems(ctx, items))
}

func (s *countedSink) count(n int, err error) error {
	if bad, ok := errors.AsType[*stage.BatchError](err); ok {
		n -= len(bad.Items)
	}
	s.ledger.finished.Add(int64(n))
	return err
}

// sampler looks at a stream and its consumer every 10 ms, whenever the server answers.
type sampler struct {
	depth      uint64 // the most messages that were in the stream
	ackPending int    // the most that were unsettled
	looks      int
}

func (s *sampler) run(ctx context.Context, js jetstream.JetStream, stream, consumer string) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.look(ctx, js, stream, consumer)
		case <-ctx.Done():
			return
		}
	}
}

func (s *sampler) look(ctx context.Context, js jetstream.JetStream, stream, consumer string) {
	ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if st, err := js.Stream(ctx, stream); err == nil {
		s.depth = max(s.depth, st.CachedInfo().State.Msgs)
		s.looks++
	}
	if c, err := js.Consumer(ctx, stream, consumer); err == nil {
		s.ackPending = max(s.ackPending, c.CachedInfo().NumAckPending)
	}
}

// relay moves numbered messages through stream IN, a pipeline and stream S, on connections of their own.
type relay struct {
	in     StreamConfig
	source SourceConfig
	sink   SinkConfig[int]

	src    *Source[int]
	out    *countedSink
	ledger *ledger
	seen   sampler
	bound  int
}

func newRelay(replicas int) *relay {
	return &relay{
		in: StreamConfig{Name: "IN", Subjects: []string{"in"}, MaxMessages: 500, Replicas: replicas},
		source: SourceConfig{
			Stream: "IN", Durable: "d", MaxAckPending: 256, AckWait: 2 * time.Second, PullExpiry: time.Second,
		},
		sink:   SinkConfig[int]{Stream: "S", To: "s.x", OnFull: flow.Reject},
		ledger: newLedger(),
	}
}

// run moves the messages of o while bad happens at its moments. All of them are in S afterwards.
func (r *relay) run(l *lab, o *ordeal, bad func()) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), time.Minute+time.Duration(o.messages)*5*time.Millisecond)
	defer cancel()
	if err := EnsureStream(ctx, l.nc, r.in); err != nil {
		o.t.Fatal(err)
	}
	feed, err := flow.FromSlice(numbers(o.messages)).
		To(NewSink(l.connect(), broker.JSON[int](), SinkConfig[int]{Stream: "IN", To: "in"})).Start(ctx)
	if err != nil {
		o.t.Fatal(err)
	}
	nc := l.connect()
	r.src = NewSource(nc, broker.Codec[int](r.ledger), r.source)
	r.out = &countedSink{NewSink(nc, broker.JSON[int](), r.sink), r.ledger}
	pipe := flow.FromItems(r.src).
		Parallel(4, func(_ context.Context, n int) (int, error) { return n, nil }).
		To(r.out, flow.Gather(64, 10*time.Millisecond))
	r.bound = pipe.Graph().Bound
	work, err := pipe.Start(ctx)
	if err != nil {
		o.t.Fatal(err)
	}

	var watching sync.WaitGroup
	watched, unwatch := context.WithCancel(ctx)
	watching.Go(func() { r.seen.run(watched, l.js, "IN", "d") })
	o.each(work, func() int64 { return r.out.Stats().Stored }, bad)
	if err := feed.Wait(); err != nil {
		o.t.Errorf("the feed ended with %v", err)
	}
	r.src.fetcher.EndWhenEmpty()
	if err := work.Wait(); err != nil {
		o.t.Errorf("the run ended with %v", err)
	}
	unwatch()
	watching.Wait()
}

// verify checks what has arrived, and what there was on the way.
func (r *relay) verify(l *lab, o *ordeal) {
	o.t.Helper()
	times := make([]int, o.messages+1)
	for _, body := range bodies(o.t, l.js) {
		n, err := strconv.Atoi(body)
		if err != nil || n < 1 || n > o.messages {
			o.t.Fatalf("a message that nobody has sent: %q", body)
		}
		times[n]++
	}
	lost, twice := 0, 0
	for _, n := range times[1:] {
		lost += max(1-n, 0)
		twice += max(n-1, 0)
	}
	most, held := r.source.MaxAckPending, r.ledger.held.Load()
	o.t.Logf("messages %d, kills %d, lost %d, duplicates %d of at most %d; %d looks: depth %d of at most %d, unsettled %d of at most %d; inside %d of at most %d; late repetitions %d",
		o.messages, len(o.moments), lost, twice, len(o.moments)*most,
		r.seen.looks, r.seen.depth, r.in.MaxMessages, r.seen.ackPending, most, held, r.bound, r.out.Stats().Sender.Late)
	if lost != 0 || twice > len(o.moments)*most {
		o.t.Errorf("%d lost and %d duplicates, want none and at most %d", lost, twice, len(o.moments)*most)
	}
	if r.seen.looks == 0 || r.seen.depth > uint64(r.in.MaxMessages) || r.seen.ackPending > most {
		o.t.Errorf("depth %d and %d unsettled in %d looks, want at most %d and %d", r.seen.depth, r.seen.ackPending, r.seen.looks, r.in.MaxMessages, most)
	}
	if r.bound == 0 || held > int64(r.bound) {
		o.t.Errorf("%d were inside the pipeline, its graph says at most %d", held, r.bound)
	}
}

// F5 and F7: a server process is killed again and again. Nothing is lost, no more is repeated for each kill than was in flight, and
// no bound is exceeded.
func TestServerKilledUnderLoad(t *testing.T) {
	t.Parallel()
	o := newOrdeal(t, 4, 5000)
	p := natstest.Child(t, t.TempDir(), 0)
	l := labAt(t, p.URL())
	l.stream(onDisk, limits, depth(int64(2*o.messages+10_000)))
	r := newRelay(1)
	r.run(l, o, func() {
		p.Kill()
		o.pause(100 * time.Millisecond)
		p.Start()
	})
	r.verify(l, o)
}

// The leader of replicated streams is stopped again and again, and comes back.
func TestLeaderStoppedUnderLoad(t *testing.T) {
	t.Parallel()
	o := newOrdeal(t, 3, 1500)
	nodes := natstest.Cluster(t, 3)
	l := labAt(t, nodes.URL())
	l.stream(onDisk, limits, replicas(3), depth(int64(2*o.messages+10_000)))
	r := newRelay(3)
	r.run(l, o, func() {
		down := nodes.StreamLeader("IN")
		nodes.Stop(down)
		o.pause(200 * time.Millisecond)
		nodes.Restart(down)
		nodes.AwaitReady()
	})
	r.verify(l, o)
}
