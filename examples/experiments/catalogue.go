package main

import (
	"slices"
	"strings"
)

// experiment is one row of the table in docs/overload.md.
type experiment struct {
	name  string
	about string
	run   func(r *report, s scale) error
}

// scale says how long the runs are.
type scale struct {
	size size
	seed uint64
}

type size int

const (
	tiny  size = iota // of the tests
	quick             // under a minute for all
	full              // some minutes
)

// items returns how many items a figure is made of.
func (s scale) items(of ...int) int { return of[s.size] }

// experiments returns all of them, in order.
func experiments() []experiment {
	return []experiment{
		{"N1", "one worker, random arrivals: the stay is the service time / (1 - load)", steady},
		{"N2", "three workers: Little's law", little},
		{"N3", "30 % more than can be done, refused beyond K inside: the bound decides how long items stay", bounded},
		{"N4", "the same without a bound, outside the engine, for an hour", endless},
		{"N5", "20 % more than can be done for a minute, even arrivals", minute},
		{"N6", "10 % more for 100 s, then 10 % less: how long until it is over", recovery},
		{"N7", "clients that give up after a second and come again at once", storm},
		{"N8", "twice what can be done, and an answer is worth nothing after 500 ms: what is left of the capacity", useful},
		{"N9", "overload, and a scale-out that takes two minutes", scaling},
		{"N10", "a balancer that tries refusals elsewhere", balanced},
	}
}

func has(all []experiment, names ...string) bool {
	return slices.ContainsFunc(all, func(e experiment) bool { return slices.Contains(names, e.name) })
}

func names(all []experiment) string {
	var s []string
	for _, e := range all {
		s = append(s, e.name)
	}
	return strings.Join(s, ", ")
}
