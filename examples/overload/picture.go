package main

import (
	"bytes"
	"fmt"
	"strings"
)

// The picture is so large; the plot leaves room for its labels.
const (
	width, height          = 720, 360
	left, right, top, base = 70, 700, 50, 300
)

// picture draws the goodput over time, without controls and with them.
func picture(without, with []float64, o options) []byte {
	var b bytes.Buffer
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="13">`, width, height)
	p(`<rect width="100%%" height="100%%" fill="white"/>`)
	p(`<text x="%d" y="24" font-size="16">Answers in time, by what could be done, at %.3g times that load</text>`, left, o.load)
	for percent := 0; percent <= 100; percent += 25 {
		y := level(float64(percent) / 100)
		p(`<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/>`, left, right, y, y)
		p(`<text x="%d" y="%.1f" text-anchor="end">%d %%</text>`, left-8, y+4, percent)
	}
	for i := range 6 {
		x := left + (right-left)*i/5
		p(`<text x="%d" y="%d" text-anchor="middle">%.3g s</text>`, x, base+20, o.length.Seconds()*float64(i)/5)
	}
	curve := func(values []float64, color, name string, x int) {
		p(`<polyline fill="none" stroke="%s" stroke-width="2.5" points="%s"/>`, color, points(values))
		p(`<line x1="%d" x2="%d" y1="%d" y2="%d" stroke="%s" stroke-width="2.5"/>`, x, x+24, base+43, base+43, color)
		p(`<text x="%d" y="%d">%s</text>`, x+32, base+47, name)
	}
	curve(without, "#c0392b", "without controls", left)
	curve(with, "#1f6f8b", "with controls", left+200)
	p(`</svg>`)
	return b.Bytes()
}

// points places each value in the middle of its slice of time.
func points(values []float64) string {
	var s strings.Builder
	for i, v := range values {
		x := left + (right-left)*(float64(i)+0.5)/float64(len(values))
		fmt.Fprintf(&s, "%.1f,%.1f ", x, level(v))
	}
	return strings.TrimSpace(s.String())
}

// level is where a share of the capacity is drawn; a slice may have a little more than all of it.
func level(share float64) float64 { return base - (base-top)*min(share, 1.1)/1.1 }
