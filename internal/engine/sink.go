package engine

// sinkTail pushes what it pulls into a sink.
type sinkTail[T any] struct {
	in  Input[T]
	out *Outlet[T]
	buf chunkBuffer[T]
	end error
}

// Drain makes w push everything from in to out, chunk by chunk as it comes.
func Drain[T any](w *Worker, in Input[T], out *Outlet[T]) {
	t := &sinkTail[T]{in: in, out: out, buf: chunkBuffer[T]{tagged: in.Tagged}}
	w.sink = true
	w.Body(t.run, func() {
		out.GiveBack()
		in.Leave()
		t.buf.abandon(w)
	})
}

func (t *sinkTail[T]) run() error {
	for {
		if t.out.Busy() {
			if err := t.out.Run(); err != nil {
				return err
			}
		}
		if t.end != nil {
			return t.out.finished(t.end)
		}
		values, tags := t.buf.room(maxChunk)
		n, err := t.in.Pull(values, tags)
		t.end = err
		if n > 0 {
			t.buf.used(t.out.W, n)
			t.out.Load(values[:n], Cut(tags, 0, min(n, len(tags))))
		}
	}
}

// gatherTail pushes groups into a sink.
type gatherTail[T any] struct {
	in     *Gatherer[T]
	out    *Outlet[T]
	loaded bool // the group is the outlet's
}

// DrainGroups makes w push what in gathers to out.
func DrainGroups[T any](w *Worker, in *Gatherer[T], out *Outlet[T]) {
	t := &gatherTail[T]{in: in, out: out}
	w.sink = true
	w.Body(t.run, t.leave)
}

func (t *gatherTail[T]) run() error {
	for {
		if t.loaded {
			if err := t.out.Run(); err != nil {
				return err
			}
			t.in.Drop()
			t.loaded = false
		}
		values, tags, err := t.in.Collect()
		if err != nil {
			return t.out.finished(err)
		}
		t.out.Load(values, tags)
		t.loaded = true
	}
}

// leave gives a group back once: by the outlet where it has it.
func (t *gatherTail[T]) leave() {
	if t.loaded {
		t.out.GiveBack()
		t.in.Drop()
		t.loaded = false
	}
	t.in.Leave()
}
