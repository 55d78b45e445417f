module github.com/weir-go/weir

go 1.27

require (
	github.com/cenkalti/backoff/v4 v4.3.0
	go.uber.org/goleak v1.3.0
	pgregory.net/rapid v1.3.0
)
