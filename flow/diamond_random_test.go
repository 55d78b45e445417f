package flow_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"

	"github.com/weir-go/weir/flow"
)

// sketch makes a random graph of diamonds inside diamonds, always the same one for a seed. Every join is followed by a step that
// keeps the engine at single items, where it holds least, unless the graph is to be fast.
type sketch struct {
	*rand.Rand
	fast  bool
	room  map[string]int // capacities other than those of the sketch
	edges int
}

func newSketch(seed uint64, fast bool, room map[string]int) *sketch {
	return &sketch{Rand: rand.New(rand.NewPCG(seed, 17)), fast: fast, room: room}
}

// pipeline ends when enough has come through to fill whatever can be filled.
func (s *sketch) pipeline() flow.Pipeline {
	f := s.steps(unending(), 0, 1)
	return s.diamond(f, 2).Take(1500).ForEach(func(context.Context, int) error { return nil })
}

func (s *sketch) diamond(f flow.Flow[int], depth int) flow.Flow[int] {
	bs := f.Broadcast(2 + s.IntN(2))
	for i, b := range bs {
		if s.IntN(8) > 0 {
			b = s.edge(b)
		}
		b = s.steps(b, depth, 2)
		if s.IntN(8) > 0 {
			b = s.edge(b)
		}
		bs[i] = b
	}
	s.Shuffle(len(bs), func(i, j int) { bs[i], bs[j] = bs[j], bs[i] })
	if s.IntN(6) == 0 {
		return s.slow(bs[0].Interleave(1+s.IntN(4), bs[1:]...))
	}
	for len(bs) > 1 {
		bs = append([]flow.Flow[int]{s.slow(bs[0].ZipWith(bs[1], total))}, bs[2:]...)
	}
	return bs[0]
}

func (s *sketch) slow(f flow.Flow[int]) flow.Flow[int] {
	if s.fast {
		return f
	}
	return f.Tap(alone)
}

func (s *sketch) edge(f flow.Flow[int]) flow.Flow[int] {
	s.edges++
	name, room := "e"+strconv.Itoa(s.edges), 1+s.IntN(6)
	if n := s.room[name]; n > 0 {
		room = n
	}
	return f.Buffer(room, flow.Block, flow.Name(name))
}

func (s *sketch) steps(f flow.Flow[int], depth, most int) flow.Flow[int] {
	for range s.IntN(most + 1) {
		switch s.IntN(8) {
		case 0, 1:
			f = f.Map(twice)
		case 2:
			f = s.edge(f)
		case 3:
			f = f.Skip(s.IntN(8))
		case 4, 5:
			f = f.Batch(1+s.IntN(8), 0).FlatMap(flatten)
		case 6:
			if s.IntN(4) == 0 {
				f = f.Batch(1+s.IntN(3), 0).Map(func(b []int) int { return len(b) })
			}
		case 7:
			if depth > 0 {
				f = s.diamond(f, depth-1)
			}
		}
	}
	return f
}

// needs are the capacities that a finding asks for.
var needs = regexp.MustCompile(`edge "(e\d+)" needs (\d+), has \d+`)

// What the search for diamonds says is what the engine does: a graph that it lets pass goes on, one that it refuses stands still
// where items move one by one, and with the capacities that it names it goes on. Chunks only help.
func TestRandomDiamondsStandStillWhereTheCheckSaysSo(t *testing.T) {
	graphs := 400
	if raceEnabled {
		graphs = 100
	}
	refused, cured := 0, 0
	first := rand.Uint64()
	for i := range graphs {
		seed := first + uint64(i)
		if err := newSketch(seed, false, nil).pipeline().Check(); err != nil {
			refused++
			if room := roomFor(err); room != nil {
				cured++
				cures(t, seed, err, room)
			}
		}
		agree(t, seed, nil)
	}
	t.Logf("%d of %d refused, %d of them for want of room", refused, graphs, cured)
	if refused < graphs/10 || refused > graphs*9/10 || cured < graphs/20 {
		t.Error("the graphs are too much alike to say anything")
	}
}

// roomFor returns the capacities that a finding asks for; nil if it asks for those of other edges, too, or for none.
func roomFor(err error) map[string]int {
	all := regexp.MustCompile(`needs \d+`).FindAllString(err.Error(), -1)
	room := map[string]int{}
	for _, m := range needs.FindAllStringSubmatch(err.Error(), -1) {
		room[m[1]], _ = strconv.Atoi(m[2])
	}
	if len(room) == 0 || len(room) != len(all) {
		return nil
	}
	return room
}

// agree fails the test unless the check and the engine say the same of a graph.
func agree(t *testing.T, seed uint64, room map[string]int) {
	t.Helper()
	err := newSketch(seed, false, room).pipeline().Check()
	if still := standsStill(t, newSketch(seed, false, room).pipeline()); still != (err != nil) {
		t.Fatalf("seed %d, room %v: stands still: %v, the check says: %v", seed, room, still, err)
	}
	if err == nil && standsStill(t, newSketch(seed, true, room).pipeline()) {
		t.Fatalf("seed %d, room %v: it stands still when it is fast", seed, room)
	}
}

// cures fails the test unless a graph needs what the finding asks for, and no more.
func cures(t *testing.T, seed uint64, finding error, room map[string]int) {
	t.Helper()
	if err := newSketch(seed, false, room).pipeline().Check(); err != nil {
		t.Fatalf("seed %d: %v\nand with that: %v", seed, finding, err)
	}
	agree(t, seed, room)
	for name, n := range room {
		less := maps.Clone(room)
		less[name] = n - 1
		if err := newSketch(seed, false, less).pipeline().Check(); err == nil {
			t.Fatalf("seed %d: %v\nand %s does with %d", seed, finding, name, n-1)
		}
	}
}
