package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weir-go/weir/broker"
)

// rowCodec writes a function as the JSON array of its columns, without their names: `nats stream view` shows what is in the stream.
var rowCodec = broker.CodecFunc(
	func(dst []byte, f function) ([]byte, error) {
		row, err := json.Marshal(f.values())
		return append(dst, row...), err
	},
	func(data []byte, f *function) error {
		row := f.places() // which encoding/json fills
		if err := json.Unmarshal(data, &row); err != nil {
			return err
		}
		if len(row) != len(columns) || slices.Contains(row, nil) {
			return fmt.Errorf("want %d columns, none of them null", len(columns))
		}
		return nil
	},
)
