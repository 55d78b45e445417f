package flow

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/internal/engine"
)

// node is what a blueprint knows of one operator, whatever its types: its name, where it was written, what is wrong with it,
// and what is upstream of it.
type node struct {
	op   string
	name string // given; "" otherwise
	edge bool   // an edge that the user wrote
	kind engine.Kind
	errs []string
	ups  []*node

	branches int     // of a fan-out: how many outputs it has
	branch   int     // of an output of a fan-out: which one, from 1
	sides    []*leaf // side pipelines that belong to it

	loop *loop // that begins here
	of   *node // of another part of a loop: where it begins
	hub  any   // that it feeds, or comes from

	once *atomic.Bool // serves one run: set when it has

	inFlight int // of a source: how many items it leaves unsettled; 0 is no limit
	fills    int // how many items it waits for, however long that takes
	traits       // what else decides whether its branches can stand still

	places   int           // of an edge that the user wrote
	within   time.Duration // its MaxWait
	expected *expectation  // what Expect says; nil: nothing

	callers [8]uintptr
	depth   int
}

// newNode returns a node made by the program's call of an operator.
func newNode(op string, s *settings, ups ...*node) *node {
	n := &node{op: op, kind: engine.Step, ups: ups, errs: s.errs}
	if s.named {
		if validName(s.name) {
			n.name = s.name
		} else {
			n.errs = append(n.errs, fmt.Sprintf("name must be 1 to 64 of A-Z a-z 0-9 . _ -, got %q", s.name))
		}
	}
	n.depth = runtime.Callers(2, n.callers[:])
	return n
}

func validName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	return strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == ""
}

// wrong records that an argument is not acceptable.
func (n *node) wrong(format string, args ...any) {
	n.errs = append(n.errs, fmt.Sprintf(format, args...))
}

// check records the text unless ok.
func (n *node) check(ok bool, text string) {
	if !ok {
		n.errs = append(n.errs, text)
	}
}

// Line returns file:line of the first caller outside this package.
func (n *node) Line() string {
	frames := runtime.CallersFrames(n.callers[:n.depth])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "github.com/weir-go/weir/flow.") && f.File != "" {
			return filepath.Base(f.File) + ":" + strconv.Itoa(f.Line)
		}
		if !more {
			return "unknown"
		}
	}
}

// upstream is the typed side of a node: two ways to get at what comes out of it.
type upstream[T any] interface {
	about() *node
	// reader builds everything up to the node as part of the goroutine w.
	reader(b *build, w *engine.Worker) engine.Input[T]
	// link builds everything up to the node, and the edge e behind it.
	link(b *build, e edgeSpec[T]) *engine.Link[T]
}

// fused is a node that is pulled: a source, or a step in the goroutine of whoever pulls.
type fused[T any] struct {
	*node
	read func(b *build, w *engine.Worker) engine.Input[T]
}

func (f *fused[T]) about() *node { return f.node }

func (f *fused[T]) reader(b *build, w *engine.Worker) engine.Input[T] { return f.read(b, w) }

func (f *fused[T]) link(b *build, e edgeSpec[T]) *engine.Link[T] {
	w := b.run.NewWorker()
	in := f.read(b, w)
	l := e.open(b, in.Stream)
	engine.Pump(w, in, l, true)
	return l
}

// pushed is a node that writes into the edge behind it, from goroutines of its own.
type pushed[T any] struct {
	*node
	write func(b *build, e edgeSpec[T]) *engine.Link[T]
}

func (p *pushed[T]) about() *node { return p.node }

func (p *pushed[T]) link(b *build, e edgeSpec[T]) *engine.Link[T] { return p.write(b, e) }

func (p *pushed[T]) reader(b *build, w *engine.Worker) engine.Input[T] {
	return engine.ReadEdge(w, p.write(b, implicit[T](b.name(p.node)+".out")))
}

// edged is an edge that the user wrote. It is the edge behind the node upstream of it, and the one in front of an operator that
// needs one.
type edged[T any] struct {
	*node
	up   upstream[T]
	spec Edge[T]
}

func (e *edged[T]) about() *node { return e.node }

// own builds the edge itself.
func (e *edged[T]) own(b *build) *engine.Link[T] {
	return e.up.link(b, edgeSpec[T]{Edge: e.spec, name: b.name(e.node), node: e.node})
}

func (e *edged[T]) reader(b *build, w *engine.Worker) engine.Input[T] {
	return engine.ReadEdge(w, e.own(b))
}

func (e *edged[T]) link(b *build, next edgeSpec[T]) *engine.Link[T] {
	w := b.run.NewWorker()
	in := e.reader(b, w)
	l := next.open(b, in.Stream)
	engine.Pump(w, in, l, true)
	return l
}

// front builds the edge in front of an operator: the one that the user wrote there, or a small one of its own.
func front[T any](b *build, up upstream[T], n *node) *engine.Link[T] {
	return frontOf(b, up, n, DefaultCapacity)
}

// frontOf is front for an operator that wants another capacity of an edge of its own.
func frontOf[T any](b *build, up upstream[T], n *node, capacity int) *engine.Link[T] {
	if e, ok := up.(*edged[T]); ok {
		return e.own(b)
	}
	own := implicit[T](b.name(n) + ".in")
	own.Capacity = capacity
	return up.link(b, own)
}

// leaf is where a pipeline ends: the blueprint of a sink.
type leaf struct {
	*node
	build func(b *build)
}

// build is one blueprint on its way to become a run.
type build struct {
	*plan
	ctx  context.Context
	run  *engine.Run
	live bool // it is going to run
	fans map[*node]any
	bad  []string
	errs []error // behind some of bad

	opened []any // sources that were made for this run
}

// stage adds the stage of a node to the run.
func (b *build) stage(n *node) *engine.Stage {
	return b.run.NewStage(n.kind, n.op, b.name(n), n)
}

// fail records what is wrong with a node.
func (b *build) fail(n *node, text string) { b.bad = append(b.bad, b.finding(n, text)) }

// claim takes the parts that serve one run. Another run may have been faster.
func (b *build) claim() {
	for _, n := range b.onces {
		if n.once.Swap(true) {
			b.fail(n, n.usedUp())
		}
	}
}

// serveOnce makes a second run of the node a build error.
func (n *node) serveOnce() { n.once = new(atomic.Bool) }

// serveOnceIfCloser does so for a part that is closed behind its run.
func (n *node) serveOnceIfCloser(part any) {
	if _, ok := part.(io.Closer); ok {
		n.serveOnce()
	}
}
