package engine

import (
	"slices"
	"sync"

	"github.com/weir-go/weir/internal/clock"
)

// ticketsPerWorker bounds how far the results of one worker may run ahead of a slower one.
const ticketsPerWorker = 4

// window puts the results of several workers back in order. Each chunk that a worker takes has a ticket; results wait in the
// window for those of earlier tickets. Whoever brings the results that all wait for hands on everything that is complete, so
// that no goroutine is needed for it.
type window[U any] struct {
	link    *Link[U]
	workers []*Worker // whose window it is

	mu       sync.Mutex
	free     int    // tickets that may still be taken
	line     []seat // of those who wait for one
	waits    uint64 // how many have waited
	slots    []slot[U]
	next     int64 // ticket to be handed on
	emitting bool
	err      error
}

// slot holds the results of one ticket: Values[:n]. Its worker adds to them until it is done, meanwhile those up to ready may
// be handed on, as far as handed they have been.
type slot[U any] struct {
	Buffer[U]
	n             int // for the worker alone, until it is done
	ready, handed int // guarded by the window's lock
	done          bool
}

// seat is that of a worker that waits for a ticket.
type seat struct {
	w     *Worker
	epoch uint64
	since int64
}

func newWindow[U any](l *Link[U], ws []*Worker) *window[U] {
	n := Tickets(len(ws), true)
	win := &window[U]{link: l, workers: ws, free: n, slots: make([]slot[U], n)}
	ws[0].run.spots = append(ws[0].run.spots, win)
	return win
}

// acquire waits until a ticket may be taken.
func (win *window[U]) acquire(w *Worker) error {
	if win.enter(w) {
		return nil
	}
	w.held.Start(clock.Now())
	defer func() { w.held.Stop(clock.Now()) }()
	w.Parks()
	select {
	case <-w.turn:
		return nil
	case <-w.Context().Done():
		win.withdraw(w)
		return w.Gone()
	}
}

// enter gives w the right to a ticket, or a place in the line.
func (win *window[U]) enter(w *Worker) bool {
	win.mu.Lock()
	defer win.mu.Unlock()
	if win.free > 0 {
		win.free--
		return true
	}
	if w.turn == nil {
		w.turn = make(chan struct{}, 1)
	}
	win.waits++
	win.line = append(win.line, seat{w, win.waits, clock.Now()})
	return false
}

// withdraw takes w out of the line, and passes on the right that it may have got meanwhile.
func (win *window[U]) withdraw(w *Worker) {
	win.mu.Lock()
	defer win.mu.Unlock()
	if i := slices.IndexFunc(win.line, func(s seat) bool { return s.w == w }); i >= 0 {
		win.line = slices.Delete(win.line, i, i+1)
		return
	}
	<-w.turn
	win.pass()
}

// release gives the right to a ticket back that was not taken.
func (win *window[U]) release() {
	win.mu.Lock()
	defer win.mu.Unlock()
	win.pass()
}

// pass gives the right to a ticket to whoever waits first. It is called with the lock.
func (win *window[U]) pass() {
	if len(win.line) == 0 {
		win.free++
		return
	}
	first := win.line[0].w
	win.line = slices.Delete(win.line, 0, 1)
	first.turn <- struct{}{}
}

// slot returns where the results of a ticket go. Only its worker touches it until deposit.
func (win *window[U]) slot(ticket int64) *slot[U] {
	return &win.slots[ticket%int64(len(win.slots))]
}

// deposit says that the results so far of a ticket may be handed on, and with done that there will be no more. It hands on
// what is in order.
func (win *window[U]) deposit(w *Worker, ticket int64, done bool) error {
	win.mu.Lock()
	mine := false
	defer func() {
		if mine {
			win.emitting = false // also where a hook of the edge has ended the goroutine
		}
		win.mu.Unlock()
	}()
	s := win.slot(ticket)
	s.ready, s.done = s.n, done
	if win.err == nil && !win.emitting && ticket == win.next {
		win.emitting, mine = true, true
		win.handOn(w)
	}
	if win.err != nil && (mine || !win.emitting) {
		win.giveBack(w)
	}
	return win.err
}

// handOn hands on what is in order. It is called with the lock, which it gives up meanwhile.
func (win *window[U]) handOn(w *Worker) {
	for win.err == nil {
		s := win.slot(win.next)
		switch {
		case s.handed < s.ready:
			if err := win.emit(w, s); win.err == nil {
				win.err = err
			}
		case s.done:
			s.n, s.ready, s.handed, s.done = 0, 0, 0, false
			win.next++
			win.pass()
		default:
			return
		}
	}
}

// emit puts the results of a slot that are ready into the edge, without the lock.
func (win *window[U]) emit(w *Worker, s *slot[U]) error {
	from, to := s.handed, s.ready
	s.handed = to
	win.mu.Unlock()
	defer win.mu.Lock()
	return put(w, win.link, s.Values[from:to], Cut(s.Tags, min(from, len(s.Tags)), min(to, len(s.Tags))))
}

// abandon gives back what waits in the window when a worker ends early.
func (win *window[U]) abandon(w *Worker) {
	win.mu.Lock()
	defer win.mu.Unlock()
	if win.err == nil {
		win.err = w.Cause()
	}
	if !win.emitting {
		win.giveBack(w)
	}
}

// drop gives back what the worker of an unfinished ticket has made and nobody has handed on.
func (win *window[U]) drop(w *Worker, ticket int64) {
	win.mu.Lock()
	defer win.mu.Unlock()
	s := win.slot(ticket)
	s.ready = s.n
	win.clear(w, s)
	s.abandon(w)
}

// giveBack gives back what waits in slots that are done; workers give back the others. It is called with the lock.
func (win *window[U]) giveBack(w *Worker) {
	for i := range win.slots {
		if s := &win.slots[i]; s.done {
			win.clear(w, s)
		}
	}
}

// clear gives back the results in a slot. It is called with the lock.
func (win *window[U]) clear(w *Worker, s *slot[U]) {
	from, to := s.handed, s.ready
	s.handed = to
	w.giveBack(win.err, to-from, Cut(s.Tags, min(from, len(s.Tags)), min(to, len(s.Tags))))
	clear(s.Values[from:to])
}
