package natstest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/weir-go/weir/broker/jetstream/embedded"
)

// Variables by which the test binary knows that it is to be a server.
const (
	dirVariable    = "WEIR_NATSTEST_DIR"
	listenVariable = "WEIR_NATSTEST_LISTEN"
)

const readyLine = "ready\n"

// ServeIfChild turns the process into a server if it is one that [Child] has started, and does not return then. It is the first line of
// TestMain in a package that uses Child.
func ServeIfChild() {
	dir := os.Getenv(dirVariable)
	if dir == "" {
		return
	}
	if err := serve(embedded.Config{Dir: dir, Listen: os.Getenv(listenVariable)}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve runs a server until its parent closes the pipe, or is gone.
func serve(c embedded.Config) error {
	srv, err := embedded.Start(c)
	if err != nil {
		return err
	}
	fmt.Print(readyLine)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return srv.Close()
}

// Process is a server in a process of its own.
type Process struct {
	tb     testing.TB
	dir    string
	listen string

	cmd   *exec.Cmd
	stdin io.Closer
}

// Child starts a server in a process of its own, and returns when it takes connections. Its streams are in dir, it listens on a
// port of 127.0.0.1, any that is free if port is 0. It is killed when the test ends.
func Child(tb testing.TB, dir string, port int) *Process {
	tb.Helper()
	if port == 0 {
		port = Ports(tb, 1)[0]
	}
	p := &Process{tb: tb, dir: dir, listen: "127.0.0.1:" + strconv.Itoa(port)}
	p.Start()
	tb.Cleanup(func() {
		if p.cmd != nil {
			p.Kill()
		}
	})
	return p
}

// URL is where it listens.
func (p *Process) URL() string { return "nats://" + p.listen }

// Start starts the server again, with the same streams and port, after Kill or Stop.
func (p *Process) Start() {
	p.tb.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$") //nolint:gosec // this program itself
	cmd.Env = append(os.Environ(), dirVariable+"="+p.dir, listenVariable+"="+p.listen)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		p.tb.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		p.tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.tb.Fatal(err)
	}
	p.cmd, p.stdin = cmd, stdin
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != readyLine {
		p.Kill()
		p.tb.Fatalf("the server said %q instead of being ready: %v", line, err)
	}
}

// Kill kills it: nothing is written, nobody is told.
func (p *Process) Kill() {
	p.tb.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.tb.Error(err)
	}
	_ = p.cmd.Wait() // says that it was killed
	p.cmd = nil
}

// Stop has it shut down in an orderly way.
func (p *Process) Stop() {
	p.tb.Helper()
	if err := p.stdin.Close(); err != nil {
		p.tb.Error(err)
	}
	if err := p.cmd.Wait(); err != nil {
		p.tb.Error(err)
	}
	p.cmd = nil
}
