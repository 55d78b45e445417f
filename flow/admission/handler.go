package admission

import (
	"context"
	"net/http"

	"github.com/weir-go/weir/stage"
)

// Handler puts next behind the gate. It decides by the headers alone, before anything of the body is read; whoever is refused gets the
// answer of [WriteRefusal].
//
// next finds the metadata in the request's context (stage.MetaFrom), and the permit ([FromContext]), which is released when next returns,
// panics or ends its goroutine. A deadline in the metadata is one of that context. Metadata is what Config.Meta says and, from peers for
// which Config.Trusted returns true, what the headers say that are there once. The estimated wait is a header of the answer.
func (g *Gate) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := g.metaOf(r)
		ctx := r.Context()
		if !m.Deadline.IsZero() {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, m.Deadline)
			defer cancel()
		}
		ctx = stage.WithMeta(ctx, m)
		p, err := g.Admit(ctx)
		if err != nil {
			WriteRefusal(w, err)
			return
		}
		defer p.Release()
		waitHeader(w.Header(), p)
		next.ServeHTTP(w, r.WithContext(WithPermit(ctx, p)))
	})
}

// metaOf returns what is known of a request.
func (g *Gate) metaOf(r *http.Request) (m stage.Meta) {
	if g.cfg.Meta != nil {
		m = g.cfg.Meta(r)
	}
	if g.cfg.Trusted != nil && g.cfg.Trusted(r) {
		m = ParseMeta(single(r.Header), m)
	}
	return m
}

// single returns a function for headers that are there once: of several values one may have been sent by a stranger, to a peer that has
// added its own.
func single(h http.Header) func(name string) string {
	return func(name string) string {
		if v := h.Values(name); len(v) == 1 {
			return v[0]
		}
		return ""
	}
}

type permitKey struct{}

// WithPermit returns a context that carries p, for middleware of other protocols.
func WithPermit(ctx context.Context, p Permit) context.Context {
	return context.WithValue(ctx, permitKey{}, p)
}

// FromContext returns the permit of the request that ctx belongs to: which rung to take, and what it has cost. Without one it is the
// zero Permit, which does nothing.
func FromContext(ctx context.Context) Permit {
	p, _ := ctx.Value(permitKey{}).(Permit)
	return p
}
