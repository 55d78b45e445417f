package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestDepthIsBounded(t *testing.T) {
	nested := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	var v any
	if err := Unmarshal(nested(MaxDepth), &v); err != nil {
		t.Errorf("%d levels: %v", MaxDepth, err)
	}
	if err := Unmarshal(nested(MaxDepth+1), &v); err == nil {
		t.Errorf("%d levels: no error", MaxDepth+1)
	}
}

func TestErrorsAreShort(t *testing.T) {
	long := strings.Repeat("1", 1<<20)
	for name, err := range map[string]error{
		"a number that fits nowhere": Unmarshal([]byte(long), new(int)),
		"a key":                      Unmarshal([]byte(`{"`+long+`":1}`), new(map[int]int)),
		"a type of its own":          Unmarshal([]byte(`"`+long+`"`), new(time.Time)),
	} {
		if err == nil || len(err.Error()) > mostText+len("...") {
			t.Errorf("%s: the error has %d bytes, want at most %d", name, len(err.Error()), mostText)
		}
	}
	err := Unmarshal([]byte(long), new(int))
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); !ok {
		t.Errorf("%v does not wrap the error of package json", err)
	}
	if got, want := Unmarshal([]byte("x"), new(int)).Error(), "invalid character 'x' looking for beginning of value"; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
}

// The scan must find every document too deep that the decoder would go into, and let every other one pass.
func FuzzDepth(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":"]}\""}]}`, `"[[["`, `[[`, `]]]]`, "\"\\\\\"[", strings.Repeat("[", 70)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			_ = depth(data)
			return
		}
		want, level := 0, 0
		for dec := json.NewDecoder(bytes.NewReader(data)); ; {
			tok, err := dec.Token()
			if err != nil {
				break
			}
			switch tok {
			case json.Delim('['), json.Delim('{'):
				level++
				want = max(want, level)
			case json.Delim(']'), json.Delim('}'):
				level--
			}
		}
		if got := depth(data); min(got, MaxDepth+1) != min(want, MaxDepth+1) {
			t.Errorf("depth %d, want %d: %q", got, want, data)
		}
	})
}
