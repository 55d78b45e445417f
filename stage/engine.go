package stage

import "github.com/weir-go/weir/internal/claim"

// TagOf returns what travels beside an item's value. It is the engine's door into Item: its result is of an internal type and
// of no use to programs.
func TagOf[T any](i Item[T]) *claim.Tag[Meta] { return i.tag }

// Tagged returns v with the tag t, the way back from [TagOf].
func Tagged[T any](v T, t *claim.Tag[Meta]) Item[T] { return Item[T]{Value: v, tag: t} }
