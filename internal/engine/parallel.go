package engine

// ordered is a worker of an ordered Parallel: it takes a chunk with its ticket, calls the function, and deposits the results.
type ordered[T, U any] struct {
	call   *Call[T, U]
	head   Input[T]
	win    *window[U]
	in     Buffer[T]
	ticket int64
	busy   bool // a ticket is being worked on
}

// Tickets returns how many chunks n workers of a Parallel have in hand while there is no room behind. One worker alone hands on
// what it has made of a chunk before it takes another, and where it need not give tickets it takes none before there is room.
func Tickets(n int, inOrder bool) int {
	switch {
	case n == 1 && inOrder:
		return 1
	case n == 1:
		return 0
	case inOrder:
		return ticketsPerWorker * n
	}
	return n
}

// Parallel makes the workers ws call fn on what comes through in and hands the results on to out, in order if ordered.
func Parallel[T, U any](ws []*Worker, in *Link[T], out *Link[U], inOrder bool, newCall func(*Worker) *Call[T, U]) {
	var win *window[U]
	if inOrder {
		win = newWindow(out, ws)
	}
	for _, w := range ws {
		head := ShareEdge(w, in)
		call := newCall(w)
		if !inOrder {
			Pump(w, Try(call, head), out, len(ws) == 1)
			continue
		}
		o := &ordered[T, U]{call: call, head: head, win: win}
		out.Feed(w)
		w.Hold(len(win.slots) / len(ws) * sharedChunk)
		w.Body(o.run, o.leave)
	}
}

func (o *ordered[T, U]) run() error {
	for {
		if !o.busy {
			if err := o.begin(); err != nil {
				return err
			}
		}
		s := o.win.slot(o.ticket)
		for o.call.Rest() > 0 {
			n, err := o.call.Run(s.Values[s.n:], Cut(s.Tags, min(s.n, len(s.Tags)), len(s.Tags)))
			s.n += n
			if err == nil && o.call.Rest() > 0 { // the rest may take its time
				err = o.win.deposit(o.call.W, o.ticket, false)
			}
			if err != nil {
				return err
			}
		}
		o.busy = false
		if err := o.win.deposit(o.call.W, o.ticket, true); err != nil {
			return err
		}
	}
}

// begin takes a chunk and its ticket.
func (o *ordered[T, U]) begin() error {
	w := o.call.W
	if err := o.win.acquire(w); err != nil {
		return err
	}
	values, tags := o.in.Room(sharedChunk, o.head.Tagged)
	n, err := o.head.Pull(values, tags)
	if err != nil {
		o.win.release()
		return err
	}
	o.ticket, o.busy = w.In.Ticket, true
	s := o.win.slot(o.ticket)
	s.Room(sharedChunk, o.head.Tagged)
	o.call.Load(values[:n], Cut(tags, 0, n))
	return nil
}

// leave gives back what the worker holds, and what waits in the window where nobody will hand it on.
func (o *ordered[T, U]) leave() {
	o.call.GiveBack()
	if o.busy {
		o.busy = false
		o.win.drop(o.call.W, o.ticket)
	}
	o.in.abandon(o.call.W)
	if o.call.W.Gone() != nil {
		o.win.abandon(o.call.W)
	}
	o.head.Leave()
}
