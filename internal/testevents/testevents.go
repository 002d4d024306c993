// Package testevents has the events that the tests of an import share, sources of these events, a checkpoint in
// memory, and the checks of every receipt. It is for tests only: it and internal/proof are the only packages
// below internal that import the root.
package testevents

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

// LongAgo is before all events of the tests. In a synctest bubble it is the year 2000: they are from
// the years before.
var LongAgo = time.Date(1998, 1, 1, 0, 0, 0, 0, time.UTC)

// Source gives n numbered events of seventeen persons, each at its own position.
func Source(n int) history.Source {
	return history.Func("numbered", func(_ context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			for i := int(after.Offset) + 1; i <= n; i++ {
				if !yield(Event(i), nil) {
					return
				}
			}
		}
	})
}

// Event is the event of a number, from 1.
func Event(i int) hogapi.Event {
	return hogapi.Event{
		Name: "order placed", DistinctID: fmt.Sprintf("person-%d", i%17), Timestamp: LongAgo.Add(time.Duration(i) * time.Second),
		UUID:       ID(i),
		Properties: map[string]any{"n": i, "price": 12.5, "note": "a \"quoted\" text"},
		Position:   hogapi.Position{Offset: int64(i)},
	}
}

// ID is the uuid of a numbered event.
func ID(i int) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, i)) }

// IDs are the uuids of the first n events.
func IDs(n int) (ids []uuid.UUID) {
	for i := range n {
		ids = append(ids, ID(i+1))
	}
	return ids
}

// Altered changes the events of a source.
func Altered(source history.Source, change func(*hogapi.Event)) history.Source {
	return history.Func(source.Name(), func(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			for ev, err := range source.Events(ctx, after) {
				change(&ev)
				if !yield(ev, err) {
					return
				}
			}
		}
	})
}

// Checkpoint keeps the state in memory.
type Checkpoint struct {
	State  []byte
	Held   bool
	Saves  int
	Before func(n int, state []byte) error // called with the n-th save, from 1; an error keeps the old state
}

// Open implements history.Checkpointer.
func (c *Checkpoint) Open(context.Context) ([]byte, error) {
	if c.Held {
		return nil, errors.New("two owners")
	}
	c.Held = true
	return c.State, nil
}

// Save implements history.Checkpointer.
func (c *Checkpoint) Save(_ context.Context, state []byte) error {
	c.Saves++
	if c.Before != nil {
		if err := c.Before(c.Saves, state); err != nil {
			return err
		}
	}
	c.State = bytes.Clone(state)
	return nil
}

// Close implements history.Checkpointer.
func (c *Checkpoint) Close() error {
	c.Held = false
	return nil
}

// IgnoreRejects takes every reject.
var IgnoreRejects = hogapi.RejectFunc(func(context.Context, hogapi.Reject) error { return nil })

// Unsettled are the uuids of the events that an error lists.
func Unsettled(e *event.UnsettledError) (all []uuid.UUID) {
	for ev := range e.Events() {
		all = append(all, ev.UUID)
	}
	return all
}

// RefusePoison refuses events of the name "poison".
func RefusePoison(server *hogapitest.Server) {
	server.RejectEvents(func(raw json.RawMessage) int {
		if bytes.Contains(raw, []byte(`"event":"poison"`)) {
			return 400
		}
		return 0
	})
}

// Redirect answers with another place.
func Redirect(to string) hogapitest.Fault {
	return hogapitest.Then(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
}

// Gzip is a text as a gzip file.
func Gzip(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text)) // a buffer takes everything
	_ = z.Close()
	return b.String()
}

// T is the part of a test or a benchmark that this package uses.
type T interface {
	require.TestingT
	Helper()
}

// Walked returns all items of a walk, which must not fail.
func Walked[Item any](t T, walk iter.Seq2[Item, error]) (all []Item) {
	t.Helper()
	for item, err := range walk {
		require.NoError(t, err)
		all = append(all, item)
	}
	return all
}

// RequireWhole demands that the service holds exactly the n numbered events.
func RequireWhole(t T, server *hogapitest.Server, n int) {
	t.Helper()
	RequireOnly(t, server, IDs(n))
}

// RequireOnly demands that the service holds exactly these events, in their order per person. Events that were sent
// twice must be the same.
func RequireOnly(t T, server *hogapitest.Server, ids []uuid.UUID) {
	t.Helper()
	ledger := server.Ledger()
	require.Empty(t, ledger.Missing(ids), "lost")
	require.Equal(t, len(ids), ledger.Unique(), "events that nobody sent")
	require.Empty(t, ledger.Changed(), "duplicates that are not the same")
	require.Zero(t, ledger.Inversions(ids), "order per person by the last commit")
	for _, r := range ledger.Requests() {
		require.True(t, r.Historical, "a request without historical_migration")
	}
}

