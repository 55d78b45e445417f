package jetstream

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	reconnectWait   = 250 * time.Millisecond
	reconnectJitter = 250 * time.Millisecond
	flushPending    = -1 // a reconnect buffer of no bytes, in the client's words
	forEver         = -1
)

// Connect connects to a server, or to the first of several that a comma separates, with the settings that the parts of this
// package want:
//
//   - It reconnects for ever, after 250 to 500 ms each time. The client's default gives up after two minutes.
//   - It does not keep what is published while no server is there. The default keeps 8 MiB, which are stored later, when whoever
//     published them has long been told that nobody knows.
//   - A server that can't be reached is no error: Connect returns, and goes on in the background. Whatever is opened waits
//     for the connection.
//   - It prints nothing. The default prints what goes wrong in the background to the standard error; a nats.ErrorHandler
//     among opts is told instead.
//
// opts come later and prevail. An error never shows user names, passwords or tokens of the URL.
func Connect(url string, opts ...nats.Option) (*nats.Conn, error) {
	all := append([]nats.Option{
		nats.MaxReconnects(forEver),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectJitter, reconnectJitter),
		nats.ReconnectBufSize(flushPending),
		nats.RetryOnFailedConnect(true),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}, opts...)
	nc, err := nats.Connect(url, all...)
	if err != nil {
		return nil, fmt.Errorf("jetstream: connect: %w", withoutSecrets(err, url))
	}
	return nc, nil
}

var (
	errBadURL = errors.New("the URL is malformed")
	errHidden = errors.New("refused; the reason would show a part of the URL that is secret")
)

// withoutSecrets replaces an error that quotes the URL.
func withoutSecrets(err error, urls string) error {
	if _, ok := errors.AsType[*url.Error](err); ok {
		return errBadURL
	}
	text := err.Error()
	for u := range strings.SplitSeq(urls, ",") {
		_, rest, ok := strings.Cut(u, "://")
		if !ok {
			rest = u // the client takes it without a scheme
		}
		secret, _, ok := strings.CutLast(rest, "@")
		if !ok {
			continue
		}
		for part := range strings.SplitSeq(secret, ":") {
			plain, _ := url.PathUnescape(part)
			if part != "" && strings.Contains(text, part) || plain != "" && strings.Contains(text, plain) {
				return errHidden
			}
		}
	}
	return err
}

// open waits until nc is connected to a server that is new enough and has JetStream, and returns the API of a domain, "" for that of
// the server.
func open(ctx context.Context, nc *nats.Conn, domain string) (jetstream.JetStream, error) {
	if nc == nil {
		return nil, errors.New("jetstream: the connection is nil")
	}
	if err := connected(ctx, nc); err != nil {
		return nil, err
	}
	js, err := api(nc, domain)
	if err != nil {
		return nil, fmt.Errorf("jetstream: domain %q: %w", domain, err)
	}
	return js, enabled(ctx, js, domain)
}

func api(nc *nats.Conn, domain string) (jetstream.JetStream, error) {
	if domain == "" {
		return jetstream.New(nc)
	}
	return jetstream.NewWithDomain(nc, domain)
}

// connected waits until nc is connected, and looks at the server's version.
func connected(ctx context.Context, nc *nats.Conn) error {
	changes := nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer nc.RemoveStatusListener(changes)
	for {
		if version := nc.ConnectedServerVersion(); version != "" { // else it is not connected
			return checkVersion(version)
		}
		if nc.IsClosed() {
			return fmt.Errorf("jetstream: %w", errors.Join(nats.ErrConnectionClosed, nc.LastError()))
		}
		select {
		case <-changes:
		case <-ctx.Done():
			return fmt.Errorf("jetstream: not connected: %w", context.Cause(ctx))
		}
	}
}

// oldest is the first version on which everything works that is relied on: TermWithReason, for one.
var oldest = [3]int{2, 10, 4}

func checkVersion(version string) error {
	var v [3]int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &v[0], &v[1], &v[2]); err != nil {
		return fmt.Errorf("jetstream: the server's version %q is none that is known", version)
	}
	for i, least := range oldest {
		if v[i] > least {
			break
		}
		if v[i] < least {
			return fmt.Errorf("jetstream: the server has version %s, at least %d.%d.%d is needed",
				version, oldest[0], oldest[1], oldest[2])
		}
	}
	return nil
}

const (
	infoWait     = 2 * time.Second // for one answer of the API
	notYet       = 3 * time.Second // so long a server may say that it has no JetStream: a cluster says so while it assembles
	openInterval = 100 * time.Millisecond
)

// enabled waits until JetStream answers.
func enabled(ctx context.Context, js jetstream.JetStream, domain string) error {
	var refused time.Time // since when nothing else was said
	ask := func() error {
		ctx, cancel := context.WithTimeout(ctx, infoWait)
		defer cancel()
		_, err := js.AccountInfo(ctx)
		missing := errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount)
		switch {
		case !missing:
			refused = time.Time{}
		case refused.IsZero():
			refused = time.Now()
		}
		if missing && domain == "" && time.Since(refused) >= notYet || errors.Is(err, nats.ErrConnectionClosed) {
			return backoff.Permanent(err)
		}
		return err // a domain may be behind a link that is down: waiting mends that
	}
	err := backoff.Retry(ask, backoff.WithContext(backoff.NewConstantBackOff(openInterval), ctx))
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("jetstream: no answer%s: %w", ofDomain(domain), context.Cause(ctx))
	default:
		return fmt.Errorf("jetstream%s: %w", ofDomain(domain), err)
	}
}

func ofDomain(domain string) string {
	if domain == "" {
		return ""
	}
	return fmt.Sprintf(" of domain %q", domain)
}

// connAdvice says which options of a connection are not what Connect sets. None of them loses a message: a publish or an
// acknowledgement whose fate is unknown is sent again under the same ID.
func connAdvice(nc *nats.Conn) findings {
	var fs findings
	o := nc.Opts
	if !o.AllowReconnect || o.MaxReconnect >= 0 {
		fs.add(advice, "connection", "MaxReconnects", "when it has failed that often the connection is closed for good; -1 goes on for ever")
	}
	if o.ReconnectBufSize >= 0 {
		text := "up to %d bytes published while it is down are stored later, when nobody expects it; -1 fails them at once"
		fs.add(advice, "connection", "ReconnectBufSize", fmt.Sprintf(text, o.ReconnectBufSize))
	}
	if _, err := nc.TLSConnectionState(); err != nil && leavesTheMachine(nc.ConnectedAddr()) {
		fs.add(advice, "connection", "TLS", "passwords and messages cross the network in clear text")
	}
	return fs
}

// leavesTheMachine says whether addr, as host:port, is that of another machine, as far as an address tells.
func leavesTheMachine(addr string) bool {
	to, err := netip.ParseAddrPort(addr)
	return err == nil && !to.Addr().Unmap().IsLoopback()
}
