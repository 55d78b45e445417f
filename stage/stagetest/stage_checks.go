package stagetest

import (
	"context"
	"errors"
	"sync"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/stage"
)

// conservation compares what comes out with Want, at odd numbers of values.
func (r *stageTrial[A, B]) conservation() {
	for _, n := range []int{0, 1, 2, 7, 64} {
		for _, edges := range []bool{false, true} {
			r.compare(r.healthy(scene[A, B]{n: n, edges: edges}))
			slow := scene[A, B]{n: min(n, 16), edges: edges, before: func(ctx context.Context, _ int) { r.pause(ctx) }}
			r.compare(r.healthy(slow))
			if r.any() {
				return
			}
		}
	}
}

// compare reports where what came out of a part differs from what was to come, in any order.
func (r *stageTrial[A, B]) compare(x *running[A, B]) {
	in, out := x.values(x.n), x.out()
	if r.Want == nil {
		if err := r.Fits(in, out); err != nil {
			r.addf("%d values in, %d out: %w", len(in), len(out), err)
		}
		return
	}
	want := r.Want(in)
	missing, extra := r.differ(out, want)
	switch {
	case len(missing) > 0:
		r.addf("%d values in, %d out, want %d: %s is missing", len(in), len(out), len(want), shown(missing[0]))
	case len(extra) > 0:
		r.addf("%d values in, %d out, want %d: %s is one too many", len(in), len(out), len(want), shown(extra[0]))
	}
}

// differ returns what is in want and not in got, and the other way round.
func (k *stageKit[A, B]) differ(got, want []B) (missing, extra []B) {
	places := k.places(got, want)
	used := make(map[int]bool)
	for i, at := range places {
		used[at] = true
		if at < 0 {
			extra = append(extra, got[i])
		}
	}
	for at, v := range want {
		if !used[at] {
			missing = append(missing, v)
		}
	}
	return missing, extra
}

// places returns for each value of got at which place of want it is: the first that is not taken, or -1.
func (k *stageKit[A, B]) places(got, want []B) []int {
	places := make([]int, len(got))
	used := make([]bool, len(want))
	for i, v := range got {
		places[i] = -1
		for at, w := range want {
			if !used[at] && k.Equal(v, w) {
				places[i], used[at] = at, true
				break
			}
		}
	}
	return places
}

// settledOnce looks at the messages of runs in which nothing goes wrong.
func (r *stageTrial[A, B]) settledOnce() {
	for _, n := range []int{1, 5, 12} {
		for _, edges := range []bool{false, true} {
			x := r.healthy(scene[A, B]{n: n, edges: edges})
			if x.once(); r.any() {
				return
			}
			for i, v := range x.in() {
				// What a part has not looked at that ends before its input does is given back.
				if o := x.outcomes(i)[0]; o.Kind == stage.Failed && (x.ended || !o.GivenBack) {
					r.addf("message %d (%s) has ended as failed in a run without a fault: %v", i, shown(v), o.Err)
				}
			}
		}
	}
}

// lastChild has the sink refuse one result after the other, each in a run of its own. A message that something is made of must fail
// then: if it does not, its claim was lost, or settled before.
func (r *stageTrial[A, B]) lastChild() {
	const n, most = 12, 36
	failed := make(map[int]bool)
	results := r.healthy(scene[A, B]{n: n}).out()
	for i, refused := range results[:min(len(results), most)] {
		if r.Own != nil && r.Own(refused) {
			continue
		}
		hit := false
		x := r.runs(scene[A, B]{n: n, take: func(_ context.Context, at int, v B) error {
			if at == i && r.Want == nil || r.Want != nil && r.Equal(v, refused) {
				hit = true
				return errRefused
			}
			return nil
		}})
		if _, _ = x.wait(); !hit {
			continue // it is another one each time
		}
		blamed := x.blamed()
		if len(blamed) == 0 {
			r.addf("result %d (%s) was refused, and no message has failed: it has no claim, or that had settled before", i, shown(refused))
			return
		}
		for _, m := range blamed {
			failed[m] = true
		}
	}
	if r.Want == nil || len(results) > most {
		return
	}
	for i, v := range r.values(n) {
		if !failed[i] && !r.LetGo(v) {
			r.addf("message %d (%s) has not failed, whichever of %d results was refused: what is made of it lacks its claim", i, shown(v), len(results))
			return
		}
	}
}

