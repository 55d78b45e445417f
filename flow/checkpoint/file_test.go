package checkpoint_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/flow/checkpoint"
)

func TestFileKeepsTheRules(t *testing.T) {
	path := filepath.Join(t.TempDir(), "position")
	checkStore(t, func() flow.CheckpointStore { return checkpoint.NewFile(path) })
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("the folder has %v (%v), want the checkpoint and nothing else", left, err)
	}
}

func TestADamagedFileIsNoPosition(t *testing.T) {
	path := filepath.Join(t.TempDir(), "position")
	store := checkpoint.NewFile(path)
	if err := store.Save(t.Context(), "net/http/server.go 41"); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		data := []byte(string(whole))
		if at := rapid.IntRange(0, len(data)-1).Draw(r, "at"); rapid.Bool().Draw(r, "cut") {
			data = data[:at]
		} else {
			data[at] ^= 1 << rapid.IntRange(0, 7).Draw(r, "bit")
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			r.Fatal(err)
		}
		if got, err := store.Load(t.Context()); !errors.Is(err, checkpoint.ErrDamaged) || !strings.Contains(err.Error(), path) {
			r.Fatalf("Load() = %q, %v of %q, want %v with the path", got, err, data, checkpoint.ErrDamaged)
		}
	})
}

// A crash while saving leaves the other file behind, with anything in it.
func TestWhatACrashLeavesIsOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "position")
	store := checkpoint.NewFile(path)
	if err := store.Save(t.Context(), "old"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".tmp", []byte(strings.Repeat("half of a new one", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := store.Load(t.Context()); got != "old" || err != nil {
		t.Fatalf("Load() = %q, %v, want old", got, err)
	}
	if err := store.Save(t.Context(), "new"); err != nil {
		t.Fatal(err)
	}
	if got, err := store.Load(t.Context()); got != "new" || err != nil {
		t.Fatalf("Load() = %q, %v, want new", got, err)
	}
}

func TestASaveThatFailsLeavesTheOldPosition(t *testing.T) {
	path := filepath.Join(t.TempDir(), "position")
	store := checkpoint.NewFile(path)
	if err := store.Save(t.Context(), "old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path+".tmp", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := store.Save(t.Context(), "new"); err == nil {
		t.Error("Save() = nil where it can't write, want an error")
	}
	if got, err := store.Load(t.Context()); got != "old" || err != nil {
		t.Errorf("Load() = %q, %v, want old", got, err)
	}
	if err := checkpoint.NewFile(filepath.Join(path, "below", "a file")).Save(t.Context(), "x"); err == nil {
		t.Error("Save() = nil without a folder, want an error")
	}
	if _, err := checkpoint.NewFile(filepath.Dir(path)).Load(t.Context()); err == nil {
		t.Error("Load() = nil of a folder, want an error")
	}
}

func TestAReaderSeesTheOldOrTheNew(t *testing.T) {
	store := checkpoint.NewFile(filepath.Join(t.TempDir(), "position"))
	var wg sync.WaitGroup
	for _, c := range []string{"a", "b", "c"} {
		wg.Go(func() {
			for range 10 {
				if err := store.Save(t.Context(), strings.Repeat(c, 5000)); err != nil {
					t.Errorf("Save() = %v, want no error", err)
				}
			}
		})
	}
	for range 50 {
		got, err := store.Load(t.Context())
		if err != nil || got != "" && got != strings.Repeat(got[:1], 5000) {
			t.Fatalf("Load() = %.20q, %v, want 5000 times the same letter", got, err)
		}
	}
	wg.Wait()
}
