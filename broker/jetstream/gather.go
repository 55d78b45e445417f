package jetstream

import "runtime"

// yields is how often a Fetch lets others go on before it returns less than it could.
const yields = 2

// gather takes in more of a burst than its first messages, where a Fetch has some: whoever brings them may just need the processor.
// It waits for nothing. Without it what little is there becomes a small chunk of the pipeline, the next demand is as small, and most
// messages would take a request of their own.
func (f *Fetcher) gather(demand int) {
	for k := 0; f.burst(demand) && k < yields; k++ {
		runtime.Gosched()
	}
}

// burst receives, and tells whether some of what was asked for is here, and the rest may be close behind.
func (f *Fetcher) burst(demand int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.receiveAll(f.emptied)
	n := f.ready.len()
	return n > 0 && n < demand && f.pulls.credit > 0 && f.watch.pending > 0
}
