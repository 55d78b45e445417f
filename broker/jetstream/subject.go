package jetstream

import "strings"

// validSubject says whether s is one that a message may be sent to: tokens that are not empty, with no space, no control
// character and no wildcard in them.
func validSubject(s string) bool {
	return validPattern(s) && !strings.ContainsAny(s, "*>")
}

// validPattern says whether s is one that a stream may have: wildcards are tokens of their own, and > is the last.
func validPattern(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			return false
		}
	}
	for rest, more := s, true; more; {
		var token string
		token, rest, more = strings.Cut(rest, ".")
		if token == "" || token == ">" && more || len(token) > 1 && strings.ContainsAny(token, "*>") {
			return false
		}
	}
	return true
}

// covers says whether everything that matches subject, which may have wildcards as well, matches pattern.
func covers(pattern, subject string) bool {
	for {
		p, pRest, pMore := strings.Cut(pattern, ".")
		s, sRest, sMore := strings.Cut(subject, ".")
		switch {
		case p == ">":
			return true
		case s == ">", p != "*" && p != s, pMore != sMore:
			return false
		case !pMore:
			return true
		}
		pattern, subject = pRest, sRest
	}
}

// anyCovers says whether one of patterns covers subject.
func anyCovers(patterns []string, subject string) bool {
	for _, p := range patterns {
		if covers(p, subject) {
			return true
		}
	}
	return false
}
