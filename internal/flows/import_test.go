package flows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// bubble is a test in virtual time.
func bubble(test func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

// parallelBubble is a test in virtual time, in parallel with others.
func parallelBubble(test func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, test)
	}
}

// writeFile makes a file in a folder of the test.
func writeFile(t testing.TB, name, content string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// readFile returns the content of a file.
func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return content
}

func checkpointOnly(t *testing.T) history.Checkpointer {
	return history.CheckpointFile(filepath.Join(t.TempDir(), "ckpt"))
}

// fake is a service and a client of it.
func fake(t *testing.T) (*hogapitest.Server, *hogapi.Client) {
	t.Helper()
	server := hogapitest.New()
	return server, server.Client(t)
}

// imported is the receipt of an import that ends well.
func imported(t *testing.T, client *hogapi.Client, source history.Source, o *history.Options) hogapi.Receipt {
	t.Helper()
	receipt, err := history.Import(t.Context(), client, source, o)
	require.NoError(t, err)
	return receipt
}

// newCapture makes a Capture of good options.
func newCapture(t *testing.T, client *hogapi.Client, o hogapi.CaptureOptions) *hogapi.Capture {
	t.Helper()
	capture, err := client.NewCapture(&o)
	require.NoError(t, err)
	return capture
}

// enqueue gives a Capture the first n numbered events.
func enqueue(t *testing.T, capture *hogapi.Capture, n int) {
	t.Helper()
	for i := range n {
		require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(i+1)))
	}
}

// closed is the receipt of a Capture that ends well.
func closed(t *testing.T, capture *hogapi.Capture) hogapi.Receipt {
	t.Helper()
	receipt, err := capture.Close(t.Context())
	require.NoError(t, err)
	return receipt
}

// keepRejects is a handler that keeps the rejects.
func keepRejects(all *[]hogapi.Reject) hogapi.RejectHandler {
	return hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error {
		*all = append(*all, r)
		return nil
	})
}

// failed is the error of a call. Its other result does not matter.
func failed(_ any, err error) error { return err }

// as is the error of a type within an error.
func as[T error](t *testing.T, err error) (found T) {
	t.Helper()
	require.ErrorAs(t, err, &found)
	return found
}

// stopOf is why an import has stopped.
func stopOf(t *testing.T, err error) *hogapi.StopError {
	t.Helper()
	return as[*hogapi.StopError](t, err)
}

// requireInputError demands an error of the input.
func requireInputError(t *testing.T, err error) *hogapi.InputError {
	t.Helper()
	return as[*hogapi.InputError](t, err)
}

// refuseEvents has the fake refuse the events of which the number fits, as the service does: a short text.
func refuseEvents(t *testing.T, server *hogapitest.Server, isBad func(n int) bool) {
	server.RejectEvents(func(raw json.RawMessage) int {
		var ev struct {
			Properties struct{ N int }
		}
		assert.NoError(t, json.Unmarshal(raw, &ev))
		if isBad(ev.Properties.N) {
			return http.StatusBadRequest
		}
		return 0
	})
}

// If a hundred different events in a row are refused, each sent alone, it is not the service that refuses them.
func TestHundredLoneRefusalsStop(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		n     int
		isBad func(int) bool
		stops bool
	}{
		"all":                  {5000, every(1), true},
		"all of 100":           {100, every(1), true},
		"all of 99":            {99, every(1), false},
		"the first 99 of 100":  {100, first(99), false},
		"the first 100 of 101": {101, first(100), true},
		"the last 100":         {1100, func(i int) bool { return i > 1000 }, true},
		"99 of each 100":       {1000, func(i int) bool { return i%100 != 0 }, false},
		"the last 100 of 150":  {150, func(i int) bool { return i > 50 }, true},
	} {
		t.Run(name, parallelBubble(func(t *testing.T) {
			server, client := fake(t)
			refuseEvents(t, server, tt.isBad)
			var rejects []hogapi.Reject
			checkpoint := &memoryCheckpoint{}
			options := history.Options{
				ID: "refused", Checkpoint: checkpoint, Rejects: keepRejects(&rejects), MaxRejectShare: -1, Rate: hogapi.RateUnlimited,
				Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Lanes: 1, MaxBatchEvents: 50}},
			}
			receipt, err := history.Import(t.Context(), client, numbered(tt.n), &options)
			requireBalanced(t, receipt)
			bad := 0
			for i := range tt.n {
				if tt.isBad(i + 1) {
					bad++
				}
			}
			if !tt.stops {
				require.NoError(t, err)
				assert.EqualValues(t, bad, receipt.Rejected)
				assert.EqualValues(t, tt.n-bad, receipt.Acknowledged)
				assert.Empty(t, server.Violations(), "each half is a request of its own")
				return
			}
			stop := stopOf(t, err)
			assert.Equal(t, hogapi.StopRefused, stop.Reason)
			assert.Equal(t, http.StatusBadRequest, stop.Status)
			require.ErrorContains(t, err, "100 different events in a row were refused, each sent alone: the server answered 400: ")
			assert.Less(t, receipt.Rejected, int64(100))
			assert.EqualValues(t, server.Ledger().Unique(), receipt.Acknowledged)

			refuseEvents(t, server, func(int) bool { return false })
			receipt = imported(t, client, numbered(tt.n), &options)
			assert.EqualValues(t, tt.n, receipt.Acknowledged+receipt.Rejected)
			if server.Ledger().Unique() < tt.n {
				assert.Equal(t, tt.n-len(rejects), server.Ledger().Unique(), "only what was handed over is missing")
			}
		}))
	}
}

