package broker_test

import (
	"strings"
	"testing"

	"github.com/weir-go/weir/broker"
)

type order struct {
	ID    string
	Price float64
	Parts []order `json:",omitempty"`
}

func TestJSON(t *testing.T) {
	c := broker.JSON[order]()
	data, err := c.Encode([]byte("before "), order{ID: "a", Price: 1.5})
	must(t, err)
	if got := string(data); got != `before {"ID":"a","Price":1.5}` {
		t.Fatalf("encoded %s", got)
	}
	var v order
	must(t, c.Decode(data[len("before "):], &v))
	if v.ID != "a" || v.Price != 1.5 {
		t.Errorf("decoded %+v", v)
	}
	for name, bad := range map[string]string{
		"trailing data":   `{"ID":"a"} {}`,
		"half a document": `{"ID":"a"`,
		"too large":       `{"Price":1e400}`,
		"another type":    `{"ID":7}`,
		"deep":            strings.Repeat("[", 10<<20),
		"deep and valid":  strings.Repeat(`{"Parts":[`, 33) + strings.Repeat(`]}`, 33),
		"nothing":         ``,
	} {
		if err := c.Decode([]byte(bad), new(order)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	must(t, c.Decode([]byte(strings.Repeat(`{"Parts":[`, 32)+strings.Repeat(`]}`, 32)), &v))
}

func TestBytesAreCopied(t *testing.T) {
	data := []byte("abc")
	var v []byte
	must(t, broker.Bytes().Decode(data, &v))
	data[0] = 'x'
	if string(v) != "abc" {
		t.Errorf("got %s", v)
	}
	out, err := broker.Bytes().Encode([]byte("1"), v)
	must(t, err)
	if string(out) != "1abc" {
		t.Errorf("got %s", out)
	}
}

func TestACodecOfOneFunctionFailsTheOtherWay(t *testing.T) {
	c := broker.CodecFunc[int](nil, nil)
	if _, err := c.Encode(nil, 1); err == nil {
		t.Error("Encode: no error")
	}
	if err := c.Decode(nil, new(int)); err == nil {
		t.Error("Decode: no error")
	}
}
