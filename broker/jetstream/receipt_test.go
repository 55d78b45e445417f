package jetstream

import (
	"testing"

	"github.com/nats-io/nats.go"
)

func TestReceipts(t *testing.T) {
	full := `{"error":{"code":503,"err_code":10077,"description":"maximum messages exceeded"},"stream":"S","seq":0}`
	tests := []struct {
		name string
		data string
		want receipt
		ok   bool
	}{
		{"stored", `{"stream":"S","seq":7}`, receipt{fate: fateStored, seq: 7}, true},
		{"with a space, as older servers have it", `{"stream":"S", "seq":7}`, receipt{fate: fateStored, seq: 7}, true},
		{"repeated", `{"stream":"S","seq":7,"duplicate": true}`, receipt{fate: fateDuplicate, seq: 7}, true},
		{"repeated, written otherwise", `{"stream":"S","duplicate":true,"seq":7}`, receipt{fate: fateDuplicate, seq: 7}, true},
		{"with a domain", `{"stream":"S","domain":"hub","seq":7}`, receipt{fate: fateStored, seq: 7}, true},
		{"with a field that is new", `{"stream":"S","seq":7,"batch":"x"}`, receipt{fate: fateStored, seq: 7}, true},
		{"the highest number", `{"stream":"S","seq":18446744073709551615}`, receipt{fate: fateStored, seq: 1<<64 - 1}, true},
		{"behind", `{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 7"},"stream":"S","seq":0}`, receipt{fate: fateBehind, seq: 7}, true},
		{"behind, by an unknown number", `{"error":{"code":400,"err_code":10164,"description":"wrong last sequence"}}`, receipt{fate: fateBehind}, true},
		{"full", full, receipt{fate: fateFull}, true},
		{"full, once more", full, receipt{fate: fateFull}, true},
		{"another stream", `{"stream":"T","seq":7}`, receipt{fate: fateRefused}, true},
		{"not of a stream", `ok`, receipt{}, false},
		{"JSON, not of a stream", `{"ok":true}`, receipt{}, false},
		{"no number", `{"stream":"S","seq":0}`, receipt{}, false},
		{"empty", ``, receipt{}, false},
	}
	r := newReceipts("S")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := r.read(&nats.Msg{Data: []byte(tt.data)})
			if ok != tt.ok || got.fate != tt.want.fate || got.seq != tt.want.seq {
				t.Errorf("read %s: %v %v, want %v %v", tt.data, got, ok, tt.want, tt.ok)
			}
			if failed := got.fate != fateStored && got.fate != fateDuplicate; ok && failed != (got.err != nil) {
				t.Errorf("fate %d comes with error %v", got.fate, got.err)
			}
		})
	}
	if n := len(r.known); n != 2 {
		t.Errorf("%d refusals are remembered, want 2: those without a number", n)
	}
	none := &nats.Msg{Header: nats.Header{statusHeader: []string{noResponders}}}
	if got, ok := r.read(none); !ok || got.fate != fateNobody {
		t.Errorf("no responders: %v %v", got, ok)
	}
}

func TestConfirmationsDoNotAllocate(t *testing.T) {
	r := newReceipts("S")
	m := &nats.Msg{Data: []byte(`{"stream":"S","seq":1234567}`)}
	if n := testing.AllocsPerRun(100, func() { r.read(m) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func FuzzReceipts(f *testing.F) {
	f.Add([]byte(`{"stream":"S","seq":7,"duplicate": true}`))
	f.Add([]byte(`{"stream":"S","seq":99999999999999999999}`))
	f.Add([]byte(`{"stream":"S","seq":007}`))
	f.Add([]byte(`{"error":{"code":503,"err_code":10077,"description":"maximum bytes exceeded"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newReceipts("S")
		seq, dup, ok := r.confirmation(data)
		if !ok {
			return
		}
		a, known := r.decode(data)
		if !known || a.seq != seq || (a.fate == fateDuplicate) != dup {
			t.Errorf("%q: read as %d %v, decoded as %+v %v", data, seq, dup, a, known)
		}
	})
}
