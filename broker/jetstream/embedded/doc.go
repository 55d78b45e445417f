// Package embedded runs a NATS server with JetStream inside the process: for tests, for examples, and for programs that want
// a durable edge without a broker beside them.
//
//	srv, err := embedded.Start(embedded.Config{Dir: "/var/lib/orders"})
//	...
//	defer srv.Close()
//	nc, err := srv.Conn()
//
// It opens no socket unless it is told to, and then on a loopback address only. It has no access control: whoever reaches
// that address may do everything. It writes no log, and leaves the process's signals alone.
//
// What the server is built from adds the profiling handlers (/debug/pprof/) and /debug/vars to http.DefaultServeMux in every
// program that imports this package. Where the program has an HTTP server, give it a mux of its own.
//
// What it stores is on disk when the operating system has written it, which may be two minutes after it was confirmed. A
// process that is killed loses nothing, a machine that loses power may, unless Config.SyncAlways is set.
package embedded
