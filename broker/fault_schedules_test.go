package broker_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/memory"
	"github.com/weir-go/weir/flow"
)

var (
	faultSchedules = flag.Int("faultschedules", 120, "how many schedules TestFaultSchedules runs")
	faultSchedule  = flag.Uint64("faultschedule", 0, "the one seed that TestFaultSchedules runs; 0 is random ones")
)

// Of a schedule: how many processes share a stream, what each has in flight at most, and what counts as long for the broker.
const (
	processes   = 2
	inFlight    = 16
	scheduleAck = 10 * time.Second
	shortOutage = 3 * time.Second // with a sign of life every scheduleAck/3 nothing expires meanwhile
	settleDown  = 24 * time.Hour  // within which everything is done once the faults are over
	replays     = 50              // of one schedule: goroutines may take turns in another order
)

// plant is two processes that carry numbers from one stream to another, while faults befall them.
type plant struct {
	rnd            *rand.Rand
	total          int
	graph          int
	in, out, dead  *memory.Stream
	log            []string
	mostDuplicates int

	mu      sync.Mutex
	over    bool // no more faults
	trouble string
	calls   int // that the trouble still befalls
	slow    time.Duration
	runs    [processes]*process
	wrong   []error
}

// process is one run of the pipeline, and what it fetches with.
type process struct {
	run     *flow.Run
	fetcher *memory.Fetcher
}

func newPlant(seed uint64) *plant {
	stream := func(name string) *memory.Stream {
		return memory.NewStream(memory.StreamConfig{Name: name, MaxMessages: 100_000, AckWait: scheduleAck})
	}
	p := &plant{rnd: rand.New(rand.NewPCG(seed, 0)), in: stream("in"), out: stream("out"), dead: stream("dead")}
	p.total, p.graph = 50+p.rnd.IntN(400), p.rnd.IntN(6)
	return p
}

// pipeline is one of a few graphs. The user's function is where errors, panics and slowness come from.
func (p *plant) pipeline(f *memory.Fetcher) flow.Pipeline {
	source := broker.NewSource(f, broker.JSON[int](), broker.SourceOptions{
		Attempts: 4, DeadLetters: p.dead.Sender(memory.SendConfig{}), DeadSubject: "dead",
	})
	sink := broker.NewSink(p.out.Sender(memory.SendConfig{InFlight: 8}), broker.JSON[int](), broker.SinkOptions[int]{
		Subject: func(int) string { return "out" }, PushSize: 8,
	})
	numbers := flow.FromItems(source, flow.Name("source"))
	retry := flow.OnError(flow.Retry(2, flow.Exponential(10*time.Millisecond, time.Second)), flow.Redeliver)
	switch p.graph {
	case 0:
		numbers = numbers.TryMap(p.work, flow.OnError(flow.Redeliver))
	case 1:
		numbers = numbers.Parallel(4, p.work, retry)
	case 2:
		numbers = numbers.Buffer(4, flow.Block).Parallel(3, p.work, flow.Unordered, flow.OnError(flow.Redeliver))
	case 3:
		numbers = numbers.ParallelByKey(3, func(i int) int { return i % 5 }, p.work, retry)
	case 4:
		numbers = numbers.TryMap(p.work, flow.OnError(flow.Redeliver)).Batch(5, 20*time.Millisecond).
			FlatMap(func(is []int) []int { return is })
	default: // without a decision: an error ends the process, which is started again
		bs := numbers.TryMap(p.work).Partition(2, func(i int) int { return i % 2 })
		numbers = flow.Merge(bs...)
	}
	return numbers.To(sink, flow.Name("sink"))
}

// work hands a number on, unless it has trouble.
func (p *plant) work(ctx context.Context, i int) (int, error) {
	trouble, slow := p.next()
	if trouble == "deaf" {
		time.Sleep(3 * time.Second)
	}
	select {
	case <-time.After(slow):
	case <-ctx.Done():
		return i, context.Cause(ctx)
	}
	switch trouble {
	case "error":
		return i, errBoom
	case "panic":
		panic(errBoom)
	case "goexit":
		runtime.Goexit()
	}
	return i, nil
}

func (p *plant) next() (trouble string, slow time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls == 0 {
		return "", p.slow
	}
	p.calls--
	return p.trouble, p.slow
}

// keep runs process k again and again until a run ends well with nothing left to do.
func (p *plant) keep(ctx context.Context, k int) {
	for {
		f := p.in.Fetcher(memory.FetchConfig{InFlight: inFlight})
		r, err := p.pipeline(f).Start(ctx)
		if err == nil {
			p.mu.Lock()
			p.runs[k] = &process{r, f}
			p.mu.Unlock()
			err = r.Wait()
		}
		p.mu.Lock()
		done := p.over && err == nil
		if p.over && err != nil && ctx.Err() != nil {
			p.wrong = append(p.wrong, fmt.Errorf("process %d did not finish: %w", k, err))
			done = true
		}
		p.mu.Unlock()
		if done {
			return
		}
		time.Sleep(10 * time.Millisecond) // until somebody starts it again
	}
}

