// Package checkpoint has stores for [flow.Checkpoint]: they keep the position of a stream from one run to the next.
//
//	source ==> pipeline ==> sink
//	   |                     |
//	   |   settled up to     v
//	   +--------------> flow.OpenAt --Save--> File, SQL
//
// A program that reads a file again from where it stopped, and survives being killed at any moment:
//
//	store := checkpoint.NewFile("/var/lib/app/orders.position")
//	err := flow.OpenAt(openOrders, flow.Checkpoint(store)).To(table).Run(ctx)
//
// [File] is for one process with a disk of its own. [SQL] puts the position into the database that has the results, so that
// both are backed up, and thrown away, together. Neither is part of the transaction that writes results: a position is
// saved behind the results that it stands for, and after a crash the last of them come again. Where that is not good enough,
// write results so that the second time changes nothing, by a key for example.
//
// Saving "" says that nothing is saved: the next run starts at the beginning.
//
// A store of one's own has two methods; see [flow.CheckpointStore] for their rules. Stores here are safe for concurrent use,
// but a store is the place of one stream: two streams that share one overwrite each other's position.
package checkpoint
