package flow_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/flow/checkpoint"
	"github.com/weir-go/weir/stage"
)

// note keeps a position in memory. See package checkpoint for stores that outlive the process.
type note struct{ position string }

func (n *note) Load(context.Context) (string, error) { return n.position, nil }

func (n *note) Save(_ context.Context, position string) error {
	n.position = position
	return nil
}

// runes gives the letters of a text behind a position.
func runes(text string) func(context.Context, string) (stage.Source[stage.At[string]], error) {
	return func(_ context.Context, after string) (stage.Source[stage.At[string]], error) {
		at := slices.Index(strings.Split(text, ""), after) + 1
		var items []stage.At[string]
		for _, c := range text[at:] {
			items = append(items, stage.At[string]{Value: string(c), Position: string(c)})
		}
		return stage.Slice(items), nil
	}
}

// A run that fails, and one that goes on behind what is done.
func ExampleOpenAt() {
	store, broken := new(note), true
	p := flow.OpenAt(runes("abcde"), flow.Checkpoint(store)).
		ForEach(func(_ context.Context, letter string) error {
			if letter == "c" && broken {
				return errors.New("no ink")
			}
			fmt.Println(letter)
			return nil
		}, flow.Name("print"))

	fmt.Println(p.Run(context.Background()), "behind", store.position)
	broken = false
	fmt.Println(p.Run(context.Background()), "behind", store.position)
	// Output:
	// a
	// b
	// print: no ink behind b
	// c
	// d
	// e
	// <nil> behind e
}

// Lines of a file that grows: the position is the offset behind a line, and each run reads what is new.
func ExampleCheckpoint() {
	dir, _ := os.MkdirTemp("", "example")
	defer func() { _ = os.RemoveAll(dir) }()
	log := []byte("start\nworking\n")
	open := func(_ context.Context, after string) (stage.Source[stage.At[string]], error) {
		offset, _ := strconv.Atoi(after) // 0 the first time
		rest := bytes.NewBuffer(log[offset:])
		return stage.Func(func(context.Context) (stage.At[string], error) {
			line, err := rest.ReadString('\n')
			if errors.Is(err, io.EOF) {
				return stage.At[string]{}, stage.ErrEnd
			}
			offset += len(line)
			return stage.At[string]{Value: strings.TrimSpace(line), Position: strconv.Itoa(offset)}, err
		}), nil
	}
	store := checkpoint.NewFile(filepath.Join(dir, "log.position"))
	p := flow.OpenAt(open, flow.Checkpoint(store)).ForEach(func(_ context.Context, line string) error {
		fmt.Println(line)
		return nil
	})
	fmt.Println(p.Run(context.Background()))
	log = append(log, "stop\n"...)
	fmt.Println(p.Run(context.Background()))
	position, err := store.Load(context.Background())
	fmt.Println("behind", position, err)
	// Output:
	// start
	// working
	// <nil>
	// stop
	// <nil>
	// behind 19 <nil>
}

// Saving more often repeats less after a crash.
func ExampleSaveEvery() {
	store := new(note)
	err := flow.OpenAt(runes("abc"), flow.Checkpoint(store, flow.SaveEvery(50*time.Millisecond))).
		To(stage.Discard[string]()).Run(context.Background())
	fmt.Println(err, store.position)
	// Output: <nil> c
}

// An item that takes long holds the position. How much may be done ahead of it, and again after a crash, has a limit.
func ExampleSettledAhead() {
	store := new(note)
	work := func(_ context.Context, letter string) (string, error) { return strings.ToUpper(letter), nil }
	err := flow.OpenAt(runes("abcdefgh"), flow.Checkpoint(store, flow.SettledAhead(2))).
		Parallel(4, work, flow.Unordered).
		To(stage.Discard[string]()).Run(context.Background())
	fmt.Println(err, store.position)
	// Output: <nil> h
}
