package natstest

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	account     = "$G"        // where streams are that belong to no account
	patience    = time.Minute // for a cluster to assemble, or to choose a leader
	lookAgain   = 10 * time.Millisecond
	clusterName = "natstest"
)

// Nodes are the servers of a cluster, all in this process.
type Nodes struct {
	tb      testing.TB
	options []*server.Options
	servers []*server.Server // nil where one is stopped
}

// Cluster starts n servers and returns when they have chosen a leader and all are up to date. They stop when the test ends.
func Cluster(tb testing.TB, n int) *Nodes {
	tb.Helper()
	c := &Nodes{tb: tb, servers: make([]*server.Server, n)}
	ports := Ports(tb, 2*n)
	clients, routes := ports[:n], ports[n:]
	var peers []*url.URL
	for _, port := range routes {
		peers = append(peers, &url.URL{Scheme: "nats-route", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	for i := range n {
		c.options = append(c.options, &server.Options{
			ServerName: fmt.Sprintf("node-%d", i),
			Host:       "127.0.0.1",
			Port:       clients[i],
			JetStream:  true,
			StoreDir:   tb.TempDir(),
			NoLog:      true,
			NoSigs:     true,
			Cluster:    server.ClusterOpts{Name: clusterName, Host: "127.0.0.1", Port: routes[i]},
			Routes:     peers,
		})
	}
	tb.Cleanup(c.stopAll)
	for i := range n {
		c.run(i)
	}
	c.AwaitReady()
	return c
}

func (c *Nodes) run(i int) {
	c.tb.Helper()
	s, err := server.NewServer(c.options[i].Clone())
	if err != nil {
		c.tb.Fatal(err)
	}
	c.servers[i] = s
	go s.Start()
}

func (c *Nodes) stopAll() {
	for i, s := range c.servers {
		if s != nil {
			c.Stop(i)
		}
	}
}

// URL names all nodes.
func (c *Nodes) URL() string {
	urls := make([]string, len(c.options))
	for i := range urls {
		urls[i] = c.NodeURL(i)
	}
	return strings.Join(urls, ",")
}

// NodeURL names one.
func (c *Nodes) NodeURL(i int) string { return fmt.Sprintf("nats://127.0.0.1:%d", c.options[i].Port) }

// AwaitReady waits until the running nodes have one leader and all are up to date.
func (c *Nodes) AwaitReady() {
	c.tb.Helper()
	c.await("the cluster is ready", func() bool {
		running, leaders, known := 0, 0, 0
		for _, s := range c.servers {
			if s == nil {
				continue
			}
			if !s.JetStreamIsCurrent() || !s.ReadyForConnections(lookAgain) {
				return false
			}
			running++
			if s.JetStreamIsLeader() {
				leaders++
				known = len(s.JetStreamClusterPeers())
			}
		}
		return leaders == 1 && known >= running
	})
}

// Stop stops a node.
func (c *Nodes) Stop(i int) {
	c.servers[i].Shutdown()
	c.servers[i].WaitForShutdown()
	c.servers[i] = nil
}

// Restart starts a node that was stopped, with its streams and its port. It does not wait until the node is up to date.
func (c *Nodes) Restart(i int) {
	c.tb.Helper()
	c.run(i)
}

// StreamLeader is the node that leads a stream. It waits until there is one.
func (c *Nodes) StreamLeader(stream string) int {
	c.tb.Helper()
	return c.leader("stream "+stream, func(s *server.Server) bool { return s.JetStreamIsStreamLeader(account, stream) })
}

// ConsumerLeader is the node that leads a consumer. It waits until there is one.
func (c *Nodes) ConsumerLeader(stream, consumer string) int {
	c.tb.Helper()
	return c.leader("consumer "+consumer, func(s *server.Server) bool {
		return s.JetStreamIsConsumerLeader(account, stream, consumer)
	})
}

// StepDownStream makes the leader of a stream resign. It does not wait for the next one.
func (c *Nodes) StepDownStream(stream string) {
	c.tb.Helper()
	if err := c.servers[c.StreamLeader(stream)].JetStreamStepdownStream(account, stream); err != nil {
		c.tb.Fatal(err)
	}
}

// StepDownConsumer makes the leader of a consumer resign. It does not wait for the next one.
func (c *Nodes) StepDownConsumer(stream, consumer string) {
	c.tb.Helper()
	if err := c.servers[c.ConsumerLeader(stream, consumer)].JetStreamStepdownConsumer(account, stream, consumer); err != nil {
		c.tb.Fatal(err)
	}
}

func (c *Nodes) leader(of string, leads func(*server.Server) bool) int {
	c.tb.Helper()
	found := -1
	c.await(of+" has a leader", func() bool {
		for i, s := range c.servers {
			if s != nil && leads(s) {
				found = i
			}
		}
		return found >= 0
	})
	return found
}

func (c *Nodes) await(what string, ok func() bool) {
	c.tb.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(lookAgain) {
		if time.Now().After(end) {
			c.tb.Fatalf("after %v it is not so that %s", patience, what)
		}
	}
}
