package admission

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// setBacklog sets the backlog of a socket that listens already, if asked is more than 0: listen(2) may be called again.
func setBacklog(l net.Listener, asked int) (Backlog, error) {
	b := Backlog{Asked: asked, SOMaxConn: somaxconn()}
	if asked == 0 {
		return b, nil
	}
	socket, ok := l.(syscall.Conn)
	if !ok {
		return b, fmt.Errorf("admission: ListenerConfig.Backlog can't be set for a %T", l)
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return b, fmt.Errorf("admission: set the backlog: %w", err)
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = syscall.Listen(int(fd), asked) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return b, fmt.Errorf("admission: set the backlog: %w", err)
	}
	return b, nil
}

// somaxconn returns what the system allows, 0 if it does not say.
func somaxconn() int {
	text, err := os.ReadFile("/proc/sys/net/core/somaxconn")
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return n
}
