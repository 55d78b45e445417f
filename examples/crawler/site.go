package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The site has a page that is slow, and a link that leads nowhere.
const (
	slowPage = 13
	slowFor  = 100 * time.Millisecond
	lostLink = "/gone"
)

// site is a web site of pages 0 to n-1, always the same one for n. Page i links to two that no page before it links to, back to
// the one that it was found on and to the start, and to itself, twice.
type site struct {
	url      string
	n        int
	server   *http.Server
	ended    sync.WaitGroup
	served   sync.Map
	requests atomic.Int64
	repeats  atomic.Int64 // requests for a page that was served before
}

// serve serves a site on a free port of this machine.
func serve(n int) (*site, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &site{url: "http://" + l.Addr().String(), n: n}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: time.Second}
	s.ended.Go(func() {
		if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			panic(err)
		}
	})
	return s, nil
}

func (s *site) close() {
	_ = s.server.Close()
	s.ended.Wait()
}

// ServeHTTP answers with a page.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	if _, again := s.served.LoadOrStore(r.URL.Path, true); again {
		s.repeats.Add(1)
	}
	i, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
	if r.URL.Path == "/" {
		i, err = 0, nil
	}
	if err != nil || i < 0 || i >= s.n {
		http.NotFound(w, r)
		return
	}
	if i == slowPage {
		time.Sleep(slowFor)
	}
	for _, link := range s.links(i) {
		_, _ = fmt.Fprintf(w, "<a href=%q>page</a>\n", link)
	}
}

// links are those of page i.
func (s *site) links(i int) []string {
	links := []string{"/", pathOf((i - 1) / 2), pathOf(i), pathOf(i)}
	for _, next := range []int{2*i + 1, 2*i + 2} {
		if next < s.n {
			links = append(links, pathOf(next))
		}
	}
	if i == s.n/2 {
		links = append(links, lostLink)
	}
	return links
}

func pathOf(i int) string {
	if i == 0 {
		return "/"
	}
	return "/" + strconv.Itoa(i)
}

var links = regexp.MustCompile(`<a href="([^"]+)"`)

// linksOf returns what a page links to on its own site.
func linksOf(base *url.URL, text string) (urls []string) {
	for _, m := range links.FindAllStringSubmatch(text, -1) {
		if u, err := base.Parse(m[1]); err == nil && u.Host == base.Host {
			urls = append(urls, u.String())
		}
	}
	return urls
}
