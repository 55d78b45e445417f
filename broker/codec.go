package broker

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/weir-go/weir/internal/strictjson"
)

// Codec turns values into payloads and back. It is safe for concurrent use.
type Codec[T any] interface {
	// Encode appends the payload of v to dst.
	Encode(dst []byte, v T) ([]byte, error)
	// Decode sets *v, which is the zero value. It must not keep data.
	Decode(data []byte, v *T) error
}

// JSON is the codec of values as JSON, as encoding/json has it. A document that is nested deeper than 64 levels, and anything
// behind the end of the document, is an error. Errors have a few hundred bytes at most, whatever was in the document.
func JSON[T any]() Codec[T] { return jsonCodec[T]{} }

type jsonCodec[T any] struct{}

func (jsonCodec[T]) Encode(dst []byte, v T) ([]byte, error) {
	data, err := json.Marshal(v)
	return append(dst, data...), err
}

func (jsonCodec[T]) Decode(data []byte, v *T) error {
	return strictjson.Unmarshal(data, v)
}

// Bytes is the codec of payloads as they are. What Decode gives is a copy.
func Bytes() Codec[[]byte] { return bytesCodec{} }

type bytesCodec struct{}

func (bytesCodec) Encode(dst, v []byte) ([]byte, error) { return append(dst, v...), nil }

func (bytesCodec) Decode(data []byte, v *[]byte) error {
	*v = slices.Clone(data)
	return nil
}

// CodecFunc is the codec made of two functions, which keep the rules of [Codec]. A part that only reads, or only writes, needs one
// of them; the other may be nil.
func CodecFunc[T any](encode func(dst []byte, v T) ([]byte, error), decode func(data []byte, v *T) error) Codec[T] {
	return funcCodec[T]{encode, decode}
}

type funcCodec[T any] struct {
	encode func([]byte, T) ([]byte, error)
	decode func([]byte, *T) error
}

func (c funcCodec[T]) Encode(dst []byte, v T) ([]byte, error) {
	if c.encode == nil {
		return dst, errors.New("the codec has no function that encodes")
	}
	return c.encode(dst, v)
}

func (c funcCodec[T]) Decode(data []byte, v *T) error {
	if c.decode == nil {
		return errors.New("the codec has no function that decodes")
	}
	return c.decode(data, v)
}
