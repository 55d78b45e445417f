package flow_test

import (
	"context"
	"flag"
	"maps"
	"math/rand/v2"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
)

var sketchSeed = flag.Uint64("sketch", 0, "seed of the first random graph of diamonds; 0 is a new one each time")

// firstSketch returns the seed of the first graph; the next one has the next seed.
func firstSketch() uint64 {
	if *sketchSeed > 0 {
		return *sketchSeed
	}
	return rand.Uint64()
}

// sketch makes a random graph of diamonds inside diamonds, always the same one for a seed.
type sketch struct {
	*rand.Rand
	tempo  tempo
	room   map[string]int // capacities other than those of the sketch
	edges  int
	spread bool // a ParallelByKey in it uses all of its lanes
}

// tempo says which functions of a sketch take time.
type tempo int

const (
	allDear  tempo = iota // those of workers, and what is behind a join: the engine moves single items, and holds least
	someDear              // what is behind a join, and those of some workers
	noneDear              // none
)

func newSketch(seed uint64, pace tempo, room map[string]int) *sketch {
	return &sketch{Rand: rand.New(rand.NewPCG(seed, 17)), tempo: pace, room: room}
}

// pipeline ends when enough has come through to fill whatever can be filled.
func (s *sketch) pipeline() flow.Pipeline {
	f := s.steps(unending(), 0, 1)
	return s.diamond(f, 2).Take(3000).ForEach(func(context.Context, int) error { return nil })
}

func (s *sketch) diamond(f flow.Flow[int], depth int) flow.Flow[int] {
	bs := f.Broadcast(2 + s.IntN(2))
	for i, b := range bs {
		bs[i] = s.perhapsEdge(s.steps(s.perhapsEdge(b), depth, 2))
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
	if s.tempo == noneDear {
		return f
	}
	return f.Tap(alone)
}

// workers are some that do what takes time, or not, or fails now and then.
func (s *sketch) workers(f flow.Flow[int]) flow.Flow[int] {
	n, work := 1+s.IntN(4), s.work()
	again := flow.OnError(flow.Retry(3, flow.Exponential(time.Millisecond, time.Second)))
	switch f = s.perhapsEdge(f); s.IntN(6) {
	case 0, 1:
		f = f.Parallel(n, work, again)
	case 2, 3:
		f = f.Parallel(n, work, again, flow.Unordered)
	case 4:
		f = f.ParallelByKey(n, func(int) int { return 7 }, work, again)
	case 5:
		s.spread = true
		f = f.ParallelByKey(n, func(i int) int { return i }, work, again)
	}
	return s.perhapsEdge(f)
}

// work is a function for workers.
func (s *sketch) work() func(context.Context, int) (int, error) {
	kind := s.IntN(3)
	calls := new(atomic.Int64)
	switch {
	case s.tempo == noneDear || s.tempo == someDear && kind == 0:
		return same
	case s.tempo == someDear && kind == 1:
		return func(_ context.Context, i int) (int, error) {
			if calls.Add(1)%20 == 0 {
				return 0, errA
			}
			return i, nil
		}
	}
	return func(_ context.Context, i int) (int, error) { alone(i); return i, nil }
}

// perhapsEdge adds an edge as small as those that operators bring are not.
func (s *sketch) perhapsEdge(f flow.Flow[int]) flow.Flow[int] {
	if s.IntN(8) == 0 {
		return f
	}
	return s.edge(f)
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
		switch s.IntN(11) {
		case 0, 1:
			f = f.Map(twice)
		case 2:
			f = s.edge(f)
		case 3:
			f = f.Skip(s.IntN(8) + s.IntN(4)/3*flow.DefaultCapacity) // also about what a lane holds
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
		case 8, 9, 10:
			f = s.workers(f)
		}
	}
	return f
}

// needs are the capacities that a finding asks for.
var needs = regexp.MustCompile(`edge "(e\d+)" needs (\d+), has \d+`)

// What the search for diamonds says is what the engine does: a graph that it lets pass goes on, one that it refuses stands still
// where items move one by one, and with the capacities that it names it goes on, but not with less. Chunks only help.
func TestRandomDiamondsStandStillWhereTheCheckSaysSo(t *testing.T) {
	graphs := 250
	if raceEnabled {
		graphs = 80
	}
	refused, cured := 0, 0
	first := firstSketch()
	for i := range graphs {
		seed := first + uint64(i)
		if err := newSketch(seed, allDear, nil).pipeline().Check(); err != nil {
			refused++
			if room := roomFor(err); room != nil {
				cured++
				cures(t, seed, err, room)
			}
		}
		agree(t, seed, nil)
	}
	t.Logf("%d of %d refused, %d of them for want of room", refused, graphs, cured)
	if refused < graphs/20 || refused > graphs*9/10 || cured < graphs/40 {
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

// agree fails the test unless the check, the models and the engine say the same of a graph. Where items move one by one, one with lanes
// does at least as well as with a single key, and no better than with all lanes full.
func agree(t *testing.T, seed uint64, room map[string]int) {
	t.Helper()
	s := newSketch(seed, allDear, room)
	err := s.pipeline().Check()
	least, most := circlesIn(seed, room, false) > 0, circlesIn(seed, room, true) > 0
	if refused := err != nil; refused && !least || !refused && most {
		t.Fatalf("seed %d, room %v: the models stand still: %v, %v, the check says: %v", seed, room, least, most, err)
	}
	still := standsStill(t, newSketch(seed, allDear, room).pipeline())
	if still && !least || !still && (most || least && !s.spread) {
		t.Fatalf("seed %d, room %v: stands still: %v, the models: %v, %v, the check says: %v", seed, room, still, least, most, err)
	}
	for _, pace := range []tempo{someDear, noneDear} {
		if !least && standsStill(t, newSketch(seed, pace, room).pipeline()) {
			t.Fatalf("seed %d, room %v: it stands still at tempo %d", seed, room, pace)
		}
	}
}

// circlesIn returns how many circles there are in the model of a graph, a roomy one or not.
func circlesIn(seed uint64, room map[string]int, roomy bool) int {
	return len(flow.ModelKnots(newSketch(seed, allDear, room).pipeline(), roomy))
}

// cures fails the test unless a graph needs what the finding asks for, and no more.
func cures(t *testing.T, seed uint64, finding error, room map[string]int) {
	t.Helper()
	if err := newSketch(seed, allDear, room).pipeline().Check(); err != nil {
		t.Fatalf("seed %d: %v\nand with that: %v", seed, finding, err)
	}
	agree(t, seed, room)
	for name, n := range room {
		less := maps.Clone(room)
		less[name] = n - 1
		agree(t, seed, less)
		if circlesIn(seed, less, false) <= circlesIn(seed, room, false) {
			t.Fatalf("seed %d: %v\nand %s does with %d", seed, finding, name, n-1)
		}
	}
}
