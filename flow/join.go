package flow

import (
	"strconv"

	"github.com/weir-go/weir/internal/engine"
)

// joinedNode returns the node of an operator with several inputs, and these.
func joinedNode[T any](op string, s *settings, fs ...Flow[T]) (*node, []upstream[T]) {
	ups := make([]upstream[T], len(fs))
	nodes := make([]*node, len(fs))
	for i, f := range fs {
		ups[i] = f.node()
		nodes[i] = ups[i].about()
	}
	return newNode(op, s, nodes...), ups
}

// newPort makes w read from up through an edge: the one that the user wrote there, or a small one called name.
func newPort[T any](b *build, w *engine.Worker, up upstream[T], name string) *engine.Port[T] {
	if e, ok := up.(*edged[T]); ok {
		return engine.NewPort(w, e.own(b))
	}
	return engine.NewPort(w, up.link(b, implicit[T](name)))
}

// newPorts makes w read from all of ups. It returns what is known of the stream that comes from all of them.
func newPorts[T any](b *build, w *engine.Worker, ups []upstream[T], nd *node) ([]*engine.Port[T], engine.Stream) {
	ports := make([]*engine.Port[T], len(ups))
	for i, up := range ups {
		ports[i] = newPort(b, w, up, inputName(b, nd, i))
	}
	s := ports[0].Stream
	for _, p := range ports[1:] {
		s = s.Or(p.Stream)
	}
	return ports, s
}

// inputName is the name of the edge that an operator brings in front of its input i.
func inputName(b *build, nd *node, i int) string {
	return b.name(nd) + ".in." + strconv.Itoa(i+1)
}
