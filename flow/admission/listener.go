package admission

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// ListenerConfig says how many connections are taken. Only Limit is required.
type ListenerConfig struct {
	Limit int // connections open at a time, >= 1

	// RetryAfter is what those who find no room are told, rounded up to whole seconds; 0 means 1 s.
	RetryAfter time.Duration

	// Linger is how long a refused client gets to send what it is sending and to read the answer; 0 means 5 s. At most Refusals are
	// told so at a time, 0 means 64; while there are as many, further connections wait in the kernel's backlog.
	Linger   time.Duration
	Refusals int

	// Backlog is how many connections the kernel keeps until they are accepted, where that can be set (Linux); 0 leaves it as it is.
	Backlog int

	// TLS makes the connections TLS, refused ones included. Do not wrap the listener with tls.NewListener instead: a refusal would
	// be sent in clear text.
	TLS *tls.Config
}

func (c ListenerConfig) withDefaults() ListenerConfig {
	if c.RetryAfter == 0 {
		c.RetryAfter = time.Second
	}
	if c.Linger == 0 {
		c.Linger = 5 * time.Second
	}
	if c.Refusals == 0 {
		c.Refusals = 64
	}
	return c
}

func (c ListenerConfig) validate() error {
	const of = "ListenerConfig"
	return errors.Join(
		check(c.Limit >= 1, of, "Limit", ">= 1", c.Limit),
		check(c.RetryAfter > 0 && c.RetryAfter <= longestRetry, of, "RetryAfter", "above 0, and at most 24h", c.RetryAfter),
		check(c.Linger > 0, of, "Linger", "> 0", c.Linger),
		check(c.Refusals >= 1, of, "Refusals", ">= 1", c.Refusals),
		check(c.Backlog >= 0, of, "Backlog", ">= 0", c.Backlog),
	)
}

// Listener hands out at most Limit connections at a time. A client beyond that is answered with a fixed 503 and Retry-After as soon as it
// has begun to send, and its connection is closed in order: what it sends is read and thrown away until it has finished, because closing
// earlier would reset the connection, and the answer with it. That is the cheapest place to refuse, and it knows nothing of the request.
//
// It is for HTTP/1. A client that insists on HTTP/2 sees its connection closed without an answer that it understands.
type Listener struct {
	inner  net.Listener
	cfg    ListenerConfig
	answer []byte
	limit  Backlog

	slots    chan struct{} // a place for each refusal that is being told
	freed    chan struct{} // a place among those that are handed out may be free
	refusing sync.WaitGroup
	done     chan struct{}
	closing  sync.Once
	open     atomic.Int64
	accepted atomic.Int64
	refused  atomic.Int64

	mu    sync.Mutex
	lasts map[net.Conn]struct{} // connections being refused, for Close
}

// ListenerStats is what a Listener has counted.
type ListenerStats struct {
	Open     int   // connections handed out and not yet closed
	Accepted int64 // handed out
	Refused  int64
}

// Listen puts a listener around inner. It takes inner over: closing it closes that.
func Listen(inner net.Listener, c ListenerConfig) (*Listener, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	l := &Listener{
		inner: inner, cfg: c, answer: fixedAnswer(c.RetryAfter),
		slots: make(chan struct{}, c.Refusals), freed: make(chan struct{}, 1), done: make(chan struct{}), lasts: make(map[net.Conn]struct{}),
	}
	var err error
	if l.limit, err = setBacklog(inner, c.Backlog); err != nil {
		return nil, err
	}
	return l, nil
}

func fixedAnswer(after time.Duration) []byte {
	seconds := strconv.FormatInt(int64((after+time.Second-1)/time.Second), 10)
	body := ReasonFull.String() + "\n"
	return []byte("HTTP/1.1 503 Service Unavailable\r\n" +
		"Content-Type: text/plain; charset=utf-8\r\n" +
		"Content-Length: " + strconv.Itoa(len(body)) + "\r\n" +
		HeaderRetryAfter + ": " + seconds + "\r\n" +
		HeaderOverload + ": " + ReasonFull.String() + "\r\n" +
		HeaderEnvoy + ": true\r\n" +
		"Connection: close\r\n\r\n" + body)
}

