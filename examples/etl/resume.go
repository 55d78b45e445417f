package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/weir-go/weir/flow"
)

// place is how far a run has come: everything up to a file is in the table, or in a stream that outlives the run.
type place struct {
	Src     string `json:"src"`     // the folder
	Through string `json:"through"` // what has the functions that are not in the table yet
	Path    string `json:"path"`    // the file, in it
	Seq     int64  `json:"seq"`     // functions up to there
}

// The row in the database that has the place.
const (
	positionsTable = "positions"
	positionsName  = "walk"
)

// places is the checkpoint of the job. The walk reports the number and the path of each file, as it does not know how many
// functions there are; what is stored is a place.
type places struct {
	store   flow.CheckpointStore
	src     string
	through string
	seqs    *numbering
	behind  string // the path that the run started behind
}

// Load implements flow.CheckpointStore. It returns the path to go on behind.
func (p *places) Load(ctx context.Context) (string, error) {
	text, err := p.store.Load(ctx)
	if err != nil || text == "" {
		return "", err
	}
	var at place
	if err := json.Unmarshal([]byte(text), &at); err != nil {
		return "", fmt.Errorf("row %s of table %s: %w", positionsName, positionsTable, err)
	}
	switch {
	case at.Src != p.src:
		return "", fmt.Errorf("the run to go on with was of %s, not of %s", at.Src, p.src)
	case at.Through != p.through:
		return "", fmt.Errorf("the run to go on with was -through %s, not -through %s: what it has left there would be missing", at.Through, p.through)
	}
	p.behind = at.Path
	p.seqs.start(at.Seq)
	return at.Path, nil
}

// Save implements flow.CheckpointStore. What is confirmed by a stream in memory is gone with the process, so no place is saved behind it.
func (p *places) Save(ctx context.Context, position string) error {
	if p.through == throughMemory {
		return nil
	}
	number, path, _ := strings.Cut(position, " ")
	file, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	text, err := json.Marshal(place{Src: p.src, Through: p.through, Path: path, Seq: p.seqs.reached(file)})
	if err != nil {
		return err
	}
	return p.store.Save(ctx, string(text))
}

// position is what the walk reports of a file.
func (f file) position() string { return strconv.Itoa(f.number) + " " + f.path }

// numbering numbers functions in the order in which they come. The parsers keep the order of the walk, so a function has the
// same number in every run, and also in one that goes on with another.
type numbering struct {
	mu    sync.Mutex
	seq   int64
	base  int64  // reached before marks
	marks []mark // of the files numbered since the last save
}

// mark says how many functions there are up to a file.
type mark struct {
	file int
	seq  int64
}

// start makes the next function the one behind seq.
func (n *numbering) start(seq int64) { n.seq, n.base = seq, seq }

// number numbers the functions of a file.
func (n *numbering) number(p parsed) parsed {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range p.functions {
		n.seq++
		p.functions[i].seq = n.seq
	}
	n.marks = append(n.marks, mark{p.file, n.seq})
	return p
}

// reached returns how many functions there are up to a file, and forgets the files before. A file that could not be parsed has no
// mark; the one before it has the number.
func (n *numbering) reached(file int) int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.IndexFunc(n.marks, func(m mark) bool { return m.file > file })
	if i < 0 {
		i = len(n.marks)
	}
	if i > 0 {
		n.base = n.marks[i-1].seq
		n.marks = slices.Delete(n.marks, 0, i)
	}
	return n.base
}

// fresh starts a run from the beginning: it forgets the checkpoint first, so that a run which is killed here is not gone on with.
func fresh(ctx context.Context, t table) error {
	if err := t.Checkpoint().Save(ctx, ""); err != nil {
		return fmt.Errorf("forget the checkpoint: %w", err)
	}
	if err := t.ResetLoads(ctx); err != nil {
		return fmt.Errorf("reset loads: %w", err)
	}
	return nil
}
