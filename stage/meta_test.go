package stage_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/weir-go/weir/stage"
)

func TestMetaTravelsInAContext(t *testing.T) {
	if m, ok := stage.MetaFrom(t.Context()); ok || m != (stage.Meta{}) {
		t.Fatalf("MetaFrom() = %+v, %v without metadata", m, ok)
	}
	want := stage.Meta{ID: "1", Key: "k"}
	if m, ok := stage.MetaFrom(stage.WithMeta(t.Context(), want)); !ok || m != want {
		t.Fatalf("MetaFrom() = %+v, %v, want %+v", m, ok, want)
	}
}

func TestMergedMetadata(t *testing.T) {
	early, late := time.Unix(1, 0), time.Unix(2, 0)
	for name, c := range map[string]struct{ a, b, pair, group stage.Meta }{
		"strictest class and highest attempt": {
			a:     stage.Meta{Criticality: stage.Sheddable, Attempt: 3},
			b:     stage.Meta{Criticality: stage.CriticalPlus, Attempt: 1},
			pair:  stage.Meta{Criticality: stage.CriticalPlus, Attempt: 3},
			group: stage.Meta{Criticality: stage.CriticalPlus, Attempt: 3},
		},
		"what they agree on": {
			a:     stage.Meta{ID: "1", Key: "k"},
			b:     stage.Meta{ID: "2", Key: "k"},
			pair:  stage.Meta{Key: "k"},
			group: stage.Meta{Key: "k"},
		},
		"a trace each": {
			a:     stage.Meta{Key: "k", Trace: "1"},
			b:     stage.Meta{Key: "k", Trace: "2"},
			pair:  stage.Meta{Key: "k"},
			group: stage.Meta{Key: "k"},
		},
		"the same trace": {
			a:     stage.Meta{Key: "1", Trace: "t"},
			b:     stage.Meta{Key: "2", Trace: "t"},
			pair:  stage.Meta{Trace: "t"},
			group: stage.Meta{Trace: "t"},
		},
		"two deadlines": {
			a:     stage.Meta{Deadline: early},
			b:     stage.Meta{Deadline: late},
			pair:  stage.Meta{Deadline: early},
			group: stage.Meta{Deadline: late},
		},
		"one deadline": {
			a:    stage.Meta{Deadline: late},
			pair: stage.Meta{Deadline: late},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, swap := range []bool{false, true} {
				a, b := c.a, c.b
				if swap {
					a, b = b, a
				}
				if got := stage.MergePair(a, b); got != c.pair {
					t.Errorf("MergePair(%+v, %+v) = %+v, want %+v", a, b, got, c.pair)
				}
				if got := stage.MergeGroup(a, b); got != c.group {
					t.Errorf("MergeGroup(%+v, %+v) = %+v, want %+v", a, b, got, c.group)
				}
			}
		})
	}
}

func TestCriticalityNames(t *testing.T) {
	for c, want := range map[stage.Criticality]string{
		-9: "Sheddable", stage.Sheddable: "Sheddable", stage.SheddablePlus: "SheddablePlus",
		stage.Critical: "Critical", stage.CriticalPlus: "CriticalPlus", 9: "CriticalPlus",
	} {
		if got := c.String(); got != want {
			t.Errorf("Criticality(%d).String() = %s, want %s", int8(c), got, want)
		}
	}
}

func ExampleMetaFrom() {
	ctx := stage.WithMeta(context.Background(), stage.Meta{Key: "tenant-7", Criticality: stage.SheddablePlus})
	m, ok := stage.MetaFrom(ctx)
	fmt.Println(m.Key, m.Criticality, ok)
	// Output: tenant-7 SheddablePlus true
}
