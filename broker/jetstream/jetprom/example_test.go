package jetprom_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/jetstream"
	"github.com/weir-go/weir/broker/jetstream/embedded"
	"github.com/weir-go/weir/broker/jetstream/jetprom"
	"github.com/weir-go/weir/flow"
)

func ExampleCollector() {
	srv, err := embedded.Start(embedded.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = srv.Close() }()
	nc, err := srv.Conn()
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	ctx := context.Background()
	err = jetstream.EnsureStream(ctx, nc, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.new"}, MaxMessages: 1000})
	if err != nil {
		log.Fatal(err)
	}
	sink := jetstream.NewSink(nc, broker.JSON[int](), jetstream.SinkConfig[int]{Stream: "ORDERS", To: "orders.new"})
	source := jetstream.NewSource(nc, broker.JSON[int](), jetstream.SourceConfig{Stream: "ORDERS", Durable: "billing"})

	metrics := jetprom.New()
	if err := errors.Join(metrics.Add("orders", sink), metrics.Add("billing", source)); err != nil {
		log.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics) // and promhttp.HandlerFor(registry, ...) serves it

	if err := flow.FromSlice([]int{1, 2, 3}).To(sink).Run(ctx); err != nil {
		log.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "weir_sink_stored_total" || f.GetName() == "weir_source_received_total" {
			m := f.GetMetric()[0]
			fmt.Printf("%s{name=%q} %v\n", f.GetName(), m.GetLabel()[0].GetValue(), m.GetCounter().GetValue())
		}
	}
	// Output:
	// weir_sink_stored_total{name="orders"} 3
	// weir_source_received_total{name="billing"} 0
}

// A durable edge whose numbers are wanted is made of its parts.
func ExampleCollector_durableEdge() {
	srv, err := embedded.Start(embedded.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = srv.Close() }()
	nc, err := srv.Conn()
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	ctx := context.Background()
	err = jetstream.EnsureStream(ctx, nc, jetstream.StreamConfig{Name: "EDGE", Subjects: []string{"edge"}, MaxMessages: 1000})
	if err != nil {
		log.Fatal(err)
	}

	in := jetstream.NewSender(nc, jetstream.SenderConfig{Stream: "EDGE"})
	out := jetstream.NewFetcher(nc, jetstream.SourceConfig{Stream: "EDGE", Durable: "out"})
	metrics := jetprom.New()
	if err := errors.Join(metrics.Add("edge", in), metrics.Add("edge", out)); err != nil {
		log.Fatal(err)
	}
	edge := broker.Durable(in, out, broker.JSON[int](), broker.DurableOptions{Name: "edge", Subject: "edge"})

	sum := 0
	err = flow.FromSlice([]int{1, 2, 3}).Apply(edge).ForEach(func(_ context.Context, n int) error {
		sum += n
		return nil
	}).Run(ctx)
	fmt.Println(sum, err, in.Stats().Published, "in,", out.Stats().Acked, "out")
	// Output: 6 <nil> 3 in, 3 out
}
