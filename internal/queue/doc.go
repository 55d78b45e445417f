// Package queue is the one queue of weir: a bounded line of items between goroutines, the inside of every edge.
//
//	producers --Demand, Put--> [ ring of values | ring of tags | marks: when ] --Take--> consumers
//
// It never holds more than Capacity items (nor, where set, more than MaxWeight), and each item that it takes over leaves it
// once: taken by a consumer, dropped with a reason, or given back when the run stops or the last consumer leaves. At every
// instant
//
//	In = Out + Dropped + Depth
//
// # Rules
//
//   - Chunks: values move by the slice, under one lock. Put says how many it took over; what is behind them is still the
//     caller's.
//   - Waiting: a goroutine parks on the channel of its [Waiter], never on a mutex, so that virtual time works; only a waiter
//     that is really waiting is signalled, one for each piece of news, and one that gives up hands its signal on.
//   - Hooks: Dropped runs after the lock is released, in the goroutine that caused the drop.
//   - Clocks: one reading per call, and two more each time that it waits. A refusal reads none and takes no lock where the
//     queue is known to be full.
//   - Orders: FIFO is rings that are served at the head, newest first the same at the tail. Any other is a slab of slots and an order
//     that says who is next and who pays; it keeps the order within a lane. What drops on the way out is asked before an item is taken.
//   - Ends: producers are counted, and the last to close ends the stream behind what waits. Consumers are counted too: when
//     the last one leaves, what waits is given back and producers see [ErrLeft]. Abort ends both sides at once.
package queue
