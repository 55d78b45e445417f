package brokertest

import (
	"testing"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/memory"
)

// bare is an adapter whose broker can't do anything special.
func bare() Adapter {
	return Adapter{
		Features: Features{Bubble: true},
		New: func(t *testing.T, c Config) Stream {
			t.Helper()
			s := newMemory(c)
			return Stream{
				Fetcher: func() broker.Fetcher { return s.Fetcher(memory.FetchConfig{InFlight: c.InFlight}) },
				Sender:  func() broker.Sender { return s.Sender(memory.SendConfig{}) },
			}
		},
	}
}

func TestWhatAnAdapterLacksIsSaid(t *testing.T) {
	lacking := make(map[string]bool)
	for _, c := range checks {
		errs, lacks := c.run(t, bare())
		for _, err := range errs {
			t.Errorf("%s %s: %v", c.rule, c.name, err)
		}
		lacking[lacks] = true
	}
	for _, what := range []string{
		"Stream.Down and Up", "Stream.Delete", "Stream.DeleteConsumer", "Stream.Kill", "Stream.LoseConfirmations", "Stream.Resize", "Stream.End",
		"Features.DropsOldest", "Features.Bytes",
	} {
		if !lacking[what] {
			t.Errorf("no check needs %s", what)
		}
	}
}

func TestARuleCanBeLeftOutWithAReason(t *testing.T) {
	a := bare()
	a.Skip = map[string]string{"F9": "belongs to a goroutine"}
	healthy := a.New
	a.New = func(t *testing.T, c Config) Stream {
		t.Helper()
		if t.Name() == "TestARuleCanBeLeftOutWithAReason/F9_one_caller_after_another" {
			t.Error("the check was not left out")
		}
		return healthy(t, c)
	}
	Test(t, a)
}
