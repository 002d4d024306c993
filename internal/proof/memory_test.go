//go:build linux

package proof_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/testevents"
)

// An import needs a fixed amount of memory for every source and every service. Each case runs in a process of its own and reads its peak
// resident size from the system.

const (
	maxResident     = 64 << 20
	behindASlowSink = 80 << 20 // more than at the start: 59 to 70 MiB were measured
)

// assertResident compares bytes of memory. The race detector needs several times as much.
func assertResident(t *testing.T, most int, got float64) {
	t.Helper()
	if !raceDetector {
		assert.LessOrEqual(t, got, float64(most))
	}
}

func init() {
	childTasks["hostile"], childTasks["feed"], childTasks["large file"] = importHostile, feedSlowSink, importLargeFile
}

type swallow struct {
	delay time.Duration
	hurry <-chan struct{} // ends all delays once it is closed
}

func (s swallow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	select {
	case <-time.After(s.delay):
	case <-s.hurry:
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"status":"Ok"}`)
}

// RoundTrip is swallow without a socket.
func (s swallow) RoundTrip(r *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, r)
	return recorder.Result(), r.Body.Close()
}

// resident returns this process's resident size: the rusage of a child is useless, because it begins with the parent's own size.
func resident(what string) float64 {
	size, err := testevents.Resident("self", what)
	if err != nil {
		panic(err)
	}
	return float64(size)
}

// A service that takes two seconds for each answer gets events as fast as it takes them, with each setting that makes requests or their
// number large: memory reaches a plateau that MaxBytes sets, and Enqueue blocks. Only a real process on a real clock shows a slow leak.
func TestMemoryBehindASlowSink(t *testing.T) {
	measuresMemory(t)
	t.Parallel()
	const mib = 1 << 20
	tests := map[string]struct {
		delivery hogapi.DeliveryOptions
		kind     string
		least    int // events of the deep run
		resident int
	}{
		"the defaults":       {hogapi.DeliveryOptions{}, "wide", 1_000_000, behindASlowSink},
		"plain":              {hogapi.DeliveryOptions{Compression: hogapi.CompressionNone}, "wide", 0, behindASlowSink},
		"64 lanes, plain":    {hogapi.DeliveryOptions{Compression: hogapi.CompressionNone, Tuning: hogapi.Tuning{Lanes: 64}}, "wide", 0, behindASlowSink},
		"1 MiB in all":       {hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxBytes: mib}}, "wide", 0, behindASlowSink},
		"requests of 18 MiB": {hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxBytes: 32 * mib, MaxBatchBytes: 18 * mib, MaxBatchEvents: 10_000, Lanes: 1}}, "bulky", 0, 3 * maxResident},
		"all at once": {
			hogapi.DeliveryOptions{Compression: hogapi.CompressionNone, Tuning: hogapi.Tuning{MaxBytes: 32 * mib, MaxBatchBytes: 18 * mib, MaxBatchEvents: 10_000, MaxInFlight: 1_000_000, Lanes: 64}},
			"wide", 0, 3 * maxResident,
		},
	}
	wait := testevents.Sized(3*time.Second, 10*time.Second, 30*time.Second) // until Enqueue has blocked for that long
	start := func(name string) *child {
		test := tests[name]
		return startChild(t, task{Do: "feed", Kind: test.kind, For: wait, N: testevents.Sized(0, test.least/4, test.least), Delivery: test.delivery})
	}
	children := map[string]*child{}
	for name := range tests { // they mostly wait, so all at a time
		children[name] = start(name)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := children[name].report(t)
			for range testevents.Sized(0, 4) { // each run keeps the limit
				if again := start(name).report(t); again.Values["growth"] > r.Values["growth"] {
					r = again
				}
			}
			require.Empty(t, r.Error)
			testevents.RequireBalanced(t, r.Receipt)
			most := float64(cmp.Or(test.delivery.MaxBytes, 10*mib))
			most += float64(cmp.Or(test.delivery.MaxBatchBytes, 4*mib)) // compressed bodies come on top
			assert.LessOrEqual(t, r.Values["held"], most, "bytes of events held")
			most -= float64(cmp.Or(test.delivery.MaxBatchBytes, 4*mib))
			assert.Greater(t, r.Values["held"], 0.9*most, "all the room is used")
			assert.LessOrEqual(t, r.Values["request"], float64(cmp.Or(test.delivery.MaxBatchBytes, 4*mib)))
			assertResident(t, test.resident, r.Values["growth"])
			assert.GreaterOrEqual(t, r.Values["blocked"], wait.Seconds(), "Enqueue has blocked")
			assert.GreaterOrEqual(t, r.Receipt.Acknowledged, int64(testevents.Sized(0, test.least/4, test.least)))
			t.Logf("%d events, at most %.1f MiB of them held, requests of up to %.1f MiB, %.1f MiB over the start",
				r.Receipt.Acknowledged, r.Values["held"]/mib, r.Values["request"]/mib, r.Values["growth"]/mib)
		})
	}
}

func feedSlowSink(w task) (report childReport) {
	hurry := make(chan struct{})
	var mu sync.Mutex
	var request int // the largest, plain
	client := childClient("http://127.0.0.1:1", hogapi.WithHTTPClient(&http.Client{Transport: swallow{2 * time.Second, hurry}}), hogapi.WithHooks(hogapi.Hooks{
		OnBatch: func(e hogapi.BatchInfo) { // on several goroutines at the same time
			mu.Lock()
			defer mu.Unlock()
			request = max(request, e.Bytes)
		},
	}))
	event := map[string]func(int) hogapi.Event{"wide": wideEvent, "bulky": bulkyEvent}[w.Kind]
	runtime.GC()
	start := resident("VmRSS")
	capture, err := client.NewCapture(&hogapi.CaptureOptions{Rate: hogapi.RateUnlimited, Delivery: w.Delivery})
	if err != nil {
		panic(err)
	}
	var blocked time.Duration
	var held int
	for i := 1; (blocked < w.For || i <= w.N) && held < 128<<20; i++ {
		ev := event(i)
		err := capture.TryEnqueue(ev)
		full := errors.Is(err, hogapi.ErrFull)
		if full || i%100 == 0 {
			held = max(held, capture.Stats().Bytes)
		}
		if full {
			before := time.Now()
			err = capture.Enqueue(context.Background(), ev)
			blocked += time.Since(before)
		}
		if err != nil {
			panic(err)
		}
	}
	close(hurry)
	report = reported(capture.Close(context.Background()))
	report.Values = map[string]float64{
		"growth": resident("VmHWM") - start, "held": float64(held), "blocked": blocked.Seconds(), "request": float64(request),
	}
	return report
}

// minResident runs a child up to three times until it stays small, because the garbage collector is late on a busy machine. Memory that
// the package really holds shows in each run.
func minResident(t *testing.T, start func() *child, feed func()) (c *child, r childReport) {
	t.Helper()
	for range 3 {
		c = start()
		if feed != nil {
			feed()
		}
		if r = c.report(t); r.Values["peak"] <= maxResident {
			break
		}
	}
	return c, r
}

// wideEvent returns an event of about half a kilobyte with its properties in a map.
func wideEvent(i int) hogapi.Event {
	return hogapi.Event{
		Name: "page viewed", DistinctID: "person-" + strconv.Itoa(i%10_000), Timestamp: testevents.LongAgo.Add(time.Duration(i) * time.Second),
		UUID: uuid.UUID{6: 0x40, 8: 0x80, 12: byte(i >> 24), 13: byte(i >> 16), 14: byte(i >> 8), 15: byte(i)},
		Properties: map[string]any{
			"path": "/a/rather/long/path/of/a/page/" + strconv.Itoa(i), "referrer": "https://search.example/?q=historical+import", "n": i,
			"price": 12.75, "tags": []string{"one", "two", "three"}, "nested": map[string]any{"deep": true, "list": []int{1, 2, 3}},
			"agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Safari/537.36",
		},
	}
}

// One GiB of lines, or of rows, comes through a pipe, plain and gzipped, with checkpoints: the process stays small.
func TestMemoryOfALargeFile(t *testing.T) {
	t.Parallel()
	size := testevents.Sized(int64(64<<20), 256<<20, 1<<30)
	if raceDetector {
		size = 8 << 20
	}
	for name, form := range map[string]struct {
		kind, begin, line, end string
		zip                    bool
	}{
		"zipped false":     {line: testevents.Line},
		"zipped true":      {line: testevents.Line, zip: true},
		"lines of records": {kind: "records", line: testevents.Line, zip: true},
		"array":            {"records", "[", testevents.Line + ",", "]", false},
		"CSV":              {kind: "records", begin: "event,distinct_id,timestamp,n,path\n", line: aRow},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var pipe string
			var n int
			_, r := minResident(t, func() *child {
				pipe = filepath.Join(t.TempDir(), "e.jsonl")
				require.NoError(t, syscall.Mkfifo(pipe, 0o600))
				return startChild(t, task{Do: "large file", Kind: form.kind, URL: serve(t, swallow{}), File: pipe, State: filepath.Join(t.TempDir(), "state")})
			}, func() { n = testevents.WriteLines(t, pipe, form.begin, form.line, form.end, size, form.zip) })
			require.Empty(t, r.Error)
			testevents.RequireBalanced(t, r.Receipt)
			require.EqualValues(t, n, r.Receipt.Acknowledged)
			assertResident(t, maxResident, r.Values["peak"])
			t.Logf("%d MiB, %d events: at most %.1f MiB resident", size>>20, n, r.Values["peak"]/(1<<20))
		})
	}
}

// Events in no order, all of different persons, are sorted and linked in bounded memory, and sent.
// Only it finds memory that grows with the file.
func TestMemoryOfSorting(t *testing.T) {
	measuresMemory(t)
	t.Parallel()
	n := testevents.Sized(300_000, 1_000_000, 5_000_000)
	path := filepath.Join(t.TempDir(), "e.jsonl")
	f, err := os.Create(path)
	require.NoError(t, err)
	w := bufio.NewWriter(f)
	random := rand.New(rand.NewPCG(1, 1))
	for i := range n {
		at := testevents.LongAgo.Add(time.Duration(random.IntN(1e8)) * time.Second).Format(time.RFC3339)
		fmt.Fprintf(w, `{"event":"page viewed","distinct_id":"p%d","timestamp":%q,"path":"/some/page/%d of a site with a rather long path"}`+"\n", i, at, i)
	}
	require.NoError(t, w.Flush())
	require.NoError(t, f.Close())
	work := task{Do: "large file", Kind: "sorted", URL: serve(t, swallow{}), File: path, State: t.TempDir()}
	require.NoError(t, os.Mkdir(work.temporary(), 0o700))
	r := startChild(t, work).report(t)
	require.Empty(t, r.Error)
	require.EqualValues(t, n, r.Receipt.Acknowledged)
	assertResident(t, 4*maxResident, r.Values["peak"])
	t.Logf("%d events: at most %.1f MiB resident", n, r.Values["peak"]/(1<<20))
}

func importLargeFile(w task) childReport {
	report := importFile(w)
	report.Values = map[string]float64{"peak": resident("VmHWM")}
	return report
}

const aRow = "page viewed,person-%d,2001-02-03T04:05:06.789Z,%d,\"/some/page/%d, of which there are many, and with a long path\"\n"

// hostile are streams that would fill the memory of a careless import.
var hostile = map[string]struct {
	n      int
	change func(i int, ev *hogapi.Event)
}{
	"huge events":              {testevents.Sized(80, 400, 2000), func(i int, ev *hogapi.Event) { ev.Properties["text"] = noise(i, 700_000) }},
	"bad events of 1 MB":       {testevents.Sized(80, 400, 2000), func(i int, ev *hogapi.Event) { ev.Properties["text"] = noise(i, 1_000_000) }},
	"huge names of bad events": {testevents.Sized(100, 400, 2000), func(i int, ev *hogapi.Event) { ev.Name = noise(i, 500_000) }},
	"names":                    {testevents.Sized(60_000, 120_000, 300_000), func(i int, ev *hogapi.Event) { ev.Name = "event " + strconv.Itoa(i) }},
	"persons":                  {100_000, func(i int, ev *hogapi.Event) { ev.DistinctID = "person-" + strconv.Itoa(i) }},
	"bad records of 1 MB": {testevents.Sized(100, 400, 2000), func(i int, ev *hogapi.Event) {
		*ev = event.Bad(ev.Position, []byte(noise(i, 1_000_000)), errors.New("no JSON"))
	}},
	"one position": {testevents.Sized(5000, 10_000, 20_000), func(i int, ev *hogapi.Event) {
		ev.UUID, ev.Position = uuid.Nil, hogapi.Position{Key: "p", Offset: int64(1 + i/5000)}
	}},
	"long positions": {testevents.Sized(5000, 20_000, 100_000), func(i int, ev *hogapi.Event) {
		ev.UUID, ev.Position = uuid.Nil, hogapi.Position{Key: noise(i, 10_000)}
	}},
	"days": {testevents.Sized(60_000, 120_000, 300_000), func(i int, ev *hogapi.Event) {
		const days = 37_500 // a century
		ev.Name, ev.Timestamp = "event "+strconv.Itoa(i/days), time.Date(1900, 1, 1+i%days, 0, 0, 0, 0, time.UTC)
	}},
}

func noise(i, size int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	b := make([]byte, size)
	for x, at := uint64(i)*0x9e3779b97f4a7c15+1, 0; at < size; at++ {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[at] = letters[x%64]
	}
	return string(b)
}

func importHostile(w task) childReport {
	rejects := 0
	source := testevents.Altered(testevents.Source(w.N), func(ev *hogapi.Event) { hostile[w.Kind].change(int(ev.Position.Offset), ev) })
	report := reported(history.Import(context.Background(), childClient(w.URL), source, &history.Options{MaxRejectShare: -1,
		ID: "hostile", Rate: hogapi.RateUnlimited, Checkpoint: history.CheckpointFile(w.checkpoint()),
		Rejects: hogapi.RejectFunc(func(context.Context, hogapi.Reject) error {
			rejects++
			return nil
		}),
	}))
	report.Rejects, report.Values = rejects, map[string]float64{"peak": resident("VmHWM")}
	return report
}

// Hostile streams are not held in memory. The garbage collector gets the limit, as a user sets it if memory is scarce: only memory that
// the package holds counts.
func TestMemoryOfHostileStreams(t *testing.T) {
	measuresMemory(t)
	t.Parallel()
	for name, stream := range hostile {
		n := stream.n
		t.Run(name, func(t *testing.T) {
			c, r := minResident(t, func() *child {
				return startChild(t, task{Do: "hostile", URL: serve(t, swallow{delay: 20 * time.Millisecond}), Kind: name, N: n, State: t.TempDir()}, "GOMEMLIMIT=48MiB")
			}, nil)
			require.Empty(t, r.Error)
			require.Equal(t, r.Receipt.Read, r.Receipt.Acknowledged+r.Receipt.Rejected+r.Receipt.Pending)
			require.EqualValues(t, n, r.Receipt.Read)
			require.EqualValues(t, r.Rejects, r.Receipt.Rejected)
			var days int64
			for _, d := range r.Receipt.Days {
				days += d.Acknowledged
			}
			require.Equal(t, r.Receipt.Acknowledged, days)
			assert.LessOrEqual(t, len(r.Receipt.Days), 10_001)
			assertResident(t, maxResident, r.Values["peak"])
			t.Logf("%d events: at most %.1f MiB resident; processor time %v", n, r.Values["peak"]/(1<<20), c.ProcessState.UserTime())
		})
	}
}
