package jetstream

import "testing"

func TestValidSubject(t *testing.T) {
	for s, want := range map[string]bool{
		"orders": true, "orders.new.1": true, "$JS.API": true, "a-b_c": true, "über": true,
		"": false, ".": false, "a.": false, ".a": false, "a..b": false, "a b": false, "a\r\nPUB x": false, "a\tb": false,
		"a.*": false, "*": false, "a.>": false, "a>b": false, "a\x7f": false,
	} {
		if got := validSubject(s); got != want {
			t.Errorf("validSubject(%q) = %v, want %v", s, got, want)
		}
	}
}

func TestValidPattern(t *testing.T) {
	for s, want := range map[string]bool{
		"orders": true, "orders.*": true, "orders.>": true, ">": true, "*.*": true, "a.*.b": true,
		"": false, "orders.>.a": false, "a*": false, "a.b>": false, "a..>": false, "a.* ": false,
	} {
		if got := validPattern(s); got != want {
			t.Errorf("validPattern(%q) = %v, want %v", s, got, want)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, tt := range []struct {
		pattern, subject string
		want             bool
	}{
		{"a.b", "a.b", true},
		{"a.b", "a.c", false},
		{"a.b", "a", false},
		{"a", "a.b", false},
		{"a.*", "a.b", true},
		{"a.*", "a", false},
		{"a.*", "a.b.c", false},
		{"*.b", "a.b", true},
		{"a.>", "a.b.c", true},
		{"a.>", "a", false},
		{">", "a", true},
		{"a.>", "a.*", true},
		{"a.*", "a.*", true},
		{"a.*", "a.>", false},
		{"a.b", "a.*", false},
		{"a.>", "a.>", true},
	} {
		if got := covers(tt.pattern, tt.subject); got != tt.want {
			t.Errorf("covers(%q, %q) = %v, want %v", tt.pattern, tt.subject, got, tt.want)
		}
	}
}
