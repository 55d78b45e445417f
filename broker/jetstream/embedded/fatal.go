package embedded

import (
	"fmt"
	"sync"
)

// fatalError is a server's log of which only the first fatal message is kept. It is also the only way to learn why Start did
// not start.
type fatalError struct {
	mu    sync.Mutex
	first error
}

func (f *fatalError) Fatalf(format string, v ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first == nil {
		f.first = fmt.Errorf(format, v...)
	}
}

func (f *fatalError) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first
}

func (*fatalError) Noticef(string, ...any) {}
func (*fatalError) Warnf(string, ...any)   {}
func (*fatalError) Errorf(string, ...any)  {}
func (*fatalError) Debugf(string, ...any)  {}
func (*fatalError) Tracef(string, ...any)  {}
