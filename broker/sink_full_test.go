package broker_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// A stream that stays full is offered about as much as it takes, not a whole push each time: the one that is to make room would be kept
// busy with refusing.
func TestAFullStreamIsNotFlooded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total = 2000
		dst := &shelf{room: 100}
		s := broker.NewSink(dst, text, broker.SinkOptions[string]{Subject: subject})
		freeing := time.NewTicker(time.Millisecond)
		defer freeing.Stop()
		done := make(chan struct{})
		go func() {
			for {
				select {
				case <-freeing.C:
					dst.free(1)
				case <-done:
					return
				}
			}
		}()
		must(t, s.Push(t.Context(), numbered(total)))
		close(done)
		synctest.Wait()
		wantSlice(t, "stored", dst.payloads(), numbered(total))
		offered := -total // at first nobody knows
		for _, n := range dst.sends {
			offered += n
		}
		if offered > 5*total {
			t.Errorf("%d messages were offered to store %d", offered, total)
		}
		if took := time.Since(dst.times[0]); took > 2*total*time.Millisecond {
			t.Errorf("it took %v, there was room after %v", took, total*time.Millisecond)
		}
	})
}

// Once there is much room, all of it is used at once.
func TestAStreamThatWasFullIsFilledAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dst := &shelf{room: 10}
		s := broker.NewSink(dst, text, broker.SinkOptions[string]{Subject: subject})
		time.AfterFunc(10*time.Second, func() { dst.free(10_000) })
		must(t, s.Push(t.Context(), numbered(1000)))
		wantSlice(t, "stored", dst.payloads(), numbered(1000))
		last := dst.times[len(dst.times)-1]
		again := slices.IndexFunc(dst.times, func(at time.Time) bool { return at.After(dst.times[0].Add(10 * time.Second)) })
		if wait := last.Sub(dst.times[again]); again < 0 || wait != 0 {
			t.Errorf("the last one was sent %v after there was room", wait)
		}
	})
}

// Some find no room, some are refused, some fail to be encoded: each keeps its own place, also when the rest is sent in parts.
func TestAPushInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("refused")
		dst := &shelf{room: 4, fail: func(m broker.Message) error {
			if m.Subject == "out.v7" || m.Subject == "out.v40" {
				return refused
			}
			return nil
		}}
		s := broker.NewSink(dst, text, broker.SinkOptions[string]{Subject: subject, OnFull: flow.Block})
		vs := numbered(50)
		vs[20] = "secret"
		for i := range 50 {
			time.AfterFunc(time.Duration(i+1)*time.Second, func() { dst.free(1) })
		}
		err := s.Push(t.Context(), vs)
		if got, want := indices(t, err), []int{7, 20, 40}; !slices.Equal(got, want) {
			t.Fatalf("failed %v, want %v", got, want)
		}
		bad, _ := errors.AsType[*stage.BatchError](err)
		if !errors.Is(bad.Items[0].Err, refused) || !errors.Is(bad.Items[1].Err, broker.ErrRefused) || !errors.Is(bad.Items[2].Err, refused) {
			t.Errorf("%v", err)
		}
		want := numbered(50)
		want = slices.DeleteFunc(want, func(v string) bool { return v == "v7" || v == "v20" || v == "v40" })
		wantSlice(t, "stored", dst.payloads(), want)
		if st := s.Stats(); st.Stored != 47 || st.Failed != 3 {
			t.Errorf("%+v", st)
		}
	})
}