// order lets source, user code and sink take their time.
func (r *stageTrial[A, B]) order() {
	const rounds, n = 8, 40
	for range rounds {
		x := r.healthy(scene[A, B]{
			n: n, before: func(ctx context.Context, i int) {
				if i%8 == 0 {
					r.pause(ctx)
				}
			},
			work: func(ctx context.Context) error {
				r.pause(ctx)
				return nil
			},
			take: func(ctx context.Context, i int, _ B) error {
				if i%8 == 0 {
					r.pause(ctx)
				}
				return nil
			},
		})
		if r.inOrder(x.out(), r.Want(x.values(n))); r.any() {
			return
		}
	}
}

// inOrder reports the first value that comes before one that was to come earlier.
func (r *stageTrial[A, B]) inOrder(got, want []B) {
	last := make(map[string]int)
	for i, at := range r.places(got, want) {
		key := ""
		if r.Key != nil {
			key = r.Key(got[i])
		}
		if before, ok := last[key]; ok && at >= 0 && at < before {
			r.addf("%s came behind %s, want it in front of it", shown(got[i]), shown(want[before]))
			return
		}
		if at >= 0 {
			last[key] = at
		}
	}
}

// holdLimit blocks the sink and counts what has gone in and is neither in the edges of the kit nor through.
func (r *stageTrial[A, B]) holdLimit() {
	n := 4*r.Holds + 200
	x := r.runs(scene[A, B]{n: n, edges: true, waits: true, take: func(ctx context.Context, _ int, _ B) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}})
	r.quiet()
	front, back := 0, 0
	for _, e := range x.run.Stats().Edges {
		switch e.Name {
		case kitFront:
			front = e.Depth
		case kitBack:
			back = int(e.In)
		}
	}
	in := len(x.in())
	if inside := in - front - x.through(back, in); inside > r.Holds {
		r.addf("%d values have gone in while nobody took any, and %d results came out: %d are inside, want at most %d", in, back, inside, r.Holds)
	}
	x.cancel()
	_, _ = x.wait()
}

// quiet waits until nothing happens any more.
func (k *stageKit[A, B]) quiet() {
	if k.Bubble {
		time.Sleep(time.Minute)
		synctest.Wait()
		return
	}
	time.Sleep(300 * time.Millisecond)
}

// callsAtATime lets calls wait for each other: as many as declared must be there at the same time.
func (r *stageTrial[A, B]) callsAtATime() {
	r.needsWork()
	var mu sync.Mutex
	now, most := 0, 0
	enough := make(chan struct{})
	enter := func() {
		mu.Lock()
		defer mu.Unlock()
		if now++; now > most {
			if most = now; most == r.Workers {
				close(enough)
			}
		}
	}
	leave := func() {
		mu.Lock()
		defer mu.Unlock()
		now--
	}
	r.healthy(scene[A, B]{n: 64 * r.Workers, work: func(ctx context.Context) error {
		enter()
		defer leave()
		select {
		case <-enough:
			rest(ctx, time.Millisecond) // for one more to come
		case <-time.After(r.meeting()):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		return nil
	}})
	switch {
	case most > r.Workers:
		r.addf("%d calls of user code at the same time, want at most %d", most, r.Workers)
	case most < r.Workers:
		r.addf("%d calls of user code at the same time at most, want %d", most, r.Workers)
	}
}

// meeting is how long a call waits for the others.
func (k *stageKit[A, B]) meeting() time.Duration {
	if k.Bubble {
		return 100 * time.Millisecond
	}
	return 20 * time.Millisecond
}

var errRefused = errors.New("stagetest: refused by the sink")
