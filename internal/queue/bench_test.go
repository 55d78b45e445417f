package queue_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weir-go/weir/internal/queue"
)

const (
	benchCapacity = 1024
	benchBatch    = 4096 // offers of one turn
	benchChunk    = 64
)

// benchOffers measures turns of offers, made by one goroutine and by two at once. Each has a turn of its own.
func benchOffers(b *testing.B, name string, newTurn func() func()) {
	b.Helper()
	for _, workers := range []int{1, 2} {
		b.Run(name+map[int]string{1: "/alone", 2: "/two at once"}[workers], func(b *testing.B) {
			turns := []func(){newTurn(), newTurn()}
			b.ReportAllocs()
			for b.Loop() {
				if workers == 1 {
					turns[0]()
					continue
				}
				var wg sync.WaitGroup
				for _, turn := range turns {
					wg.Go(func() {
						for range 16 {
							turn()
						}
					})
				}
				wg.Wait()
			}
			perLoop := map[int]int{1: 1, 2: 32}[workers] * benchBatch
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*perLoop), "ns/item")
		})
	}
}

// filled returns a queue of int64 that is full.
func filled(b *testing.B, p queue.Policy) *queue.Queue[int64] {
	b.Helper()
	q := queue.New(queue.Config[int64]{Name: "b", Capacity: benchCapacity, OnFull: p})
	q.AddProducer()
	q.AddConsumer()
	for i := range int64(benchCapacity) {
		if err := q.Offer(i, nil); err != nil {
			b.Fatalf("Offer(%d) = %v, want nil", i, err)
		}
	}
	return q
}

// offers makes a turn of single offers, puts one of chunks.
func offers(q *queue.Queue[int64]) func() func() {
	return func() func() {
		return func() {
			for i := range int64(benchBatch) {
				_ = q.Offer(i, nil)
			}
		}
	}
}

func puts(q *queue.Queue[int64]) func() func() {
	return func() func() {
		w, chunk := queue.NewWaiter(), make([]int64, benchChunk)
		return func() {
			for range benchBatch / len(chunk) {
				_, _ = q.Put(w, chunk, nil, nil)
			}
		}
	}
}

// same makes a turn that may be shared.
func same(turn func()) func() func() { return func() func() { return turn } }

// BenchmarkDropNewest compares an offer to a full queue with a select with default. The queue counts what it drops, exactly
// and for any number of producers; "channel" counts nothing, "counted channel" counts the same way.
func BenchmarkDropNewest(b *testing.B) {
	q := filled(b, queue.DropNewest)
	benchOffers(b, "offer", offers(q))
	benchOffers(b, "put of 64", puts(q))
	ch := make(chan int64, benchCapacity)
	for range benchCapacity {
		ch <- 0
	}
	benchOffers(b, "channel", same(func() {
		for i := range int64(benchBatch) {
			select {
			case ch <- i:
			default:
			}
		}
	}))
	var dropped atomic.Int64
	benchOffers(b, "counted channel", same(func() {
		for i := range int64(benchBatch) {
			select {
			case ch <- i:
			default:
				dropped.Add(1)
			}
		}
	}))
}

// BenchmarkDropOldest compares an offer to a full queue with a loop that receives and sends until its item is in.
func BenchmarkDropOldest(b *testing.B) {
	q := filled(b, queue.DropOldest)
	benchOffers(b, "offer", offers(q))
	benchOffers(b, "put of 64", puts(q))
	ch := make(chan int64, benchCapacity)
	var dropped atomic.Int64
	benchOffers(b, "channel", same(func() {
		for i := range int64(benchBatch) {
			for sent := false; !sent; {
				select {
				case ch <- i:
					sent = true
				default:
					select {
					case <-ch:
						dropped.Add(1)
					default:
					}
				}
			}
		}
	}))
}

// BenchmarkHop moves items through a queue in chunks, by one goroutine, against a channel.
func BenchmarkHop(b *testing.B) {
	b.Run("put and take of 64", func(b *testing.B) {
		q := queue.New(queue.Config[int64]{Name: "b", Capacity: benchCapacity})
		q.AddProducer()
		q.AddConsumer()
		in, out, chunk := queue.NewWaiter(), queue.NewWaiter(), make([]int64, benchChunk)
		b.ReportAllocs()
		for b.Loop() {
			for range benchBatch / len(chunk) {
				_, _ = q.Put(in, chunk, nil, nil)
				_, _ = q.Take(out, chunk, nil, nil)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchBatch), "ns/item")
	})
	b.Run("channel", func(b *testing.B) {
		ch := make(chan int64, benchCapacity)
		b.ReportAllocs()
		for b.Loop() {
			for i := range int64(benchBatch) {
				ch <- i
				<-ch
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchBatch), "ns/item")
	})
}

// BenchmarkOrders moves items through queues that serve them in another order, one at a time and in chunks of 64 that are half of what
// waits, against first in, first out.
func BenchmarkOrders(b *testing.B) {
	for _, kind := range []queue.Kind{queue.FIFO, queue.Newest, queue.Fair, queue.ByRank, queue.Largest} {
		b.Run(kind.String(), func(b *testing.B) {
			cfg := laned(kind, 2*benchChunk)
			cfg.OnFull = queue.DropOldest
			q, producer, consumer := open(cfg)
			chunk := make([]thing, benchChunk)
			for i := range chunk {
				chunk[i] = thing{id: i, lane: i % modelLanes, weight: int64(i % 7)}
			}
			_, _ = q.Put(producer, chunk, nil, nil)
			b.ReportAllocs()
			for b.Loop() {
				for range benchBatch / len(chunk) {
					_, _ = q.Put(producer, chunk, nil, nil)
					_, _ = q.Take(consumer, chunk, nil, nil)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchBatch), "ns/item")
		})
	}
}
