package jetstream

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// cable is a connection to a server that can break without anybody noticing.
type cable struct {
	to  string
	in  net.Listener
	url string

	mu     sync.Mutex
	ends   []net.Conn
	frozen bool // what the client sends gets lost
	wg     sync.WaitGroup
}

func newCable(t *testing.T, url string) *cable {
	t.Helper()
	in, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{to: strings.TrimPrefix(url, "nats://"), in: in, url: "nats://" + in.Addr().String()}
	c.wg.Go(c.accept)
	t.Cleanup(func() {
		_ = in.Close()
		c.cut()
		c.wg.Wait()
	})
	return c
}

func (c *cable) accept() {
	for {
		client, err := c.in.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", c.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		c.mu.Lock()
		c.ends = append(c.ends, client, server)
		c.mu.Unlock()
		c.wg.Go(func() { _, _ = io.Copy(c.through(server), client) })
		c.wg.Go(func() { _, _ = io.Copy(client, server) })
	}
}

// through is a writer to w that loses everything while the cable is frozen.
func (c *cable) through(w io.Writer) io.Writer { return lossyWriter{c, w} }

type lossyWriter struct {
	c *cable
	w io.Writer
}

func (l lossyWriter) Write(p []byte) (int, error) {
	l.c.mu.Lock()
	frozen := l.c.frozen
	l.c.mu.Unlock()
	if frozen {
		return len(p), nil
	}
	return l.w.Write(p)
}

// freeze has everything get lost that the client sends from now on. It goes on hearing from the server.
func (c *cable) freeze(frozen bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frozen = frozen
}

// cut breaks the connections for both ends to see.
func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, end := range c.ends {
		_ = end.Close()
	}
	c.ends = nil
}
