package engine

import (
	"errors"
	"testing"

	"github.com/weir-go/weir/internal/claim"
	"github.com/weir-go/weir/stage"
)

// An error that is made one about an item may be in the hands of others, who read it meanwhile: it stays as it is.
func TestAFailureLeavesTheErrorAsItIs(t *testing.T) {
	cause := errors.New("cause")
	own := &stage.Error{Stage: "s", Err: cause}
	before := *own
	tag := claim.New(stage.Meta{Key: "k"})
	for _, tt := range []struct {
		name string
		tag  *Tag
		key  string
	}{{"s", tag, "k"}, {"s", nil, ""}, {"other", tag, "k"}} {
		err := failure(tt.name, own, tt.tag)
		e, ok := errors.AsType[*stage.Error](err)
		if !ok || e.Stage != tt.name || e.Key != tt.key || !errors.Is(err, cause) {
			t.Errorf("failure(%q) = %+v", tt.name, err)
		}
		if own.Stage != before.Stage || own.Key != before.Key || own.Err != before.Err { //nolint:errorlint // the very same
			t.Fatalf("it has become %+v", own)
		}
	}
}
