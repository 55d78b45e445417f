package main

import (
	"io/fs"
	"iter"
	"strings"
)

// walk yields the paths of the Go files of a tree, depth first and sorted within a folder. It is lazy: a folder is read when
// the files before it have been asked for. What can't be read inside the tree is told to failed, and the walk goes on; the
// root itself is an error.
func walk(tree fs.FS, failed func(path string, err error)) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		visit := func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil && path == ".":
				return err
			case err != nil:
				failed(path, err)
			case !d.IsDir() && strings.HasSuffix(path, ".go") && !yield(path, nil):
				return fs.SkipAll
			}
			return nil
		}
		if err := fs.WalkDir(tree, ".", visit); err != nil {
			yield("", err)
		}
	}
}