// befall does one fault, and adds how many messages it may repeat.
func (p *plant) befall() {
	victim := p.rnd.IntN(processes)
	p.mu.Lock()
	x := p.runs[victim]
	p.mu.Unlock()
	what := []string{
		"error", "panic", "goexit", "deaf", "slow", "down in", "down out", "lose confirmations", "delete consumers", "kill", "stop", "drain",
		"full", "an hour passes",
	}[p.rnd.IntN(14)]
	n, d := 1+p.rnd.IntN(6), time.Duration(1+p.rnd.IntN(4000))*time.Millisecond
	p.log = append(p.log, fmt.Sprint(what, " ", n, " ", d))
	switch what {
	case "error", "panic", "goexit", "deaf":
		p.mu.Lock()
		p.trouble, p.calls = what, n
		p.mu.Unlock()
		p.mostDuplicates += inFlight // where there is no decision the run ends, and repeats what it has not settled
	case "slow":
		p.mu.Lock()
		p.slow = time.Duration(n*n) * time.Millisecond
		p.mu.Unlock()
	case "down in":
		p.outage(p.in, d*time.Duration(n))
	case "down out":
		p.outage(p.out, d)
	case "lose confirmations":
		p.out.LoseConfirmations(n)
	case "delete consumers":
		p.in.DeleteConsumers()
		p.mostDuplicates += processes * inFlight
	case "kill":
		if x != nil {
			x.fetcher.Kill()
			x.run.Stop()
		}
		p.mostDuplicates += inFlight
	case "stop":
		if x != nil {
			x.run.Stop()
		}
		p.mostDuplicates += inFlight
	case "drain":
		if x != nil {
			ctx, cancel := context.WithTimeout(context.Background(), d)
			_ = x.run.Drain(ctx)
			cancel()
		}
		p.mostDuplicates += inFlight // its time may be too short
	case "full":
		_ = p.out.Resize(max(1, p.out.Info().Messages), 0)
		time.Sleep(d)
		_ = p.out.Resize(100_000, 0)
	case "an hour passes":
		time.Sleep(time.Hour)
	}
}

func (p *plant) outage(s *memory.Stream, d time.Duration) {
	s.Down()
	time.Sleep(d)
	s.Up()
	if d > shortOutage {
		p.mostDuplicates += processes * inFlight
	}
}

// runAll lets faults befall the processes, and then none: everything must get done.
func (p *plant) runAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleDown+100*time.Hour)
	defer cancel()
	if err := storeNumbers(ctx, p.in, p.total); err != nil {
		return err
	}
	var running sync.WaitGroup
	for k := range processes {
		running.Go(func() { p.keep(ctx, k) })
	}
	for range 3 + p.rnd.IntN(12) {
		time.Sleep(time.Duration(p.rnd.IntN(50)) * time.Millisecond)
		p.befall()
	}
	p.mu.Lock()
	p.over, p.calls, p.slow = true, 0, 0
	p.mu.Unlock()
	calm := time.Now()
	p.in.End()
	running.Wait()
	if took := time.Since(calm); took > settleDown {
		p.wrong = append(p.wrong, fmt.Errorf("it took %v to finish when the faults were over", took))
	}
	return errors.Join(append(p.wrong, p.account(ctx))...)
}

// storeNumbers stores the numbers 0 to n-1.
func storeNumbers(ctx context.Context, s *memory.Stream, n int) error {
	sender := s.Sender(memory.SendConfig{})
	if err := sender.Open(ctx); err != nil {
		return err
	}
	msgs := make([]broker.Message, n)
	for i := range msgs {
		msgs[i] = broker.Message{Subject: "in", Data: strconv.AppendInt(nil, int64(i), 10)}
	}
	return errors.Join(sender.Send(ctx, msgs), sender.Close())
}

// account is the judge: it reads what is in the streams.
func (p *plant) account(ctx context.Context) error {
	times := make([]int, p.total)
	for _, s := range []*memory.Stream{p.out, p.dead} {
		s.End()
		count := func(_ context.Context, i int) error { times[i]++; return nil }
		read := broker.NewSource(s.Fetcher(memory.FetchConfig{}), broker.JSON[int](), broker.SourceOptions{})
		if err := flow.FromItems(read).ForEach(count).Run(ctx); err != nil {
			return err
		}
	}
	var lost []int
	twice := 0
	for i, n := range times {
		if n == 0 {
			lost = append(lost, i)
		}
		twice += max(n-1, 0)
	}
	var errs []error
	if len(lost) > 0 {
		errs = append(errs, fmt.Errorf("lost: %v", lost))
	}
	if twice > p.mostDuplicates {
		errs = append(errs, fmt.Errorf("%d repeated, want at most %d", twice, p.mostDuplicates))
	}
	if left := p.in.Info().Messages; left != 0 {
		errs = append(errs, fmt.Errorf("%d messages are left", left))
	}
	return errors.Join(errs...)
}

// TestFaultSchedules lets a random sequence of faults befall two processes that carry messages from stream to stream: errors, panics
// and ends of goroutines in user code, slow and deaf calls, brokers that go down, lose confirmations or are full, consumers that are
// deleted, processes that are killed, stopped and drained, hours that pass. Then the faults end, and everything must get done: nothing
// lost, no more repeated than was in flight each time, nobody left. A failure prints the command that repeats its schedule.
func TestFaultSchedules(t *testing.T) {
	var seeds []uint64
	if *faultSchedule != 0 {
		seeds = slices.Repeat([]uint64{*faultSchedule}, replays)
	} else {
		for range *faultSchedules {
			seeds = append(seeds, rand.Uint64N(1<<40)+1)
		}
	}
	for _, seed := range seeds {
		p := newPlant(seed)
		if err := inPlant(t, p); err != nil {
			t.Fatalf("graph %d, %d messages: %v\nfaults: %s\nto repeat it:\n\tgo test -race ./broker -run '^TestFaultSchedules$' -count=1 -faultschedule %d",
				p.graph, p.total, err, strings.Join(p.log, ", "), seed)
		}
	}
	t.Logf("%d schedules", len(seeds))
}

// inPlant runs p in virtual time. What is left over is an error, so that there is a seed to it.
func inPlant(t *testing.T, p *plant) (err error) {
	t.Helper()
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the bubble failed: %v", v)
		}
	}()
	synctest.Test(t, func(t *testing.T) { err = p.runAll(context.WithoutCancel(t.Context())) })
	return err
}