// A wait that the service asks for and that is longer than the limit stops at once, instead of after the limit.
func TestTooLongRetryAfterStopsAtOnce(t *testing.T) {
	for name, wait := range map[string]time.Duration{"a second over the limit": 901 * time.Second, "a day": 24 * time.Hour, "a century": 876_600 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			server := hogapitest.New()
			server.Script(ops.Capture, hogapitest.Always(hogapitest.RateLimit(fmt.Sprint(int64(wait.Seconds())))))
			begin := time.Now()
			onePerson := altered(numbered(10), func(ev *hogapi.Event) { ev.DistinctID = "ann" }) // and so one request at a time
			_, err := history.Import(t.Context(), server.Client(t), onePerson, &history.Options{ID: "limited"})
			stop := stopOf(t, err)
			assert.Equal(t, hogapi.StopNoProgress, stop.Reason)
			assert.Equal(t, wait, stop.RetryAfter)
			assert.Less(t, time.Since(begin), time.Second, name)
			assert.Len(t, server.Calls(ops.Capture), 1)
		})
	}
}

// One import never mixes two protocols, even if the server changes.
func TestImportKeepsItsProtocol(t *testing.T) {
	t.Parallel()
	checkpoint := &memoryCheckpoint{}
	options := func(p hogapi.Protocol) *history.Options {
		return &history.Options{ID: "keeps", Checkpoint: checkpoint, Delivery: hogapi.DeliveryOptions{Protocol: p}}
	}
	imported(t, hogapitest.New().Client(t), numbered(10), options(hogapi.ProtocolAuto))

	old := hogapitest.New(hogapitest.WithoutV1())
	receipt, err := history.Import(t.Context(), old.Client(t), numbered(20), options(hogapi.ProtocolAuto))
	assert.Equal(t, hogapi.StopNotFound, stopOf(t, err).Reason, "it does not change to /batch/")
	assert.Zero(t, old.Ledger().Len())
	assert.Equal(t, hogapi.ProtocolV1, receipt.Protocol)

	_, err = history.Import(t.Context(), old.Client(t), numbered(20), options(hogapi.ProtocolBatch))
	input := requireInputError(t, err)
	assert.Equal(t, "Delivery.Protocol", input.Field)
	assert.Contains(t, input.Want, `"v1", the protocol that the import began with`)

	newer := hogapitest.New()
	receipt = imported(t, newer.Client(t), numbered(20), options(hogapi.ProtocolAuto))
	assert.EqualValues(t, 20, receipt.Acknowledged)
	assert.Equal(t, 10, newer.Ledger().Len())
	assert.Empty(t, append(old.Calls(ops.Protocol), newer.Calls(ops.Protocol)...), "the checkpoint says it")
}

// A TryEnqueue that would have to wait for the answer takes nothing: only one of the protocols takes a name of 300 bytes.
func TestTryEnqueueBeforeTheProtocolIsKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, client := fake(t)
		server.Script(ops.Protocol, hogapitest.SlowAnswer(time.Second))
		capture := newCapture(t, client, hogapi.CaptureOptions{})
		long := numberedEvent(2)
		long.Name = strings.Repeat("ä", 150)
		require.ErrorIs(t, capture.TryEnqueue(long), hogapi.ErrFull)
		require.NoError(t, capture.TryEnqueue(numberedEvent(1)))
		time.Sleep(2 * time.Second) // virtual
		assert.Equal(t, event.ReasonTooLong, as[*event.Error](t, capture.TryEnqueue(long)).Reason)
		receipt := closed(t, capture)
		assert.EqualValues(t, 1, receipt.Acknowledged)
	})
}

