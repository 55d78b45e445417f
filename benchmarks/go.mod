module github.com/weir-go/weir/benchmarks

go 1.27

require github.com/weir-go/weir v0.0.0

replace github.com/weir-go/weir => ../
