package engine

import (
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/stage"
)

// A place that panics has a stack written down once in stackAge. No more than stackSites places are known: code has few.
const (
	stackAge   = time.Minute
	stackSites = 64
)

// stacks remembers the stacks of panics by the place that panicked, so that a storm of them, which a decision lets go, costs little. The
// errors of a place share its stack.
type stacks struct {
	mu    sync.Mutex
	sites map[uintptr]stackAt
}

type stackAt struct {
	stack []byte
	at    int64
}

// panicked is [Panicked] for code that may panic again and again.
func (s *Stage) panicked(p any) error {
	return &stage.Error{Stage: s.Name, Err: &stage.PanicError{Value: p}, Stack: s.stacks.of(panicSite())}
}

// of returns the stack of the panic at a place, or that of an earlier one there.
func (s *stacks) of(site uintptr) []byte {
	now := clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.sites[site]; ok && now-known.at < int64(stackAge) {
		return known.stack
	}
	if s.sites == nil || len(s.sites) >= stackSites {
		s.sites = map[uintptr]stackAt{}
	}
	stack := debug.Stack()
	s.sites[site] = stackAt{stack, now}
	return stack
}

// panicSite returns the place that has panicked: the first one behind what the runtime has put on the stack for it.
func panicSite() uintptr {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for raised := false; ; {
		f, more := frames.Next()
		inRuntime := strings.HasPrefix(f.Function, "runtime.")
		if raised && !inRuntime || !more {
			return f.PC
		}
		raised = raised || f.Function == "runtime.gopanic"
	}
}
