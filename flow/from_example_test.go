package flow_test

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// A source of the stage package. It has state, so the flow serves one run.
func ExampleFrom() {
	log := strings.NewReader("start\nworking\nstop\n")
	lines, err := flow.From(stage.Lines(log, stage.LineOptions{})).Collect(context.Background(), 10)
	fmt.Println(lines, err)
	// Output: [start working stop] <nil>
}

// A source opened afresh for each run, so that the pipeline may run many times.
func ExampleOpen() {
	lines := flow.Open(func(context.Context) (stage.Source[string], error) {
		return stage.Lines(strings.NewReader("a\nb\n"), stage.LineOptions{}), nil
	})
	for range 2 {
		fmt.Println(lines.Collect(context.Background(), 10))
	}
	// Output:
	// [a b] <nil>
	// [a b] <nil>
}

// What open can't open is an error of the start, and nothing has run then.
func ExampleOpen_fails() {
	lines := flow.Open(func(context.Context) (stage.Source[string], error) {
		return nil, os.ErrNotExist
	}, flow.Name("input"))
	_, err := lines.To(stage.Discard[string]()).Start(context.Background())
	fmt.Println(strings.HasPrefix(err.Error(), "flow: input"), strings.HasSuffix(err.Error(), "file does not exist"))
	// Output: true true
}

// A flow is a blueprint: the same one may run more than once.
func ExampleFromSlice() {
	primes := flow.FromSlice([]int{2, 3, 5, 7})
	sum, _ := primes.Reduce(context.Background(), 0, func(sum, v int) int { return sum + v })
	odd, _ := primes.Filter(func(v int) bool { return v%2 == 1 }).Collect(context.Background(), 10)
	fmt.Println(sum, odd)
	// Output: 17 [3 5 7]
}

// An infinite sequence is no problem: nothing is computed that nobody asks for.
func ExampleFromSeq() {
	fibonacci := func(yield func(int) bool) {
		for a, b := 0, 1; yield(a); a, b = b, a+b {
		}
	}
	fmt.Println(flow.FromSeq(fibonacci).Take(10).Collect(context.Background(), 10))
	// Output: [0 1 1 2 3 5 8 13 21 34] <nil>
}

// The sequences of the standard library fit as they are.
func ExampleFromSeq_keys() {
	stock := map[string]int{"apples": 3, "pears": 0, "plums": 12}
	fmt.Println(flow.FromSeq(maps.Keys(stock)).Reduce(context.Background(), 0,
		func(n int, _ string) int { return n + 1 }))
	// Output: 3 <nil>
}

// A sequence of values and errors: an error ends it and comes out of the run.
func ExampleFromSeq2() {
	words := func(yield func(string, error) bool) {
		sc := bufio.NewScanner(strings.NewReader("one two three-and-a-half"))
		sc.Buffer(make([]byte, 0, 8), 8)
		sc.Split(bufio.ScanWords)
		for sc.Scan() {
			if !yield(sc.Text(), nil) {
				return
			}
		}
		if err := sc.Err(); err != nil {
			yield("", err)
		}
	}
	got, err := flow.FromSeq2(words, flow.Name("words")).Collect(context.Background(), 10)
	fmt.Println(got, err)
	// Output: [one two] words: bufio.Scanner: token too long
}

// A channel that somebody else fills and closes.
func ExampleFromChan() {
	ch := make(chan int)
	go func() {
		defer close(ch)
		for i := range 3 {
			ch <- i
		}
	}()
	fmt.Println(flow.FromChan(ch).Map(func(i int) int { return i * i }).Collect(context.Background(), 10))
	// Output: [0 1 4] <nil>
}

// A function that fetches one value a call, page by page for example.
func ExampleFromFunc() {
	pages := map[string]string{"/1": "/2", "/2": "/3", "/3": ""} // each page names the next
	next := "/1"
	err := flow.FromFunc(func(context.Context) (string, error) {
		if next == "" {
			return "", stage.ErrEnd
		}
		page := next
		next = pages[page]
		return page, nil
	}).ForEach(func(_ context.Context, page string) error {
		fmt.Println("visit", page)
		return nil
	}).Run(context.Background())
	fmt.Println(err)
	// Output:
	// visit /1
	// visit /2
	// visit /3
	// <nil>
}

// numbered is a source that knows the identity of its items.
type numbered struct{ words []string }

func (s *numbered) PullItems(_ context.Context, dst []stage.Item[string]) (int, error) {
	if len(s.words) == 0 {
		return 0, stage.ErrEnd
	}
	n := min(len(dst), len(s.words))
	for i, w := range s.words[:n] {
		dst[i] = stage.NewItem(w, stage.Meta{ID: "m" + strconv.Itoa(i+1), Key: w[:1]})
	}
	s.words = slices.Delete(s.words, 0, n)
	return n, nil
}

// A source of items with metadata, which functions find in their context.
func ExampleFromItems() {
	err := flow.FromItems(&numbered{words: []string{"ant"}}).
		ForEach(func(ctx context.Context, word string) error {
			m, _ := stage.MetaFrom(ctx)
			fmt.Println(m.ID, m.Key, word)
			return nil
		}).Run(context.Background())
	fmt.Println(err)
	// Output:
	// m1 a ant
	// <nil>
}
