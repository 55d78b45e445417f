package stage

// At is a value and where its source can be opened again to go on behind it: an offset in a file, the number of a row, a
// sequence number, as text that the source understands. An empty Position says that the source can't be opened there;
// a source may name only some positions, for example that of every hundredth value.
type At[T any] struct {
	Value    T
	Position string
}
