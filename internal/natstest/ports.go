package natstest

import (
	"net"
	"testing"
)

// Ports returns n ports on 127.0.0.1 that were free a moment ago.
func Ports(tb testing.TB, n int) []int {
	tb.Helper()
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		defer func() { _ = l.Close() }()        // not before all are known, or one could come twice
		ports[i] = l.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // a TCP listener has no other
	}
	return ports
}
