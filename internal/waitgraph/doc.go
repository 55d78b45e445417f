// Package waitgraph decides which of some tasks wait for each other for ever.
//
//	task 0 --waits for room on--> edge 0 --its consumer--> task 1 --waits for an item of--> edge 1 --its producer--> task 0
//
// It knows neither goroutines nor time. Whoever uses it takes a [Snapshot] now and then: what each task waits for, and what each
// edge holds. [Snapshot.Stuck] is the least fixpoint: a task can move if it does not wait, or if any of those who could end its
// wait can move. Who can't is stuck.
//
// # Rules
//
//   - Any one of several is enough to end a wait: a task is stuck only if all of them are.
//   - What is not known can move. So a wait that nobody has recorded hides a deadlock, and never makes one up.
//   - A snapshot is not taken in one moment. [Detector] therefore believes only what two in a row agree on: tasks that wait at
//     the same place with the same epoch have not moved in between, so there was a moment at which all of them stood there. Since
//     nobody else could have woken any of them, none has moved afterwards.
//   - The stuck tasks that wait for nobody but each other are a [Knot]. All others are behind one.
package waitgraph
