package checkpoint_test

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/weir-go/weir/flow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// awkward are positions that a store must give back as they are.
var awkward = []string{"1", "a b", "two\nlines", `"quoted" 'quoted'`, "\x00\xff", "ü", ""}

// checkStore checks the rules of flow.CheckpointStore. open returns the same store again.
func checkStore(t *testing.T, open func() flow.CheckpointStore) {
	t.Helper()
	if got, err := open().Load(t.Context()); got != "" || err != nil {
		t.Fatalf("Load() = %q, %v before the first Save, want nothing", got, err)
	}
	for _, want := range awkward {
		if err := open().Save(t.Context(), want); err != nil {
			t.Fatalf("Save(%q) = %v, want no error", want, err)
		}
		if got, err := open().Load(t.Context()); got != want || err != nil {
			t.Fatalf("Load() = %q, %v, want %q", got, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open().Load(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Load() = %v with a context that is done, want %v", err, context.Canceled)
	}
	if err := open().Save(ctx, "never"); !errors.Is(err, context.Canceled) {
		t.Errorf("Save() = %v with a context that is done, want %v", err, context.Canceled)
	}
	if got, err := open().Load(t.Context()); got != "" || err != nil {
		t.Errorf("Load() = %q, %v behind it, want the last position that was saved", got, err)
	}
}
