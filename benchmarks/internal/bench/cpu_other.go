//go:build !unix

package bench

import "time"

var started = time.Now()

// cpuTime is the time that has passed: what a process has used the system does not tell in a way that all have in common.
func cpuTime() time.Duration { return time.Since(started) }
