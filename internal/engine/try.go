package engine

// tryStep is the fused step that calls a function which may fail.
type tryStep[T, U any] struct {
	call *Call[T, U]
	in   Input[T]
	buf  Buffer[T]
	end  error // what upstream reported behind the items at hand
}

// Try returns what comes out of call for the items of in.
func Try[T, U any](call *Call[T, U], in Input[T]) Input[U] {
	return Input[U]{Reader: &tryStep[T, U]{call: call, in: in}, Stream: in.Stream}
}

// Pull implements [Reader].
func (s *tryStep[T, U]) Pull(dst []U, tags []*Tag) (int, error) {
	for {
		if s.call.Rest() > 0 {
			if n, err := s.call.Run(dst, tags); n > 0 || err != nil {
				return n, err
			}
			continue
		}
		if s.end != nil {
			return 0, s.end
		}
		values, in := s.buf.Room(len(dst), s.in.Tagged)
		n, err := s.in.Pull(values, in)
		s.end = err
		s.call.Load(values[:n], Cut(in, 0, min(n, len(in))))
	}
}

// Leave implements [Reader].
func (s *tryStep[T, U]) Leave() {
	s.call.GiveBack()
	s.buf.abandon(s.call.W)
	s.in.Leave()
}
