package jetprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/jetstream"
)

// metric is one number of a struct of counts.
type metric[S any] struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*S) float64
}

func describe[S any](ch chan<- *prometheus.Desc, ms []metric[S]) {
	for _, m := range ms {
		ch <- m.desc
	}
}

func values[S any](ch chan<- prometheus.Metric, name string, ms []metric[S], s *S) {
	for _, m := range ms {
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(s), name)
	}
}

type number interface{ ~int | ~int64 | ~uint64 }

// count is a counter. Its name ends in _total.
func count[S any, N number](name, help string, n func(*S) N) metric[S] {
	return metric[S]{desc(name+"_total", help), prometheus.CounterValue, func(s *S) float64 { return float64(n(s)) }}
}

// gauge is a number that goes up and down.
func gauge[S any, N number](name, help string, n func(*S) N) metric[S] {
	return metric[S]{desc(name, help), prometheus.GaugeValue, func(s *S) float64 { return float64(n(s)) }}
}

func desc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("weir_"+name, help, []string{"name"}, nil)
}

type (
	source  = broker.SourceStats
	fetcher = jetstream.FetcherStats
	sink    = broker.SinkStats
	sender  = jetstream.SenderStats
)

var ofSource = []metric[source]{
	count("source_received", "Deliveries, repeated ones included.", func(s *source) int64 { return s.Received }),
	count("source_redelivered", "Deliveries that were not the first of their message.", func(s *source) int64 { return s.Redelivered }),
	gauge("source_in_flight", "Deliveries in the pipeline that have not settled.", func(s *source) int { return s.InFlight }),
	count("source_done", "Deliveries whose message is processed.", func(s *source) int64 { return s.Done }),
	count("source_terminated", "Deliveries that the pipeline has ended for good.", func(s *source) int64 { return s.Terminated }),
	count("source_failed", "Deliveries that failed: the message comes again, or is a dead letter.", func(s *source) int64 { return s.Failed }),
	count("source_given_back", "Deliveries given back by the pipeline because nobody has processed them.", func(s *source) int64 { return s.GivenBack }),
	count("source_undecodable", "Payloads that were too large, or that the codec refused.", func(s *source) int64 { return s.Undecodable }),
	count("source_bad_headers", "Metadata in headers that made no sense and was ignored.", func(s *source) int64 { return s.BadHeaders }),
	count("source_dead_letters", "Dead letters that were stored.", func(s *source) int64 { return s.DeadLetters }),
	count("source_unburied", "Dead letters that could not be stored: the message comes again.", func(s *source) int64 { return s.Unburied }),
	count("source_discarded", "Messages ended because they had been dead letters too often.", func(s *source) int64 { return s.Discarded }),
}

var ofFetcher = []metric[fetcher]{
	gauge("fetcher_pending", "Messages in the stream behind the last delivery, as the server last said: the lag.", func(s *fetcher) uint64 { return s.Pending }),
	gauge("fetcher_waiting", "Deliveries that have arrived and that nobody has fetched.", func(s *fetcher) int { return s.Waiting }),
	gauge("fetcher_ack_pending", "Unsettled messages of all processes of the consumer, as the server last said; it is asked when nothing comes.", func(s *fetcher) int { return s.AckPending }),
	count("fetcher_acked", "Acknowledgements that have reached the server.", func(s *fetcher) uint64 { return s.Acked }),
	count("fetcher_naked", "Negative acknowledgements, with a delay or without, that have reached the server.", func(s *fetcher) uint64 { return s.Naked }),
	count("fetcher_ended", "Terminations that have reached the server.", func(s *fetcher) uint64 { return s.Ended }),
	count("fetcher_returned", "Deliveries given back when the fetcher was closed.", func(s *fetcher) uint64 { return s.Returned }),
	gauge("fetcher_unsent", "Answers that wait for the connection.", func(s *fetcher) int { return s.Unsent }),
	gauge("fetcher_unproven", "Answers that were sent and may not have reached the server.", func(s *fetcher) int { return s.Unproven }),
	count("fetcher_lease_lost", "Deliveries that the server may have given to somebody else, because AckWait had passed.", func(s *fetcher) uint64 { return s.LeaseLost }),
	count("fetcher_overheld", "Deliveries that were older than MaxHold and are not kept alive any more.", func(s *fetcher) uint64 { return s.Overheld }),
	count("fetcher_lost", "Messages that the stream deleted before anybody was through with them.", func(s *fetcher) uint64 { return s.Lost }),
	count("fetcher_unseen", "Deliveries to other processes, or to connections that broke. Where there are any, weir_fetcher_lost_total may be too low.", func(s *fetcher) uint64 { return s.Unseen }),
	count("fetcher_pulls", "Requests for messages.", func(s *fetcher) uint64 { return s.Pulls }),
	count("fetcher_nudges", "Requests repeated because messages waited and none came.", func(s *fetcher) uint64 { return s.Nudges }),
	count("fetcher_recreated", "Times that the consumer was made again.", func(s *fetcher) uint64 { return s.Recreated }),
	count("fetcher_reconnects", "Connections lost and made again.", func(s *fetcher) uint64 { return s.Reconnects }),
	gauge("fetcher_stalled", "1 where messages wait and none come, otherwise 0.", stalled),
}

func stalled(s *fetcher) int {
	if s.Stalled == "" {
		return 0
	}
	return 1
}

var ofSink = []metric[sink]{
	count("sink_stored", "Messages that the broker has confirmed.", func(s *sink) int64 { return s.Stored }),
	count("sink_dropped", "Values let go because the stream was full.", func(s *sink) int64 { return s.Dropped }),
	count("sink_failed", "Messages that failed, as often as they did.", func(s *sink) int64 { return s.Failed }),
	count("sink_full", "Times that a message found the stream full.", func(s *sink) int64 { return s.Full }),
	{
		desc("sink_blocked_seconds_total", "Time that pushes have waited for room in the stream."), prometheus.CounterValue,
		func(s *sink) float64 { return s.Blocked.Seconds() },
	},
}

var ofSender = []metric[sender]{
	count("sender_published", "Messages that the server has confirmed, repetitions included.", func(s *sender) int64 { return s.Published }),
	count("sender_duplicates", "Confirmed messages that had been stored before.", func(s *sender) int64 { return s.Duplicates }),
	count("sender_full", "Messages that the stream had no room for.", func(s *sender) int64 { return s.Full }),
	count("sender_scarce", "Messages that the server or the account had no room for.", func(s *sender) int64 { return s.Scarce }),
	count("sender_refused", "Messages that will never be stored.", func(s *sender) int64 { return s.Refused }),
	count("sender_unknown", "Messages of which nobody knows whether they are stored.", func(s *sender) int64 { return s.Unknown }),
	count("sender_retried", "Messages sent once more.", func(s *sender) int64 { return s.Retried }),
	count("sender_late", "Messages sent once more after the stream had forgotten their identity: they may be stored twice.", func(s *sender) int64 { return s.Late }),
	gauge("sender_in_window", "Messages that are sent and not confirmed.", func(s *sender) int { return s.InWindow }),
}
