package main

import (
	"fmt"
	"io"
	"iter"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows how far a run has come: a bar on a terminal, a line a second elsewhere. It is only for show: where it
// can't be written it is left out.
type progress struct {
	every time.Duration

	mu  sync.Mutex // of what follows: a tick and say may come together
	w   io.Writer
	bar *progressbar.ProgressBar // nil where there is no terminal
}

func newProgress(w io.Writer) *progress {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return &progress{w: w, every: time.Second}
	}
	// How much there is to do is not known yet: until it is, the bar is a spinner.
	bar := progressbar.NewOptions64(-1, progressbar.OptionSetWriter(w), progressbar.OptionSpinnerType(14), progressbar.OptionSetWidth(30),
		progressbar.OptionSetSpinnerChangeInterval(0)) // else it has a goroutine that nobody waits for
	return &progress{w: w, every: 100 * time.Millisecond, bar: bar}
}

// start shows what now returns until stop is called. stop returns when nothing more will be written. For a bar it counts the
// files beside the run, whose own walk goes no further than the demand; nil is no walk.
func (p *progress) start(files iter.Seq2[string, error], now func() counts) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	if p.bar != nil && files != nil {
		wg.Go(func() { p.count(files, done) })
	}
	wg.Go(func() {
		tick := time.NewTicker(p.every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.show(now())
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
		if p.bar != nil {
			_ = p.bar.Clear()
		}
	}
}

// count makes a bar with an end of the spinner.
func (p *progress) count(files iter.Seq2[string, error], done <-chan struct{}) {
	total := 0
	for _, err := range files {
		select {
		case <-done:
			return
		default:
		}
		if err == nil {
			total++
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bar.ChangeMax(max(total, 1))
}

func (p *progress) show(c counts) {
	text := fmt.Sprintf("%d files, %d failed, %d functions, %d loaded", c.files, c.failed, c.extracted, c.loaded)
	if c.confirmed > 0 {
		text += fmt.Sprintf("; the stream has confirmed %d", c.confirmed)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.Describe(text)
		_ = p.bar.Set64(min(c.files, max(p.bar.GetMax64(), 0)))
		return
	}
	_, _ = fmt.Fprintf(p.w, "%4.0f s: %s\n", c.elapsed.Seconds(), text)
}

// say writes a line beside the progress.
func (p *progress) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	_, _ = fmt.Fprintln(p.w, "etl:", text)
}
