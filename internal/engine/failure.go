package engine

import (
	"runtime/debug"

	"github.com/weir-go/weir/stage"
)

// Panicked returns the error of a stage whose code panicked with p. It is called by a deferred function, while the stack of
// the panic is still there.
func Panicked(name string, p any) error {
	return &stage.Error{Stage: name, Err: &stage.PanicError{Value: p}, Stack: debug.Stack()}
}

// failure returns err as an error of the stage, about the item with the tag t.
func failure(name string, err error, t *Tag) error {
	key := ""
	if t != nil {
		key = t.Meta.Key
	}
	if e, ok := err.(*stage.Error); ok && e.Stage == name { //nolint:errorlint // only the engine's own, not one wrapped by a user
		e.Key = key
		return e
	}
	return &stage.Error{Stage: name, Key: key, Err: err}
}
