package proof

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/hogapitest"
	hogtemporal "github.com/hogapi/hogapi/temporal"
)

var discard = slog.New(slog.DiscardHandler)

// service is the fake with its ledger. It notes which run of an import sent each request.
type service struct {
	fake *hogapitest.Server
	url  string

	mu    sync.Mutex
	calls []captured
}

type captured struct {
	run    int
	begun  time.Time // when its header arrived
	read   time.Time // when its body was complete; zero: never
	failed bool
}

func newService(t *testing.T) *service {
	s := &service{fake: hogapitest.New(hogapitest.WithCompactLedger())}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

var runOf = regexp.MustCompile(`hogtemporal/run-(\d+)`)

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := runOf.FindStringSubmatch(r.Header.Get("User-Agent"))
	if m == nil || r.Body == nil || !strings.HasSuffix(r.URL.Path, "/batch/") && !strings.Contains(r.URL.Path, "/analytics/") {
		s.fake.ServeHTTP(w, r)
		return
	}
	run, _ := strconv.Atoi(m[1])
	s.mu.Lock()
	n := len(s.calls)
	s.calls = append(s.calls, captured{run: run, begun: time.Now()})
	s.mu.Unlock()
	r.Body = &watched{r.Body, func(err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if c := &s.calls[n]; !errors.Is(err, io.EOF) {
			c.failed = true
		} else if c.read.IsZero() {
			c.read = time.Now()
		}
	}}
	s.fake.ServeHTTP(w, r)
}

type watched struct {
	io.ReadCloser
	ended func(error)
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if err != nil {
		w.ended(err)
	}
	return n, err
}

// late returns the requests of a run that began, or were complete, after the next run had begun to send.
func (s *service) late() (begun, read int, longest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := map[int]time.Time{}
	last := 0
	for _, c := range s.calls {
		if _, ok := first[c.run]; !ok {
			first[c.run] = c.begun
		}
		last = max(last, c.run)
	}
	for _, c := range s.calls {
		var next time.Time
		for run := c.run + 1; run <= last && next.IsZero(); run++ {
			next = first[run]
		}
		if next.IsZero() {
			continue
		}
		if c.begun.After(next) {
			begun++
			longest = max(longest, c.begun.Sub(next))
		}
		if c.read.After(next) {
			read++
			longest = max(longest, c.read.Sub(next))
		}
	}
	return begun, read, longest
}

func (s *service) runs() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[int]bool{}
	for _, c := range s.calls {
		all[c.run] = true
	}
	return len(all)
}

type events struct {
	shards []hogtemporal.Shard
	ids    []uuid.UUID
}

const persons = 500

func writeEvents(t *testing.T, dir string, n, shards int) events {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o700))
	var all events
	start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for s := range shards {
		path := filepath.Join(dir, fmt.Sprintf("events-%04d.jsonl", s))
		f, err := os.Create(path)
		require.NoError(t, err)
		encoder := json.NewEncoder(f)
		for i := n * s / shards; i < n*(s+1)/shards; i++ {
			id := uuid.NewSHA1(uuid.NameSpaceURL, fmt.Append(nil, "event ", i))
			all.ids = append(all.ids, id)
			require.NoError(t, encoder.Encode(map[string]any{
				"uuid": id, "event": fmt.Sprintf("kind %d", i%7), "distinct_id": fmt.Sprintf("person-%d", (i*7919)%persons),
				"timestamp": start.Add(time.Duration(i) * time.Second), "properties": map[string]any{
					"number": i, "plan": "team", "text": "some words as they stand in an ordinary event of a web site, and some more of them",
					"$current_url": fmt.Sprintf("https://example.com/page/%d", i%1000), "$browser": "Firefox", "$os": "Linux",
				},
			}))
		}
		require.NoError(t, f.Close())
		all.shards = append(all.shards, hogtemporal.Shard{Path: path})
	}
	return all
}

func (e events) digest() string {
	sum := new(big.Int)
	for _, id := range e.ids {
		sum.Add(sum, new(big.Int).SetBytes(id[:]))
	}
	sum.Mod(sum, new(big.Int).Lsh(big.NewInt(1), 128))
	return hex.EncodeToString(sum.FillBytes(make([]byte, 16)))
}
