package main

import "testing"

func TestARowGoesThereAndBack(t *testing.T) {
	want := function{
		seq: 1 << 40, pkg: "p", file: "a b/ü \"2\".go", line: 7, col: 3, name: "(*T).M\n", lines: 12, complexity: 5, exported: true,
	}
	data, err := rowCodec.Encode([]byte("before"), want)
	if err != nil {
		t.Fatal(err)
	}
	var got function
	if err := rowCodec.Decode(data[len("before"):], &got); err != nil || got != want {
		t.Errorf("Decode(%s) = %+v, %v, want %+v", data, got, err, want)
	}
}

func TestWhatIsNoRowIsRefused(t *testing.T) {
	for _, data := range []string{
		"", "null", "{}", "[]", `[1,"p","f",1,1,"n",1,1,true]`, `[1,"p","f",1,1,"n",1,1,true,true,1]`,
		`[1,null,"f",1,1,"n",1,1,true,true]`,
		`["1","p","f",1,1,"n",1,1,true,true]`, `[1,"p","f",1,1,"n",1,1,true,true] 1`,
	} {
		if err := rowCodec.Decode([]byte(data), new(function)); err == nil {
			t.Errorf("Decode(%s) = nil, want an error", data)
		}
	}
}
