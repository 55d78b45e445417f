package flow_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

var errBusy = errors.New("busy")

// busyTwice is a service that is busy for the first two calls.
func busyTwice() func(context.Context, string) (string, error) {
	calls := 0
	return func(_ context.Context, s string) (string, error) {
		if calls++; calls <= 2 {
			return "", errBusy
		}
		return fmt.Sprintf("%s after %d calls", s, calls), nil
	}
}

// Decisions are tried in order. They do not depend on the type of the items, so one set serves many stages.
func ExampleOnError() {
	letters := stage.NewCollector[stage.DeadLetter](10)
	careful := flow.OnError(
		flow.Retry(3, flow.Exponential(time.Microsecond, time.Millisecond)),
		flow.DeadLetter(letters),
	)
	err := flow.FromSlice([]string{"1", "two", "3"}).
		TryMap(flow.NoContext(strconv.Atoi), flow.Name("parse"), careful).
		ForEach(func(_ context.Context, i int) error {
			fmt.Println(i)
			return nil
		}, careful).
		Run(context.Background())
	for _, l := range letters.Items() {
		fmt.Println("letter:", l.Value, "failed", l.Attempt, "times in", l.Stage)
	}
	fmt.Println(err)
	// Output:
	// 1
	// 3
	// letter: two failed 4 times in parse
	// <nil>
}

// Stop is the default: the first error ends the run. Written out, it keeps a decision behind it from being tried.
func ExampleDecision_stop() {
	bad := func(err error) bool { return errors.Is(err, strconv.ErrRange) }
	_, err := flow.FromSlice([]string{"x", "99999999999999999999"}).
		TryMap(flow.NoContext(strconv.Atoi), flow.OnError(flow.If(bad, flow.Stop), flow.Skip)).
		Collect(context.Background(), 10)
	fmt.Println(err)
	// Output: trymap#2: strconv.Atoi: parsing "99999999999999999999": value out of range
}

// Skip lets the item go and counts it.
func ExampleDecision_skip() {
	numbers, err := flow.FromSlice([]string{"1", "two", "3"}).
		TryMap(flow.NoContext(strconv.Atoi), flow.OnError(flow.Skip)).
		Collect(context.Background(), 10)
	fmt.Println(numbers, err)
	// Output: [1 3] <nil>
}

// stubborn is a broker with two messages, which delivers one again when it has failed.
type stubborn struct {
	waiting []string
	open    int
}

// PullItems implements stage.ItemSource. It is called by the goroutine that works on the messages, so nothing here needs a lock.
func (b *stubborn) PullItems(_ context.Context, dst []stage.Item[string]) (int, error) {
	if b.open == 0 {
		return 0, stage.ErrEnd
	}
	dst[0] = stage.Claimed(b.waiting[0], stage.Meta{}, b, uint64(len(b.waiting[0])))
	b.waiting = b.waiting[1:]
	return 1, nil
}

// Settle implements stage.Settler.
func (b *stubborn) Settle(token uint64, o stage.Outcome) {
	fmt.Println("message of", token, "letters: failed", o.Kind == stage.Failed)
	if o.Kind == stage.Failed {
		b.waiting = append(b.waiting, "ready"[:token])
	} else {
		b.open--
	}
}

// Redeliver leaves it to the broker: the message fails, the others go on, and it comes again later.
func ExampleDecision_redeliver() {
	broker := &stubborn{waiting: []string{"ready", "re"}, open: 2}
	calls := 0
	err := flow.FromItems(broker).
		ForEach(func(context.Context, string) error {
			if calls++; calls == 1 {
				return errBusy
			}
			return nil
		}, flow.OnError(flow.Redeliver)).
		Run(context.Background())
	fmt.Println(calls, "calls,", err)
	// Output:
	// message of 5 letters: failed true
	// message of 2 letters: failed false
	// message of 5 letters: failed false
	// 3 calls, <nil>
}

// Retry calls again, with a pause in between.
func ExampleRetry() {
	answers, err := flow.FromSlice([]string{"ready"}).
		TryMap(busyTwice(), flow.OnError(flow.Retry(5, flow.Exponential(time.Microsecond, time.Millisecond)))).
		Collect(context.Background(), 10)
	fmt.Println(answers, err)
	// Output: [ready after 3 calls] <nil>
}

// The pause before a retry is drawn between zero and a ceiling that doubles, up to a limit.
func ExampleExponential() {
	pauses := flow.Exponential(10*time.Millisecond, 50*time.Millisecond)() // a fresh one for each failing item
	for _, ceiling := range []int64{10, 20, 40, 50, 50} {
		pause := pauses.NextBackOff()
		fmt.Println(pause >= 0 && pause.Milliseconds() <= ceiling)
	}
	// Output:
	// true
	// true
	// true
	// true
	// true
}

// A dead letter is the item with its error, for somebody to look at. The run goes on.
func ExampleDeadLetter() {
	letters := stage.SinkFunc(func(_ context.Context, ls []stage.DeadLetter) error {
		for _, l := range ls {
			fmt.Printf("%s: %q: %v\n", l.Stage, l.Value, errors.Is(l.Err, strconv.ErrSyntax))
		}
		return nil
	})
	numbers, err := flow.FromSlice([]string{"1", "two", "3"}).
		TryMap(flow.NoContext(strconv.Atoi), flow.Name("parse"), flow.OnError(flow.DeadLetter(letters))).
		Collect(context.Background(), 10)
	fmt.Println(numbers, err)
	// Output:
	// parse: "two": true
	// [1 3] <nil>
}

// A decision for some errors: only a busy service is worth another call.
func ExampleIf() {
	busy := func(err error) bool { return errors.Is(err, errBusy) }
	patient := flow.If(busy, flow.Retry(5, flow.Exponential(time.Microsecond, time.Millisecond)))
	answers, err := flow.FromSlice([]string{"ready"}).
		TryMap(busyTwice(), flow.OnError(patient)).
		Collect(context.Background(), 10)
	fmt.Println(answers, err)
	// Output: [ready after 3 calls] <nil>
}
