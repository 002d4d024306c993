package s3files_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
)

// orders is a format without ids, so that uuids are derived from records.
var orders = history.Format{Name: "orders", Convert: func(record []byte) ([]hogapi.Event, error) {
	var o struct {
		Who string
		N   int
		At  time.Time
	}
	err := json.Unmarshal(record, &o)
	return []hogapi.Event{{Name: "ordered", DistinctID: o.Who, Timestamp: o.At, Properties: map[string]any{"n": o.N}}}, err
}}

// lines are some records; each tenth is equal to the one before.
func lines(from, to int) []byte {
	var b bytes.Buffer
	for i := from; i < to; i++ {
		n := i
		if n%10 == 9 {
			n--
		}
		at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * 100 * time.Millisecond)
		fmt.Fprintf(&b, `{"who":"person %d","n":%d,"at":%q,"note":"%0200d"}`+"\n", n%97, n, at.Format(time.RFC3339Nano), n)
	}
	return b.Bytes()
}

func zipped(content []byte) []byte { return []byte(testevents.Gzip(string(content))) }

func archived(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("part.json.gz")
	require.NoError(t, err)
	_, err = w.Write(zipped(content))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.Bytes()
}

func storedOf(server *hogapitest.Server) map[uuid.UUID]string {
	all := map[uuid.UUID]string{}
	for ev := range server.Ledger().Events() {
		all[ev.UUID] = string(ev.Raw)
	}
	return all
}

func options(checkpoint string) *history.Options {
	o := &history.Options{
		ID: "orders", Rate: hogapi.RateUnlimited,
		Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxInFlight: 600, MaxBatchEvents: 100, Lanes: 2}},
	}
	if checkpoint != "" {
		o.Checkpoint = history.CheckpointFile(checkpoint)
	}
	return o
}

// ending is a transport that calls end at one of its requests.
type ending struct {
	http.RoundTripper

	left *atomic.Int64
	end  func()
}

func (e ending) RoundTrip(r *http.Request) (*http.Response, error) {
	if e.left.Add(-1) == 0 {
		e.end()
	}
	return e.RoundTripper.RoundTrip(r)
}

// endingAfter is a client that calls end at the n-th request.
func endingAfter(t *testing.T, server *hogapitest.Server, n int64, end func()) *hogapi.Client {
	t.Helper()
	left := new(atomic.Int64)
	left.Store(n)
	return server.Client(t, hogapi.WithHTTPClient(&http.Client{Transport: ending{server.Transport(), left, end}}))
}

// An import from the storage that is canceled again and again, while bodies are cut off, gives the
// events of the same files on a disk.
func TestImportIsThatOfFiles(t *testing.T) {
	t.Parallel()
	s, folder := newStorage(t), t.TempDir()
	const n = 1500
	content := map[string][]byte{
		"1.json": lines(0, n), "2.json.gz": zipped(lines(n, 2*n)), "3.zip": archived(t, lines(2*n, 3*n)), "10.json": lines(3*n, 4*n),
	}
	for name, text := range content {
		s.put("exports/2024/"+name, text)
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
	}
	want := hogapitest.New()
	receipt, err := history.Import(t.Context(), want.Client(t), history.Files(orders, filepath.Join(folder, "*")), options(""))
	require.NoError(t, err)
	require.EqualValues(t, 4*n, receipt.Acknowledged)
	require.Equal(t, 4*n, want.Ledger().Unique(), "equal records are different events")

	s.setFault(s.cutEach(3))
	server, checkpoint := hogapitest.New(), filepath.Join(t.TempDir(), "checkpoint")
	runs := 0
	for stopped := true; stopped; runs++ {
		require.Less(t, runs, 200)
		ctx, cancel := context.WithCancel(t.Context())
		source := history.FilesFS(s.files("exports"), orders, "2024/*")
		receipt, err = history.Import(ctx, endingAfter(t, server, 8, cancel), source, options(checkpoint))
		stopped = ctx.Err() != nil && err != nil
		if !stopped {
			require.NoError(t, err)
		}
		cancel()
	}
	assert.Greater(t, runs, 5)
	require.EqualValues(t, 4*n, receipt.Acknowledged)
	require.Empty(t, server.Ledger().Changed())
	require.Equal(t, storedOf(want), storedOf(server))
	t.Logf("%d runs, %d events sent twice", runs, server.Ledger().Duplicates())
}

// A checkpoint is of one version of the object that it is in.
func TestReplacedBetweenRuns(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	content := lines(0, 6000)
	s.put("a.json", content)
	server, checkpoint := hogapitest.New(), filepath.Join(t.TempDir(), "checkpoint")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := endingAfter(t, server, 8, cancel)
	_, err := history.Import(ctx, first, history.FilesFS(s.files(""), orders, "*"), options(checkpoint))
	require.ErrorIs(t, err, context.Canceled)
	sent := server.Ledger().Len()

	other := bytes.Clone(content)
	copy(other[len(other)-300:], bytes.ReplaceAll(other[len(other)-300:], []byte("person"), []byte("PERSON"))) // behind all that a run compares
	s.put("a.json", other)
	_, err = history.Import(t.Context(), server.Client(t), history.FilesFS(s.files(""), orders, "*"), options(checkpoint))
	require.ErrorContains(t, err, "another file, or changed since")
	require.Equal(t, sent, server.Ledger().Len())

	s.put("a.json", content)
	receipt, err := history.Import(t.Context(), server.Client(t), history.FilesFS(s.files(""), orders, "*"), options(checkpoint))
	require.NoError(t, err)
	require.EqualValues(t, 6000, receipt.Acknowledged)
}

// An object that is replaced while it is imported stops the import, and the rest of the new one is
// not sent.
func TestReplacedDuringARun(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	s.put("a.json", lines(0, 6000))
	var reads atomic.Int64
	s.setFault(func(_ http.ResponseWriter, r *http.Request) bool {
		if isRead(r) && reads.Add(1) == 3 {
			s.put("a.json", bytes.ReplaceAll(lines(0, 6000), []byte("person"), []byte("PERSON")))
		}
		return false
	})
	server := hogapitest.New()
	_, err := history.Import(t.Context(), server.Client(t), history.FilesFS(s.files(""), orders, "*"), options(""))
	require.ErrorContains(t, err, "was replaced or changed")
	stop := new(hogapi.StopError)
	require.ErrorAs(t, err, &stop)
	assert.Equal(t, hogapi.StopSource, stop.Reason)
	for ev := range server.Ledger().Events() {
		require.Contains(t, ev.DistinctID, "person")
	}
}

// A bucket that may not be listed is not an empty one.
func TestListingIsDenied(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	s.put("2024/a.json", lines(0, 10))
	s.setFault(func(w http.ResponseWriter, r *http.Request) bool {
		return r.URL.Query().Has("list-type") && refuse(w, 403, "AccessDenied", "Access Denied")
	})
	_, err := history.Import(t.Context(), hogapitest.New().Client(t), history.FilesFS(s.files(""), orders, "*/*.json"), options(""))
	require.ErrorContains(t, err, "s3:ListBucket")

	receipt, err := history.Import(t.Context(), hogapitest.New().Client(t), history.FilesFS(s.files(""), orders, "2024/a.json"), options(""))
	require.NoError(t, err, "its files can be named")
	require.EqualValues(t, 10, receipt.Acknowledged)
}
