package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/weir-go/weir/stage"
)

// failures is the dead-letter sink: it counts what could not be read or parsed, and remembers the first few in order of their paths.
type failures struct {
	mu    sync.Mutex
	total int64
	first []failure
}

type failure struct {
	path string
	err  error
}

// listed is how many failures are remembered.
const listed = 10

// Push implements stage.Sink.
func (f *failures) Push(_ context.Context, letters []stage.DeadLetter) error {
	for _, l := range letters {
		f.add(fmt.Sprint(l.Value), l.Err)
	}
	return nil
}

func (f *failures) add(path string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.total++
	at, _ := slices.BinarySearchFunc(f.first, path, func(a failure, path string) int { return cmp.Compare(a.path, path) })
	f.first = slices.Insert(f.first, at, failure{path, err})
	f.first = f.first[:min(len(f.first), listed)]
}

func (f *failures) count() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.total
}

// print lists the failures, if there are any.
func (f *failures) print(out *bytes.Buffer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.total == 0 {
		return
	}
	fmt.Fprintf(out, "\nfailed: %d\n", f.total)
	for _, one := range f.first {
		text := one.err.Error()
		if !strings.Contains(text, one.path) {
			text = one.path + ": " + text
		}
		fmt.Fprintf(out, "  %s\n", text)
	}
	if more := f.total - int64(len(f.first)); more > 0 {
		fmt.Fprintf(out, "  and %d more\n", more)
	}
}