// Bodies are compressed as the options say, for /batch/ with gzip always.
func TestEncoders(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		delivery hogapi.DeliveryOptions
		want     string
	}{
		{hogapi.DeliveryOptions{}, "gzip"},
		{hogapi.DeliveryOptions{Compression: hogapi.CompressionGzip}, "gzip"},
		{hogapi.DeliveryOptions{Compression: hogapi.CompressionZstd}, "zstd"},
		{hogapi.DeliveryOptions{Compression: hogapi.CompressionNone}, ""},
		{hogapi.DeliveryOptions{Compression: hogapi.CompressionZstd, Protocol: hogapi.ProtocolBatch}, "gzip"},
	} {
		var encodings []string
		server := hogapitest.New()
		inner := server.Transport()
		client := server.Client(t, hogapi.WithHTTPClient(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.ContentLength > 300 {
				encodings = append(encodings, r.Header.Get("Content-Encoding"))
			}
			return inner.RoundTrip(r)
		})}))
		test.delivery.Lanes = 1
		receipt := imported(t, client, numbered(500), &history.Options{ID: "encoded", Rate: hogapi.RateUnlimited, Delivery: test.delivery})
		assert.EqualValues(t, 500, receipt.Acknowledged)
		requireWhole(t, server, 500)
		require.NotEmpty(t, encodings)
		for _, e := range encodings {
			assert.Equal(t, test.want, e)
		}
	}
}

// A batch warns when it spans more than a day, an event when it is over a day older than one before it in its batch.
func TestWarningsOfTime(t *testing.T) {
	const size, hour = 3, 3600
	batches := [][size]int{ // seconds after the first event
		{0, 24 * hour, 12 * hour},
		{0, 24*hour + 1, 2 * hour},  // wide
		{48*hour + 1, 0, 24 * hour}, // wide; the second and the third run backwards
		{48 * hour, 24 * hour, 47 * hour},
		{72 * hour, 0, 72 * hour}, // wide; the second runs backwards
		{0, 96 * hour, 90 * hour}, // wide
	}
	source := altered(numbered(size*len(batches)), func(ev *hogapi.Event) {
		i := int(ev.Position.Offset) - 1
		ev.Timestamp = longAgo.Add(time.Duration(batches[i/size][i%size]) * time.Second)
	})
	synctest.Test(t, func(t *testing.T) {
		server, client := fake(t)
		options := history.Options{ID: "times", Checkpoint: &memoryCheckpoint{}, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Lanes: 1, MaxBatchEvents: size}}}
		receipt := imported(t, client, source, &options)
		assert.Len(t, server.Ledger().Requests(), len(batches))
		want := map[hogapi.Warning]int64{event.WarningWideBatch: 4, event.WarningBackwards: 3}
		assert.Equal(t, want, receipt.Warnings)
		again := imported(t, client, source, &options)
		assert.Equal(t, want, again.Warnings, "kept in the checkpoint")
	})
}

// A source without records may come from a failed dump: the import succeeds, with a warning.
func TestSourceWithoutRecordsIsWarnedOf(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]history.Source{
		"an empty file":   history.JSONLines(writeFile(t, "e.jsonl", "")),
		"gzip of nothing": history.JSONLines(writeFile(t, "e.jsonl.gz", zipped(""))),
		"blank lines":     history.JSONLines(writeFile(t, "e.jsonl", "\n\n")),
		"no source":       numbered(0),
	} {
		options := history.Options{ID: "empty", Checkpoint: &memoryCheckpoint{}}
		receipt, err := history.Import(t.Context(), hogapitest.New().Client(t), source, &options)
		require.NoError(t, err, name)
		assert.EqualValues(t, 1, receipt.Warnings[event.WarningNoRecords], name)
		report, err := history.Check(t.Context(), source, &options)
		require.NoError(t, err, name)
		assert.EqualValues(t, 1, report.Warnings[event.WarningNoRecords].Count, name)
		assert.Contains(t, report.String(), "no_records")
	}
	options := history.Options{ID: "done", Checkpoint: &memoryCheckpoint{}}
	for range 2 { // the second run has nothing left, so it does not warn
		receipt := imported(t, hogapitest.New().Client(t), numbered(3), &options)
		assert.Zero(t, receipt.Warnings[event.WarningNoRecords])
	}
}

