package engine

import (
	"sync"

	"github.com/weir-go/weir/internal/clock"
)

// ticketsPerWorker bounds how far the results of one worker may run ahead of a slower one.
const ticketsPerWorker = 4

// window puts the results of several workers back in order. Each chunk that a worker takes has a ticket; results wait in the
// window for those of earlier tickets. Whoever brings the results that all wait for hands on everything that is complete, so
// that no goroutine is needed for it.
type window[U any] struct {
	link *Link[U]
	free chan struct{} // one token for each ticket that may still be taken

	mu       sync.Mutex
	slots    []slot[U]
	next     int64 // ticket to be handed on
	emitting bool
	err      error
}

// slot holds the results of one ticket.
type slot[U any] struct {
	Buffer[U]
	n    int
	done bool
}

func newWindow[U any](l *Link[U], workers int) *window[U] {
	n := ticketsPerWorker * workers
	win := &window[U]{link: l, free: make(chan struct{}, n), slots: make([]slot[U], n)}
	for range n {
		win.free <- struct{}{}
	}
	return win
}

// acquire waits until a ticket may be taken.
func (win *window[U]) acquire(w *Worker) error {
	select {
	case <-win.free:
		return nil
	default:
	}
	w.held.Start(clock.Now())
	defer func() { w.held.Stop(clock.Now()) }()
	select {
	case <-win.free:
		return nil
	case <-w.ctx.Done():
		return w.Gone()
	}
}

// release gives the right to a ticket back that was not taken.
func (win *window[U]) release() { win.free <- struct{}{} }

// slot returns where the results of a ticket go. Only its worker touches it until deposit.
func (win *window[U]) slot(ticket int64) *slot[U] {
	return &win.slots[ticket%int64(len(win.slots))]
}

// deposit says that the results of a ticket are complete, and hands on what is in order.
func (win *window[U]) deposit(w *Worker, ticket int64) error {
	win.mu.Lock()
	defer win.mu.Unlock()
	win.slot(ticket).done = true
	if win.err != nil {
		win.giveBack(w)
		return win.err
	}
	if win.emitting || ticket != win.next {
		return nil
	}
	win.emitting = true
	for win.err == nil {
		s := win.slot(win.next)
		if !s.done {
			break
		}
		win.mu.Unlock()
		err := s.emit(w, win.link)
		win.mu.Lock()
		win.err = err
		s.done = false
		win.next++
		win.free <- struct{}{}
	}
	win.emitting = false
	if win.err != nil {
		win.giveBack(w)
	}
	return win.err
}

// emit puts the results into the edge.
func (s *slot[U]) emit(w *Worker, l *Link[U]) error {
	n := s.n
	s.n = 0
	if n == 0 {
		return nil
	}
	return put(w, l, s.Values[:n], Cut(s.Tags, 0, min(n, len(s.Tags))))
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

// giveBack is called with the lock.
func (win *window[U]) giveBack(w *Worker) {
	for i := range win.slots {
		if s := &win.slots[i]; s.done {
			w.giveBack(s.n, Cut(s.Tags, 0, min(s.n, len(s.Tags))))
			clear(s.Values[:s.n])
			s.n, s.done = 0, false
		}
	}
}
