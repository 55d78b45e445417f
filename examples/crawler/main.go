// Command crawler walks a web site, which it serves itself: each page once, whatever links to it, and no more than a few at the same
// time. It ends by itself when no page is left.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/weir-go/weir/flow"
)

// config is what the flags say.
type config struct {
	gate    int           // links that come from outside are let in while fewer than this are inside
	limit   int           // links that may wait to go round
	workers int           // pages that are fetched at the same time
	pages   int           // of the site
	timeout time.Duration // of one page
}

func main() {
	var c config
	flag.IntVar(&c.gate, "gate", 8, "let links from outside in while fewer than this are inside; 0 is a build error")
	flag.IntVar(&c.limit, "limit", 10_000, "how many links may wait; one more ends the crawl with an error")
	flag.IntVar(&c.workers, "workers", 8, "how many pages are fetched at the same time")
	flag.IntVar(&c.pages, "pages", 300, "how many pages the site has")
	flag.DurationVar(&c.timeout, "timeout", 2*time.Second, "how long a page may take")
	flag.Parse()
	if err := run(context.Background(), c, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves the site, crawls it, and prints what it has found.
func run(ctx context.Context, c config, w io.Writer) error {
	s, err := serve(c.pages)
	if err != nil {
		return err
	}
	defer s.close()
	var found counts
	r, err := crawl(c, s.url, &found).Start(ctx)
	if err != nil {
		return err
	}
	if err := r.Wait(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%d pages, %d links, %d not found; the site was asked %d times, %d of them for a page that it had served\n",
		found.pages, found.links, found.missing, s.requests.Load(), s.repeats.Load())
	return err
}

// page is what came of a link.
type page struct {
	url    string
	status int
	links  []string
}

// counts are of what has been found.
type counts struct{ pages, links, missing int }

// crawl is the whole of it. Links go round: each page leads to more. Where a link was seen before it ends.
func crawl(c config, start string, found *counts) flow.Pipeline {
	f := fetcher{&http.Client{Timeout: c.timeout, Transport: &http.Transport{DisableKeepAlives: true}}}
	body := func(in flow.Flow[string]) (out flow.Flow[page], again flow.Flow[string]) {
		pages := in.
			Distinct(1<<20, func(url string) string { return url }, flow.Name("seen")).
			Parallel(c.workers, f.fetch, flow.Unordered, flow.Name("fetch")).
			Broadcast(2, flow.Name("pages"))
		return pages[0], pages[1].FlatMap(func(p page) []string { return p.links }, flow.Name("links"))
	}
	return flow.FromSlice([]string{start + "/"}).
		Loop(flow.Gated(c.gate).Children(c.limit), body, flow.Name("crawl")).
		ForEach(func(_ context.Context, p page) error {
			found.links += len(p.links)
			if p.status == http.StatusNotFound {
				found.missing++
			} else {
				found.pages++
			}
			return nil
		})
}

// fetcher gets pages.
type fetcher struct{ client *http.Client }

// fetch gets a page and its links.
func (f fetcher) fetch(ctx context.Context, url string) (page, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return page{}, err
	}
	resp, err := f.client.Do(req)
	if err != nil {
		return page{}, err
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return page{}, err
	}
	return page{url: url, status: resp.StatusCode, links: linksOf(req.URL, string(text))}, nil
}
