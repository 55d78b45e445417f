// Package admission decides, where work enters a process, whether it is taken on. What is not is refused at once, before anything has
// been done for it, by an answer that says why, and when to come again.
//
//	                     Listener            Gate                      Inlet, handler
//	 clients  ==========>[ connections ]====>[ Limit | Target | ... ]==[ edge ]==[ workers ]==>
//	 Transport,             503                503 429                  expired: dropped
//	 Caller <----------------------------------- Retry-After, how long it would take
//
//	gate := admission.NewGate(admission.Config{Limit: 200, Concurrency: 20})
//	http.Handle("POST /orders", gate.Handler(orders))
//
// The parts, each of use without the others:
//
//   - [Gate] bounds how many are inside, and says in which order work goes when there is too much: by deadline, class of criticality,
//     attempt, tenant, cost. [Gate.Handler] is its middleware for HTTP, package grpcadmission that for gRPC; [Behind] puts an Inlet behind it.
//   - [SpendLimiter] bounds what the work costs.
//   - [Limiter] is for a dependency that takes n calls at a time: n run, m wait in order, the rest is refused.
//   - [Caller] is the client's side: it does not send what would be refused, and comes again when it is told to. [Transport] is made of it.
//   - [Listener] refuses connections, the cheapest of all.
//
// # Rules that hold everywhere
//
//   - Bounds are taken and looked at under one lock. Nothing is looked at first and taken later.
//   - A refusal costs nearly nothing: one lock, no allocation. It is counted, by reason and class.
//   - A gate has no queue. Who waits, waits in an edge or in a Limiter, and is counted there.
//   - Metadata decides who goes first, so what a request says of itself counts only where the peer is trusted.
//   - Everything is bounded, whatever arrives: tables of tenants, keys, refusals that are being told.
//   - Nothing starts a goroutine but Listener, one for each connection that it refuses.
//   - All methods are safe for concurrent use.
//
// # The order around a call
//
// From outside in: admission, retries with their budget, a breaker, the deadline of one attempt. A [Caller] has the first two, and calls a
// function that has the others in it. A breaker's error is not a [Refusal], so the two are counted apart.
//
// # When not to use it
//
// Work that must not be lost is not refused: put it into a durable edge (package broker), and add consumers. A pipeline that reads from
// a source needs no gate either, because its edges slow the source down.
package admission
