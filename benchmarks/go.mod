module github.com/weir-go/weir/benchmarks

go 1.27

require (
	github.com/weir-go/weir v0.0.0
	go.uber.org/goleak v1.3.0
	golang.org/x/sync v0.25.0
)

require github.com/cenkalti/backoff/v4 v4.3.0 // indirect

replace github.com/weir-go/weir => ../
