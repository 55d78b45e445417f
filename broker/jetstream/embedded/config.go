package embedded

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
)

// Config is what [Start] needs to know. The zero value is a server that keeps its streams in a temporary folder and can be
// reached from inside the process only.
type Config struct {
	// Dir is the folder of the streams, made if it is missing. It belongs to one server at a time: a second one, in whichever
	// process, damages it. "" means a temporary folder, which Close removes.
	Dir string
	// Listen is "host:port" with a loopback host, port 0 for any that is free. "" means no socket at all.
	Listen string
	// Name is the server's name. "" means weir.
	Name string
	// Domain is its JetStream domain. "" means none.
	Domain string
	// MaxStore and MaxMemory are the bytes that all file and all memory streams may use together. 0 leaves them to the
	// server: the free disk space, and 3/4 of the machine's memory.
	MaxStore, MaxMemory int64
	// MaxPayload is the largest message in bytes, headers included. 0 means 1 MiB, at most 64 MiB.
	MaxPayload int
	// SyncAlways has each message written to the disk itself before it is confirmed. That costs a disk's write per message.
	SyncAlways bool
}

const (
	defaultName    = "weir"
	highestPayload = 64 << 20 // what a server accepts
	anyPort        = -1       // the server's way of saying it; its 0 is 4222
)

// options translates c, and reports everything that is wrong with it.
func (c Config) options() (*server.Options, error) {
	host, port, err := listenAddress(c.Listen)
	err = errors.Join(err,
		within("MaxStore", c.MaxStore, math.MaxInt64),
		within("MaxMemory", c.MaxMemory, math.MaxInt64),
		within("MaxPayload", int64(c.MaxPayload), highestPayload))
	if err != nil {
		return nil, err
	}
	o := &server.Options{
		ServerName: c.Name,
		DontListen: c.Listen == "",
		Host:       host,
		Port:       port,

		JetStream:          true,
		StoreDir:           c.Dir,
		JetStreamDomain:    c.Domain,
		JetStreamMaxStore:  c.MaxStore,
		JetStreamMaxMemory: c.MaxMemory,
		MaxPayload:         int32(c.MaxPayload),
		SyncAlways:         c.SyncAlways,

		NoLog:  true,
		NoSigs: true,
	}
	if o.ServerName == "" {
		o.ServerName = defaultName
	}
	return o, nil
}

func within(field string, v, most int64) error {
	if v < 0 || v > most {
		return fmt.Errorf("embedded: Config.%s must be in 0..%d, got %d", field, most, v)
	}
	return nil
}

// listenAddress takes an address apart. It resolves no names: the answer could be any address.
func listenAddress(addr string) (host string, port int, err error) {
	if addr == "" {
		return "", 0, nil
	}
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, fmt.Errorf("embedded: Config.Listen: %w", err)
	}
	number, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("embedded: Config.Listen: port %q is not in 0..65535", service)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		return "", 0, fmt.Errorf("embedded: Config.Listen must be a loopback address, as 127.0.0.1:0, got %q", addr)
	}
	if number == 0 {
		return host, anyPort, nil
	}
	return host, int(number), nil
}
