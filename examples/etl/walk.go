package main

import (
	"io/fs"
	"iter"
	"slices"
	"strings"

	"github.com/weir-go/weir/stage"
)

// walk yields the paths of the Go files of a tree, depth first and sorted within a folder. It is lazy: a folder is read when
// the files before it have been asked for. What can't be read inside the tree is told to failed, and the walk goes on; the
// root itself is an error.
func walk(tree fs.FS, failed func(path string, err error)) iter.Seq2[string, error] {
	return walkBehind(tree, "", failed)
}

// walkBehind yields what walk yields behind the path after, which need not be there any more. "" is before everything. Folders
// that are done are not read.
func walkBehind(tree fs.FS, after string, failed func(path string, err error)) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		visit := func(path string, d fs.DirEntry, err error) error {
			switch {
			case path != "." && done(path, after) && d.IsDir():
				return fs.SkipDir
			case path != "." && done(path, after):
				return nil
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

// done reports whether a walk that has yielded after is behind path. It compares name by name: "a/b" comes before "a.go".
func done(path, after string) bool {
	if strings.HasPrefix(after, path+"/") { // a folder that the walk is in
		return false
	}
	return slices.Compare(strings.Split(path, "/"), strings.Split(after, "/")) <= 0
}

// file is a path with its number in the walk, from 0.
type file struct {
	number int
	path   string
}

func (f file) String() string { return f.path }

// numbered turns paths into files with their positions.
func numbered(paths iter.Seq2[string, error]) iter.Seq2[stage.At[file], error] {
	return func(yield func(stage.At[file], error) bool) {
		number := 0
		for path, err := range paths {
			f := file{number, path}
			if !yield(stage.At[file]{Value: f, Position: f.position()}, err) {
				return
			}
			number++
		}
	}
}
