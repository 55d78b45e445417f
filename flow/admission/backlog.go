package admission

import "fmt"

// Backlog is how many connections the kernel keeps that nobody has accepted yet: a queue in front of all others, which no gate sees.
type Backlog struct {
	Asked     int // ListenerConfig.Backlog; 0 is what package net asks for, as much as there may be
	SOMaxConn int // what the system allows, 0 if that is not known
}

// Effective returns the lesser of the two, 0 if nothing is known.
func (b Backlog) Effective() int {
	if b.Asked == 0 || b.SOMaxConn == 0 {
		return max(b.Asked, b.SOMaxConn)
	}
	return min(b.Asked, b.SOMaxConn)
}

// Warning returns what is wrong with it, "" if nothing is.
func (b Backlog) Warning() string {
	if b.SOMaxConn == 0 || b.Asked <= b.SOMaxConn {
		return ""
	}
	return fmt.Sprintf("a backlog of %d was asked for, and the system allows %d (net.core.somaxconn): that is what counts", b.Asked, b.SOMaxConn)
}
