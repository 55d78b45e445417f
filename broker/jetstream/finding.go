package jetstream

import (
	"errors"
	"fmt"
)

// severity says what becomes of a finding.
type severity int

const (
	never  severity = iota // it can't work
	unless                 // it loses messages or waits for ever, which an option may allow
	advice                 // worth knowing
)

// finding is one thing about a stream or a connection that is not as it should be.
type finding struct {
	severity severity
	where    string // what it is about, as: stream "ORDERS"
	setting  string
	text     string
	err      error // what it wraps, may be nil
}

func (f *finding) Error() string {
	if f.err != nil {
		return fmt.Sprintf("jetstream: %s: %s: %v: %s", f.where, f.setting, f.err, f.text)
	}
	return fmt.Sprintf("jetstream: %s: %s: %s", f.where, f.setting, f.text)
}

func (f *finding) Unwrap() error { return f.err }

type findings []*finding

func (fs *findings) add(s severity, where, setting, text string) {
	*fs = append(*fs, &finding{severity: s, where: where, setting: setting, text: text})
}

// err joins everything that stands in the way. What an option may allow is let through where tolerant is set.
func (fs findings) err(tolerant bool) error {
	var errs []error
	for _, f := range fs {
		if f.severity == never || f.severity == unless && !tolerant {
			errs = append(errs, f)
		}
	}
	return errors.Join(errs...)
}

// warnings are the texts of what does not.
func (fs findings) warnings(tolerant bool) []string {
	var texts []string
	for _, f := range fs {
		if f.severity == advice || f.severity == unless && tolerant {
			texts = append(texts, f.Error())
		}
	}
	return texts
}
