//go:build unix

package bench

import (
	"syscall"
	"time"
)

// cpuTime is how much processor time this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0 // it can't fail with these arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
