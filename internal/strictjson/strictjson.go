// Package strictjson reads JSON that strangers have written: nested no deeper than people nest it, and with errors that a log can take.
package strictjson

import (
	"encoding/json"
	"fmt"
)

// MaxDepth is how deep a document may be nested.
const MaxDepth = 64

// mostText is how many bytes of what an error says are kept. Those of encoding/json, and of types that decode themselves, quote the value
// that they could not read, however long that is.
const mostText = 160

// Unmarshal is json.Unmarshal, but a document that is nested deeper than MaxDepth levels is an error, and no error is longer than a few
// hundred bytes. It wraps what json.Unmarshal has returned.
func Unmarshal(data []byte, v any) error {
	if depth(data) > MaxDepth {
		return fmt.Errorf("nested more than %d levels deep", MaxDepth)
	}
	err := json.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	if text := err.Error(); len(text) > mostText {
		return &shortened{text[:mostText], err}
	}
	return err
}

// shortened is an error of which only the beginning is told.
type shortened struct {
	text string
	err  error
}

func (e *shortened) Error() string { return e.text + "..." }

func (e *shortened) Unwrap() error { return e.err }

// depth is how deep a JSON document is nested; it stops counting one level above the limit.
func depth(data []byte) int {
	deepest, level := 0, 0
	inText, escaped := false, false
	for _, c := range data {
		switch {
		case escaped:
			escaped = false
		case inText:
			escaped = c == '\\'
			inText = c != '"'
		case c == '"':
			inText = true
		case c == '[' || c == '{':
			level++
			if deepest = max(deepest, level); deepest > MaxDepth {
				return deepest
			}
		case c == ']' || c == '}':
			level--
		}
	}
	return deepest
}
