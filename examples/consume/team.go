package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// colleague is a worker in a process of its own: this program, with other flags.
type colleague struct {
	name  string
	cmd   *exec.Cmd
	ready chan struct{} // closed when it has said something
	ended chan struct{}
	err   error // how it has ended
}

// hire starts n workers, and waits until all of them are ready. What they say goes to out. One that fails is told to failed.
func hire(ctx context.Context, failed func(error), n int, url string, out *shared) ([]*colleague, error) {
	var team []*colleague
	for i := range n {
		c, err := newColleague(fmt.Sprintf("worker %d", i+1), url, out, failed)
		if err != nil {
			return team, err
		}
		team = append(team, c)
	}
	for _, c := range team {
		select {
		case <-c.ready:
		case <-c.ended:
			return team, fmt.Errorf("%s has ended before it was ready", c.name)
		case <-ctx.Done():
			return team, context.Cause(ctx)
		}
	}
	return team, nil
}

func newColleague(name, url string, out *shared, failed func(error)) (*colleague, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &colleague{name: name, ready: make(chan struct{}), ended: make(chan struct{})}
	c.cmd = exec.Command(self, "-nats", url, "-name", name) //nolint:noctx // it is told to stop, and then takes its time
	c.cmd.Stderr = out
	said, err := c.cmd.StdoutPipe()
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(c.ended)
		c.listen(said, out)
		if err := c.cmd.Wait(); err != nil {
			c.err = fmt.Errorf("%s: %w", name, err)
			failed(c.err)
		}
	}()
	return c, nil
}

// listen passes on what the worker says, line by line.
func (c *colleague) listen(said io.Reader, out io.Writer) {
	ready := sync.OnceFunc(func() { close(c.ready) })
	for text := bufio.NewScanner(said); text.Scan(); ready() {
		_, _ = fmt.Fprintln(out, text.Text())
	}
}

// stop tells workers to stop, those that have not ended, and waits until they have.
func stop(team []*colleague) error {
	var errs []error
	for _, c := range team {
		if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			errs = append(errs, err, c.cmd.Process.Kill()) // no signals here: its orders come back after a while
		}
	}
	for _, c := range team {
		<-c.ended
		errs = append(errs, c.err)
	}
	return errors.Join(errs...)
}

// shared is a writer for several goroutines.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements io.Writer.
func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}