// RequireBalanced demands that the counts of a receipt add up.
func RequireBalanced(t T, r hogapi.Receipt) {
	t.Helper()
	require.Equal(t, r.Read, r.Acknowledged+r.Rejected+r.Unconfirmed+r.Skipped+r.Pending,
		"read = acknowledged + rejected + unconfirmed + skipped + pending")
	var acknowledged, rejected, unconfirmed int64
	for _, d := range r.Days {
		acknowledged += d.Acknowledged
		rejected += d.Rejected
		unconfirmed += d.Unconfirmed
	}
	require.Equal(t, r.Acknowledged, acknowledged, "the days add up")
	require.Equal(t, r.Unconfirmed, unconfirmed, "the days add up")
	require.LessOrEqual(t, rejected, r.Rejected)
}

// MixedLines returns n lines of a file: most are good, every seventh is malformed, the gate rejects every eleventh, and
// every thirteenth is poison.
func MixedLines(n int, padding string) (content string, good []uuid.UUID, rejects int) {
	var b strings.Builder
	for i := range n {
		id, name := ID(i+1), "a"
		switch {
		case i%7 == 6:
			fmt.Fprintf(&b, "{\"event\":\"a\",\"n\":%d,\"padding\":%q\n", i, padding)
			rejects++
			continue
		case i%11 == 10:
			name = ""
			rejects++
		case i%13 == 12:
			name = "poison"
			rejects++
		default:
			good = append(good, id)
		}
		at := LongAgo.Add(time.Duration(i) * time.Second).Format(time.RFC3339)
		fmt.Fprintf(&b, `{"event":%q,"distinct_id":"p%d","timestamp":%q,"uuid":%q,"properties":{"n":%d,"padding":%q}}`+"\n\n", name, i%17, at, id, i, padding)
	}
	return b.String(), good, rejects
}

// RejectLines yields the lines of a reject file, except torn lines, which a crash left at the beginning of a later
// line.
func RejectLines(content []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		rest := string(content)
		for line := range strings.Lines(rest) {
			rest = rest[len(line):]
			hole := strings.LastIndexByte(line, 0) // left by a loss of power
			line = line[hole+1:]
			isTorn := hole >= 0 || strings.Contains("\n"+rest, "\n"+strings.TrimSuffix(line, "\n"))
			if (!isTorn || json.Valid([]byte(line))) && !yield(line) {
				return
			}
		}
	}
}

// RequireRejects demands that a reject file has each reject once, and returns their offsets. A crash may repeat a reject.
func RequireRejects(t T, content []byte, want int) (offsets []int64) {
	t.Helper()
	seen := map[int64]map[string]any{}
	for line := range RejectLines(content) {
		var r map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &r), "%s", line)
		note, ok := r["$reject"].(map[string]any)
		require.True(t, ok, "%s", line)
		position, ok := note["position"].(map[string]any)
		require.True(t, ok, "%s", line)
		offset, _ := position["offset"].(float64)
		at := int64(offset)
		delete(note, "detail") // the service's words, which a fault may cut
		if before, again := seen[at]; again {
			require.Equal(t, before, r, "the same reject")
			continue
		}
		seen[at] = r
		offsets = append(offsets, at)
	}
	require.Len(t, seen, want)
	return offsets
}

// Line is one for WriteLines, of about a third of a kilobyte.
const Line = `{"event":"page viewed","distinct_id":"person-%d","timestamp":"2001-02-03T04:05:06.789Z","properties":{"n":%d,"path":"/some/page/%d","agent":"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)","referrer":"https://search.example/?q=historical+import","tags":["one","two","three"],"price":12.75}}` + "\n"

// WriteLines writes lines into a file or a pipe, between begin and end, until their plain text has the given size. It
// returns their number. A line is formatted with a number below 50,000 and twice its own.
func WriteLines(t T, path, begin, line, end string, size int64, zip bool) (n int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600) //nolint:gosec // a path of the test
	require.NoError(t, err)
	defer f.Close()
	var w io.Writer = f
	if zip {
		z, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
		require.NoError(t, err)
		defer func() { require.NoError(t, z.Close()) }()
		w = z
	}
	_, err = io.WriteString(w, begin)
	require.NoError(t, err)
	var b bytes.Buffer
	for written := int64(0); written < size; {
		b.Reset()
		for b.Len() < 1<<18 {
			fmt.Fprintf(&b, line, n%50_000, n, n)
			n++
		}
		_, err := w.Write(b.Bytes())
		require.NoError(t, err)
		written += int64(b.Len())
	}
	_, err = io.WriteString(w, end)
	require.NoError(t, err)
	return n
}