// preflightTest is one import, with the choice and on the host that it says.
type preflightTest struct {
	client   []hogapi.Option // empty: a host of one's own
	off      bool
	wrongKey bool
	fault    hogapitest.Fault // of the preflight
	want     []hogapi.Op
}

// The import checks the project key before the first event. Only a clear no stops it; any doubt is a warning.
func TestPreflight(t *testing.T) {
	t.Parallel()
	region := func(r hogapi.Region) []hogapi.Option {
		return []hogapi.Option{hogapi.WithBaseURL(""), hogapi.WithCaptureURL(""), hogapi.WithRegion(r)}
	}
	us, eu := region(hogapi.RegionUS), region(hogapi.RegionEU)
	checked := []hogapi.Op{ops.Preflight, ops.Capture}
	refused := []hogapi.Op{ops.Preflight}
	unchecked := []hogapi.Op{ops.Capture}
	tests := map[string]preflightTest{
		"US":                      {client: us, want: checked},
		"US, wrong key":           {client: us, wrongKey: true, want: refused},
		"US, wrong key, Off":      {client: us, wrongKey: true, off: true, want: unchecked},
		"EU":                      {client: eu, want: checked},
		"EU, wrong key":           {client: eu, wrongKey: true, want: refused},
		"EU, Off":                 {client: eu, off: true, want: unchecked},
		"a cloud host by its URL": {client: []hogapi.Option{hogapi.WithCaptureURL("https://eu.i.posthog.com")}, wrongKey: true, want: refused},
		"US, wrong key, slowly":   {client: us, wrongKey: true, fault: hogapitest.Slow(10 * time.Second), want: refused},
		"US, wrong key, but 500":  {client: us, wrongKey: true, fault: hogapitest.Status(500), want: checked},
		"own host":                {want: checked},
		"own host, wrong key":     {wrongKey: true, want: refused},
		"own host, off":           {off: true, want: unchecked},
	}
	for name, fault := range map[string]hogapitest.Fault{
		"400": hogapitest.Status(400), "402": hogapitest.Status(402), "403 of a firewall": hogapitest.HTML(403), "404": hogapitest.Status(404),
		"429": hogapitest.RateLimit("60"), "500": hogapitest.Status(500), "a redirect": redirect("https://elsewhere.example/flags/"),
		"no connection": hogapitest.Refuse(), "a cut": hogapitest.CutBefore(), "a cut answer": hogapitest.CutBody(3),
		"silence": hogapitest.Slow(time.Hour),
	} {
		tests[name] = preflightTest{client: us, fault: fault, want: checked}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test.run) })
	}
}

func (p preflightTest) run(t *testing.T) {
	const n, wrong = 600, "phc_nobody"
	server := hogapitest.New()
	options := slices.Clone(p.client)
	if p.wrongKey {
		options = append(options, hogapi.WithProjectAPIKey(wrong))
	}
	client := server.Client(t, options...)
	server.Script(ops.Preflight, p.fault)
	receipt, err := history.Import(t.Context(), client, numbered(n), &history.Options{ID: "preflight", Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{NoPreflight: p.off}}})
	var met []hogapi.Op
	for _, call := range server.Calls() {
		if call.Op != ops.Protocol {
			met = append(met, call.Op)
		}
	}
	assert.Equal(t, p.want, slices.Compact(met))
	assert.LessOrEqual(t, len(server.Calls(ops.Preflight)), 1)
	if slices.Contains(p.want, ops.Capture) {
		require.NoError(t, err)
		assert.EqualValues(t, n, receipt.Acknowledged)
		unknown := p.fault.String() != "" && !strings.HasPrefix(p.fault.String(), "Slow(10s")
		assert.EqualValues(t, map[bool]int64{true: 1}[unknown], receipt.Warnings[event.WarningKeyUnchecked])
		return
	}
	stop := stopOf(t, err)
	assert.Equal(t, hogapi.StopWrongKey, stop.Reason)
	assert.Equal(t, http.StatusUnauthorized, stop.Status)
	assert.NotContains(t, err.Error(), wrong)
	assert.Equal(t, receipt.Read, receipt.Pending)
}
