package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-go/weir/broker/jetstream/embedded"
)

// asProgram makes the test binary the program, so that it can start itself.
const asProgram = "WEIR_CONSUME_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// done is what a worker has said at its end.
type done struct{ handled, misplaced, redelivered, dead, returned int }

var doneLine = regexp.MustCompile(`(?m)^worker \S+: (\d+) handled, (\d+) out of order, (\d+) redelivered, (\d+) dead letters, (\d+) given back$`)

// workersOf reads what the workers have said, and adds it up.
func workersOf(t *testing.T, out string) (each []done, all done) {
	t.Helper()
	for _, m := range doneLine.FindAllStringSubmatch(out, -1) {
		var n [5]int
		for i := range n {
			n[i], _ = strconv.Atoi(m[i+1]) // the expression takes digits only
		}
		each = append(each, done{n[0], n[1], n[2], n[3], n[4]})
		all.handled += n[0]
		all.misplaced += n[1]
		all.redelivered += n[2]
		all.dead += n[3]
		all.returned += n[4]
	}
	return each, all
}

// fails is how often the first n orders fail without becoming dead letters: so often they come again.
func fails(n int) (again, dead int) {
	for _, o := range makeOrders(n) {
		switch {
		case o.Cents < 0:
			again += attempts - 1
			dead++
		case o.Cents%20 == 0:
			again++
		}
	}
	return again, dead
}

func TestProcessesShareTheOrders(t *testing.T) {
	const orders = 300
	t.Setenv(asProgram, "1") // for the workers
	var buf bytes.Buffer
	if err := run(t.Context(), options{workers: 2, orders: orders}, &buf); err != nil {
		t.Fatalf("run() = %v, want nil; it said\n%s", err, buf.String())
	}
	out := buf.String()
	again, dead := fails(orders)
	each, all := workersOf(t, out)
	if len(each) != 2 || each[0].handled == 0 || each[1].handled == 0 {
		t.Fatalf("it said\n%s\nwant two workers, and each of them to have handled some", out)
	}
	if all.handled != orders-dead || all.dead != dead || all.misplaced != 0 {
		t.Errorf("%+v, want %d handled, %d dead letters, none out of order; it said\n%s", all, orders-dead, dead, out)
	}
	// What is given back comes once more, and what was given back unseen had come without being counted.
	if all.redelivered < again-all.returned || all.redelivered > again+all.returned {
		t.Errorf("%d redelivered, want the %d that have failed, but for the %d given back", all.redelivered, again, all.returned)
	}
	for _, want := range []string{
		"worker 1 is ready\n", "worker 2 is ready\n", "300 orders are stored", "worker 1 is told to stop, the others go on\nworker 1: ",
		fmt.Sprintf("all %d orders are done, %d of them as dead letters\n", orders, dead),
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it said\n%s\nwant %q in it", out, want)
		}
	}
}

func TestAWorkerThatFailsIsReported(t *testing.T) {
	t.Setenv(asProgram, "1")
	var reported error
	team, err := hire(t.Context(), func(err error) { reported = err }, 1, "nats://bad url", &shared{w: io.Discard})
	if err == nil {
		t.Error("hire() = nil, want an error")
	}
	want := "worker 1: exit status 1"
	if err := stop(team); err == nil || err.Error() != want || !errors.Is(err, reported) {
		t.Errorf("stop() = %v, and %v was reported, want %s", err, reported, want)
	}
}

func TestAWorkerAtAServer(t *testing.T) {
	srv, err := embedded.Start(embedded.Config{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = srv.Close() }()
	var said bytes.Buffer
	if err := run(t.Context(), options{nats: srv.URL(), publish: 50}, &said); err != nil {
		t.Fatal(err)
	}
	if want := "50 orders are stored"; !strings.HasPrefix(said.String(), want) {
		t.Errorf("publish said %q, want %q", said.String(), want)
	}
	nc, err := srv.Conn()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, options{nats: srv.URL(), name: "worker x"}, &out) }()
	if err := untilEmpty(ctx, nc); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if _, all := workersOf(t, out.String()); all.handled != 49 || all.dead != 1 {
		t.Errorf("the worker said %q, want 49 handled and 1 dead letters", out.String())
	}
}

func TestMistakesInTheCommandLine(t *testing.T) {
	for args, want := range map[string]string{
		"here": "unexpected argument", "-publish 5": "-publish needs -nats", "-workers 0": "-workers must be", "-orders 0": "-orders must be",
		"-fast": "not defined",
	} {
		if _, err := parseOptions(strings.Fields(args), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", args, err, want)
		}
	}
}
