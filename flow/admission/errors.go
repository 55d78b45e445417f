package admission

import (
	"errors"
	"fmt"
)

// check returns an error unless ok.
func check(ok bool, of, what, want string, got any) error {
	if ok {
		return nil
	}
	return fmt.Errorf("admission: %s.%s must be %s, got %v", of, what, want, got)
}

// together returns an error unless ok, for settings that go together.
func together(ok bool, text string) error {
	if ok {
		return nil
	}
	return errors.New("admission: " + text)
}
