package stage

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Error is what a run returns when a stage fails: an error that its function returned, or a panic, a nil panic or a
// runtime.Goexit in it.
type Error struct {
	Stage string // the stage's name, given or like "map#3"
	Key   string // the key of the item, where it has metadata
	Err   error
	Stack []byte // where it panicked; nil for an error that was returned
}

// Error gives the stage, the key where there is one, and the cause. The stack is not part of it.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Stage)
	if e.Key != "" {
		b.WriteString(" (key ")
		b.WriteString(strconv.Quote(e.Key))
		b.WriteString(")")
	}
	b.WriteString(": ")
	b.WriteString(e.Err.Error())
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// PanicError is the cause in an [Error] when user code panicked.
type PanicError struct{ Value any }

// Error prints the value of the panic.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value of the panic where it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// ErrGoexit is the cause in an [Error] when user code ended its goroutine with runtime.Goexit.
var ErrGoexit = errors.New("stage: runtime.Goexit called by user code")

// ItemError is the failure of one item of a batch.
type ItemError struct {
	Index int // in the slice that was pushed
	Err   error
}

// Error gives the index and the cause.
func (e ItemError) Error() string { return fmt.Sprintf("item %d: %v", e.Index, e.Err) }

// Unwrap returns the cause.
func (e ItemError) Unwrap() error { return e.Err }

// BatchError says which items of a batch failed; all others were taken. The zero value is ready for use.
//
//	var bad stage.BatchError
//	for i, r := range rows {
//		if err := insert(r); err != nil {
//			bad.Add(i, err)
//		}
//	}
//	return bad.OrNil()
type BatchError struct{ Items []ItemError }

// Add records that item i failed. A nil err is not recorded.
func (e *BatchError) Add(i int, err error) {
	if err != nil {
		e.Items = append(e.Items, ItemError{Index: i, Err: err})
	}
}

// OrNil returns e as an error, nil if nothing failed.
func (e *BatchError) OrNil() error {
	if len(e.Items) == 0 {
		return nil
	}
	return e
}

// Error counts the failures and gives the first.
func (e *BatchError) Error() string {
	switch len(e.Items) {
	case 0:
		return "no item failed"
	case 1:
		return e.Items[0].Error()
	default:
		return fmt.Sprintf("%d items failed, the first: %v", len(e.Items), e.Items[0])
	}
}

// Unwrap returns the failures, one error per item.
func (e *BatchError) Unwrap() []error {
	errs := make([]error, len(e.Items))
	for i, it := range e.Items {
		errs[i] = it
	}
	return errs
}

// DeadLetter is an item that could not be processed, for a sink that keeps such items. It has one shape for every type of
// value, so that one sink serves a whole pipeline.
type DeadLetter struct {
	Value   any
	Stage   string // where it failed
	Err     error
	Attempt int // how often it was tried
	Meta    Meta
}
