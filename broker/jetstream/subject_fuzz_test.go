package jetstream

import (
	"strings"
	"testing"
)

// A subject that is made of a tenant's name has as many tokens as it is meant to have, or it is refused: no name adds a token, a wildcard
// or a line of the protocol, or leaves the place that it is meant for.
func FuzzSubject(f *testing.F) {
	for _, token := range []string{"tenant", "", ".", "a.b", "*", ">", "a b", "a\r\nPUB x 1\r\n", "\x00", "ü", "$JS", "a\u2028b", "\xff"} {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		subject := "orders." + token + ".new"
		if !validSubject(subject) {
			return
		}
		if strings.ContainsFunc(subject, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '*' || r == '>' }) {
			t.Fatalf("%q is valid", subject)
		}
		tokens := strings.Split(subject, ".")
		for _, part := range tokens {
			if part == "" {
				t.Fatalf("%q is valid, and has an empty token", subject)
			}
		}
		if inside := covers("orders.*.new", subject); inside != (len(tokens) == 3) {
			t.Fatalf("%q has %d tokens, and orders.*.new covers it: %t", subject, len(tokens), inside)
		}
		if !covers("orders.>", subject) || covers("$JS.>", subject) {
			t.Fatalf("%q is not where it is meant to be", subject)
		}
	})
}
