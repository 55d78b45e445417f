// Package jetprom exports to Prometheus what sources and sinks of package jetstream count.
//
//	metrics := jetprom.New()
//	err := errors.Join(metrics.Add("orders", source), metrics.Add("invoices", sink))
//	registry.MustRegister(metrics)
//
// Everything that has Stats can be added: a [jetstream.Source] or [jetstream.Sink], a [broker.Source] or [broker.Sink] of another
// broker, a [jetstream.Fetcher] or [jetstream.Sender] alone. The numbers are read when they are collected; nothing is asked of
// a server then, and nothing is added to what a message costs.
//
// Each metric has one label, name, whose values are those given to [Collector.Add]: subjects, keys, tenants and whatever else
// comes in messages never become labels, so the number of series is known when the program is written. Times are in
// seconds. What exists, and what an alarm should be set on, is listed in docs/jetstream.md.
package jetprom
