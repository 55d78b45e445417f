package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// File is a store in a file. See [NewFile].
type File struct {
	path string
	mu   sync.Mutex // of the file beside it
}

// NewFile returns a store in the file path, which need not be there. Its folder must be.
//
// A save writes another file, path with ".tmp" behind it, makes it durable, and gives it the name: at any moment, also of a power
// failure, path is the old one or the new one. It costs what a sync of the disk costs. The file has a checksum; one that
// is damaged all the same is [ErrDamaged] when it is loaded, and never a position.
func NewFile(path string) *File { return &File{path: path} }

// ErrDamaged says that a file is no checkpoint, or was one. Whoever removes it starts at the beginning.
var ErrDamaged = errors.New("checkpoint: damaged file")

// The file is a line with a checksum of the position, and the position.
const head = "weir checkpoint 1 %08x\n"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func encode(position string) []byte {
	return append(fmt.Appendf(nil, head, crc32.Checksum([]byte(position), castagnoli)), position...)
}

func decode(data []byte) (position string, ok bool) {
	i := bytes.IndexByte(data, '\n') + 1
	position = string(data[i:])
	return position, bytes.Equal(data, encode(position))
}

// Load implements flow.CheckpointStore. Where there is no file, nothing has been saved.
func (f *File) Load(ctx context.Context) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	data, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	position, ok := decode(data)
	if !ok {
		return "", fmt.Errorf("%w: %s", ErrDamaged, f.path)
	}
	return position, nil
}

// Save implements flow.CheckpointStore.
func (f *File) Save(ctx context.Context, position string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	beside := f.path + ".tmp"
	if err := writeDurably(beside, encode(position)); err != nil {
		return err
	}
	if err := os.Rename(beside, f.path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(f.path))
}

func writeDurably(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncFolder makes a rename durable. Some systems can't sync a folder, and say so by an error of the call: there the rename is
// as durable as the file system makes it, and still whole.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	_ = d.Sync() // see above
	return d.Close()
}
