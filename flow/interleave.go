package flow

import (
	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/stage"
)

// Interleave takes n values from f, then n from each of the others in turn, and begins again.
//
//	Shape:        several T → T, the order of each input kept, that between them fixed; an edge in front of each input,
//	              no goroutine of its own; holds at most 64 values of each.
//	Emits:        what the input has whose turn it is.
//	Backpressure: waits for downstream, and for the input whose turn it is, also while others have values: these go on
//	              until their edges are full. For values as they come use Merge.
//	Ends:         when all inputs have ended; one that has ended is passed over.
//	Errors:       none of its own. An error of any input stops the run. n < 1 is a build error. Inputs that are branches
//	              of one fan-out must give equally many values, as for Zip.
//	Claims:       travel along.
func (f Flow[T]) Interleave(n int, others ...Flow[T]) Flow[T] {
	nd, ups := joinedNode("interleave", &settings{}, append([]Flow[T]{f}, others...)...)
	nd.check(n >= 1, argument("n", ">= 1", n))
	nd.count = n
	return Flow[T]{&fused[T]{node: nd, read: func(b *build, w *engine.Worker) engine.Input[T] {
		ports, s := newPorts(b, w, ups, nd)
		step := &interleaveStep[T]{Fused: engine.NewFused(w, b.stage(nd)), ports: ports, n: n, left: n}
		return engine.Paced(w, step, s)
	}}}
}

type interleaveStep[T any] struct {
	engine.Fused
	ports []*engine.Port[T] // that have not ended
	turn  int
	n     int // values in a turn
	left  int // of this one
}

// Pull implements engine.Reader. It waits for the first value; then it hands on what is at hand.
func (s *interleaveStep[T]) Pull(dst []T, tags []*engine.Tag) (int, error) {
	for made := 0; ; {
		if len(s.ports) == 0 {
			return made, s.count(made, stage.ErrEnd)
		}
		port := s.ports[s.turn]
		if made == len(dst) || made > 0 && len(port.Values) == 0 {
			return made, s.count(made, nil)
		}
		if err := port.Fill(len(dst)); err == stage.ErrEnd {
			s.ports = append(s.ports[:s.turn], s.ports[s.turn+1:]...)
			s.next(s.turn)
			continue
		} else if err != nil {
			return made, s.count(made, err)
		}
		k := min(len(dst)-made, s.left)
		k = port.Move(dst[made:made+k], engine.Cut(tags, min(made, len(tags)), min(made+k, len(tags))))
		made += k
		if s.left -= k; s.left == 0 {
			s.next(s.turn + 1)
		}
	}
}

// next begins the turn of input i.
func (s *interleaveStep[T]) next(i int) {
	s.left = s.n
	if s.turn = i; i >= len(s.ports) {
		s.turn = 0
	}
}

func (s *interleaveStep[T]) count(n int, err error) error {
	s.Stage.Count(n, n)
	return err
}

// Leave implements engine.Reader.
func (s *interleaveStep[T]) Leave() {
	for _, p := range s.ports {
		p.Leave()
	}
}
