package stage

import "context"

// Publisher is where values come from that are pushed instead of pulled, as far as they have been asked for: the reactive
// streams protocol, in three small interfaces. [Subscribe] makes a source of one.
//
// Rules, for one subscription:
//
//	U1  The publisher delivers its values in order, each once, and no more of them than were requested. Requests add
//	    up; their sum stays at math.MaxInt64, which means without limit.
//	U2  Its calls of Deliver, Complete and Fail come one after another.
//	U3  The last call is Complete or Fail, and needs no demand. There is none behind a Cancel.
//	U4  Request(n) with n < 1 is reported by Fail. It does not panic.
//	U5  Request and Cancel may be called by any goroutine, also from inside Deliver, as often as one likes: the stack does
//	    not grow. They return soon. Values that are at hand may be delivered within Request; others are not waited for.
//	U6  After Cancel both do nothing, at most what was still asked for is delivered, and the publisher forgets the
//	    Subscriber.
//	U7  Where Deliver takes fewer values than it is given, the publisher stops, as after a Cancel. The others are still its own.
//
// ctx is for the call of Subscribe, which may have to connect. The subscription outlives it. A publisher that serves one
// subscription only answers the second with an error.
type Publisher[T any] interface {
	Subscribe(ctx context.Context, to Subscriber[T]) (Subscription, error)
}

// Subscriber is what a [Publisher] delivers to. Its methods do not wait: values come only where there is room for them.
type Subscriber[T any] interface {
	// Deliver hands values over and returns how many were taken: all, or fewer where no more are wanted. The slice is the
	// publisher's.
	Deliver(vs ...T) int
	// Complete is the clean end of the stream.
	Complete()
	// Fail ends the stream with an error.
	Fail(err error)
}

// Subscription is how a consumer asks a [Publisher] for values, and says that it wants no more.
type Subscription interface {
	// Request asks for n values more.
	Request(n int64)
	// Cancel ends the subscription. Further calls do nothing.
	Cancel()
}

// PublisherFunc makes a [Publisher] of a function that keeps its rules.
func PublisherFunc[T any](fn func(ctx context.Context, to Subscriber[T]) (Subscription, error)) Publisher[T] {
	return publisherFunc[T](fn)
}

type publisherFunc[T any] func(context.Context, Subscriber[T]) (Subscription, error)

func (fn publisherFunc[T]) Subscribe(ctx context.Context, to Subscriber[T]) (Subscription, error) {
	return fn(ctx, to)
}
