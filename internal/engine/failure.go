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

// failure returns err as an error of the stage, about the item with the tag t. It leaves err as it is: others may have it already.
func failure(name string, err error, t *Tag) error {
	key := ""
	if t != nil {
		key = t.Meta.Key
	}
	if e, ok := err.(*stage.Error); ok && e.Stage == name { //nolint:errorlint // only the engine's own, not one wrapped by a user
		return withKey(e, key)
	}
	return &stage.Error{Stage: name, Key: key, Err: err}
}

// withKey is e about an item with the key.
func withKey(e *stage.Error, key string) error {
	if e.Key == key {
		return e
	}
	named := *e
	named.Key = key
	return &named
}
