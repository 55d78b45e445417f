package admission_test

import (
	"context"
	"testing"

	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/stage"
)

// What an answer costs, beside a channel that would do the least of it.
func BenchmarkAdmit(b *testing.B) {
	b.Run("channel", func(b *testing.B) {
		slots := make(chan struct{}, 100)
		for b.Loop() {
			select {
			case slots <- struct{}{}:
				<-slots
			default:
			}
		}
	})
	for name, c := range map[string]admission.Config{
		"admitted":                        {Limit: 100},
		"admitted with quota and classes": {Limit: 100, Classes: true, Quota: func(string) int { return 50 }},
	} {
		b.Run(name, func(b *testing.B) {
			g, ctx := admission.NewGate(c), with(stage.Meta{Key: "a"})
			b.ReportAllocs()
			for b.Loop() {
				p, _ := g.Admit(ctx)
				p.Release()
			}
		})
	}
	b.Run("refused", func(b *testing.B) {
		g := admission.NewGate(admission.Config{Limit: 1})
		_, _ = g.Admit(context.Background())
		b.ReportAllocs()
		for b.Loop() {
			_, _ = g.Admit(context.Background())
		}
	})
	b.Run("refused by all CPUs", func(b *testing.B) {
		g := admission.NewGate(admission.Config{Limit: 1})
		_, _ = g.Admit(context.Background())
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				_, _ = g.Admit(context.Background())
			}
		})
	})
}

func BenchmarkLimiter(b *testing.B) {
	l := limiter(b, 10, 10)
	b.ReportAllocs()
	for b.Loop() {
		p, _ := l.Acquire(context.Background())
		p.Release()
	}
}
