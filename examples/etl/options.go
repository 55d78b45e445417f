package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/weir-go/weir/flow"
)

// options is what the command line says.
type options struct {
	src     string
	db      string
	depth   int
	onFull  flow.Policy
	batch   int
	parsers int
	slow    time.Duration
	resume  bool
	json    bool

	through string // one of throughs
	nats    string // "" is a server in this process
	half    string // one of halves
}

// What -through and -half may be. An edge that outlives the process is a stream in JetStream.
const (
	throughJetStream = "jetstream"
	throughMemory    = "memory"
	throughNone      = "none"

	bothHalves  = ""
	halfExtract = "extract"
	halfLoad    = "load"
)

var (
	throughs = []string{throughJetStream, throughMemory, throughNone}
	halves   = []string{bothHalves, halfExtract, halfLoad}
)

// parseOptions reads the command line. Help goes to w; an error is the caller's to print.
func parseOptions(args []string, w io.Writer) (options, error) {
	o := options{}
	fs := flag.NewFlagSet("etl", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.src, "src", "", "`folder` of Go files (default: the standard library of the go command)")
	fs.StringVar(&o.db, "db", "weir-etl.db", "SQLite `file`, or postgres://... for PostgreSQL")
	fs.IntVar(&o.depth, "depth", 1024, "capacity of the edge functions")
	fs.Func("on-full", "`policy` of that edge when it is full: block, drop-newest, drop-oldest or reject (default block)", o.setPolicy)
	fs.StringVar(&o.through, "through", throughJetStream, "`what` that edge is: a stream in jetstream, one in memory, or none")
	fs.StringVar(&o.nats, "nats", "", "`URL` of a NATS server for the stream (default: one in this process, beside the database)")
	fs.StringVar(&o.half, "half", bothHalves, "run one `half` only: extract into the stream, or load from it until it is empty")
	fs.IntVar(&o.batch, "batch", 500, "rows per write")
	fs.IntVar(&o.parsers, "parsers", runtime.GOMAXPROCS(0), "files parsed at the same time")
	fs.DurationVar(&o.slow, "slow", 0, "make each row take so much longer to load, like 5ms")
	fs.BoolVar(&o.resume, "resume", false, "go on with the last run, which was interrupted, instead of starting afresh")
	fs.BoolVar(&o.json, "json", false, "print the summary as one JSON object")
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fs.SetOutput(w)
		_, _ = fmt.Fprintln(w, "usage: etl [flags]") // as PrintDefaults, which ignores errors too
		fs.PrintDefaults()
		return o, err
	}
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if err == nil {
		err = o.validate()
	}
	return o, err
}

// validate checks the ranges. The upper ends are far above what makes sense, and low enough for sums and products.
func (o *options) validate() error {
	switch {
	case o.db == "":
		return errors.New("-db must not be empty")
	case o.depth < 1 || o.depth > 1e6:
		return fmt.Errorf("-depth must be 1 to 1000000, got %d", o.depth)
	case o.batch < 1 || o.batch > 1e5:
		return fmt.Errorf("-batch must be 1 to 100000, got %d", o.batch)
	case o.parsers < 1 || o.parsers > 1024:
		return fmt.Errorf("-parsers must be 1 to 1024, got %d", o.parsers)
	case o.slow < 0 || o.slow > time.Minute:
		return fmt.Errorf("-slow must be 0 to 1m, got %v", o.slow)
	case !slices.Contains(throughs, o.through):
		return fmt.Errorf("-through must be jetstream, memory or none, got %q", o.through)
	case !slices.Contains(halves, o.half):
		return fmt.Errorf("-half must be extract or load, got %q", o.half)
	case o.half != bothHalves && o.through != throughJetStream:
		return errors.New("-half needs -through jetstream: the other half is another process")
	case o.nats != "" && o.through != throughJetStream:
		return errors.New("-nats needs -through jetstream")
	case o.resume && o.through == throughMemory:
		return errors.New("-resume needs -through jetstream or none: a stream in memory is gone with the run that had it")
	case o.half == halfLoad && o.resume:
		return errors.New("-resume is for the walk, and -half load has none")
	}
	return nil
}

// setPolicy takes the value of -on-full.
func (o *options) setPolicy(name string) error {
	for p := flow.Block; p.Valid(); p++ {
		if p.String() == name {
			o.onFull = p
			return nil
		}
	}
	return errors.New("want block, drop-newest, drop-oldest or reject")
}

// findSource finds the folder to read, and sees that it can be read.
func (o *options) findSource(ctx context.Context) error {
	if o.src == "" {
		root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
		if err != nil {
			return fmt.Errorf("no go command to ask for the standard library (%w); name a folder with -src", err)
		}
		o.src = strings.TrimSpace(string(root)) + "/src"
	}
	var err error
	if o.src, err = filepath.Abs(o.src); err != nil { // the checkpoint must mean the same folder everywhere
		return err
	}
	f, err := os.Open(o.src)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	if _, err = f.Readdirnames(1); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