// Accept returns the next connection for which there is room, and has those refused for which there is none.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.inner.Accept()
		if err != nil {
			return nil, err
		}
		entered, err := l.decide(conn)
		if err != nil {
			_ = conn.Close()
			return nil, err
		}
		if entered {
			l.accepted.Add(1)
			return l.wrap(conn), nil
		}
	}
}

// decide takes a place for conn, or has it refused. While as many are being refused as may be it waits, for whichever is free first.
func (l *Listener) decide(conn net.Conn) (entered bool, err error) {
	for !l.enter() {
		select {
		case l.slots <- struct{}{}:
			l.refused.Add(1)
			l.turnAway(conn)
			return false, nil
		case <-l.freed:
		case <-l.done:
			return false, net.ErrClosed
		}
	}
	l.free() // for another Accept: two places may have become free at a time
	return true, nil
}

// leave gives a place back.
func (l *Listener) leave() {
	l.open.Add(-1)
	l.free()
}

// free wakes one that waits for a place, if there is one.
func (l *Listener) free() {
	if l.open.Load() >= int64(l.cfg.Limit) {
		return
	}
	select {
	case l.freed <- struct{}{}:
	default:
	}
}

// enter takes a place, if there is one.
func (l *Listener) enter() bool {
	for {
		n := l.open.Load()
		if n >= int64(l.cfg.Limit) {
			return false
		}
		if l.open.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// wrap returns conn so that closing it gives its place back. A TCP connection stays one, with all that it can do.
func (l *Listener) wrap(conn net.Conn) net.Conn {
	give := sync.OnceFunc(l.leave)
	var wrapped net.Conn = &bounded{Conn: conn, give: give}
	if tcp, ok := conn.(*net.TCPConn); ok {
		wrapped = &boundedTCP{TCPConn: tcp, give: give}
	}
	if l.cfg.TLS != nil {
		return tls.Server(wrapped, l.cfg.TLS)
	}
	return wrapped
}

type bounded struct {
	net.Conn
	give func()
}

func (b *bounded) Close() error {
	defer b.give()
	return b.Conn.Close()
}

type boundedTCP struct {
	*net.TCPConn
	give func()
}

func (b *boundedTCP) Close() error {
	defer b.give()
	return b.TCPConn.Close()
}

// turnAway refuses conn in a goroutine of its own, which Close waits for.
func (l *Listener) turnAway(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.done:
		_ = conn.Close()
		<-l.slots
		return
	default:
	}
	l.lasts[conn] = struct{}{}
	_ = conn.SetDeadline(time.Now().Add(l.cfg.Linger)) // one that has no deadlines ends with its client
	l.refusing.Go(func() {
		defer func() { <-l.slots }()
		l.refuse(conn)
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.lasts, conn)
	})
}

// refuse answers and closes in order: the answer when the request has begun, then our half, and the rest when the client has
// closed its own.
func (l *Listener) refuse(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	talk := conn
	if l.cfg.TLS != nil {
		cfg := l.cfg.TLS.Clone()
		cfg.NextProtos = []string{"http/1.1"}
		talk = tls.Server(conn, cfg)
	}
	var first [4 << 10]byte
	if _, err := talk.Read(first[:]); err != nil { // it has said nothing: nobody waits for an answer
		return
	}
	if _, err := talk.Write(l.answer); err != nil {
		return
	}
	if half, ok := talk.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok && talk != conn {
		_ = half.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, conn)
}

// Close stops listening and ends the connections that are being refused. Those that were handed out stay open.
func (l *Listener) Close() error {
	err := l.inner.Close()
	l.closing.Do(func() {
		l.mu.Lock()
		close(l.done)
		for conn := range l.lasts {
			_ = conn.SetDeadline(time.Now())
		}
		l.mu.Unlock()
		l.refusing.Wait()
	})
	return err
}

// Addr returns the address that is listened on.
func (l *Listener) Addr() net.Addr { return l.inner.Addr() }

// Backlog returns how many connections wait in the kernel at most.
func (l *Listener) Backlog() Backlog { return l.limit }

// Stats returns the figures as of now.
func (l *Listener) Stats() ListenerStats {
	return ListenerStats{Open: int(l.open.Load()), Accepted: l.accepted.Load(), Refused: l.refused.Load()}
}
