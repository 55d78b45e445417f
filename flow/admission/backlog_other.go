//go:build !linux

package admission

import (
	"fmt"
	"net"
)

// setBacklog only knows how on Linux.
func setBacklog(_ net.Listener, asked int) (Backlog, error) {
	if asked != 0 {
		return Backlog{}, fmt.Errorf("admission: ListenerConfig.Backlog can be set on Linux only, got %d", asked)
	}
	return Backlog{}, nil
}
