package hogapi_test

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
	"github.com/hogapi/hogapi/warnings"
)

// A batch warns when it spans more than a day, an event when it is more than a day older than one before it in its batch. A day
// to the second warns of nothing.
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
	events := func(_ context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			for i := int(after.Offset); i < size*len(batches); i++ {
				ev := numberedEvent(i + 1)
				ev.Timestamp = longAgo.Add(time.Duration(batches[i/size][i%size]) * time.Second)
				if !yield(ev, nil) {
					return
				}
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		server, client := fake(t)
		options := hogapi.ImportOptions{ID: "times", Checkpoint: &memoryCheckpoint{}, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Lanes: 1, MaxBatchEvents: size}}}
		receipt := imported(t, client, hogapi.SourceFunc("times", events), &options)
		assert.Len(t, server.Ledger().Requests(), len(batches))
		want := map[hogapi.Warning]int64{warnings.WideBatch: 4, warnings.Backwards: 3}
		assert.Equal(t, want, receipt.Warnings)
		again := imported(t, client, hogapi.SourceFunc("times", events), &options)
		assert.Equal(t, want, again.Warnings, "kept in the checkpoint")
	})
}

// A receipt counts each warning once for each event, however often the import was stopped.
func TestWarningsAfterStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 400
		_, client := fake(t)
		checkpoint := &memoryCheckpoint{}
		var receipt hogapi.Receipt
		for stop := int64(50); stop <= n; stop += 50 {
			ctx, cancel := context.WithCancel(t.Context())
			var err error
			receipt, err = client.Import(ctx, altered(numbered(n), func(ev *hogapi.Event) {
				ev.DistinctID, ev.Name = "null", "$group_identify"
				if ev.Position.Offset%2 == 0 {
					ev.Timestamp = ev.Timestamp.Add(-72 * time.Hour)
				}
				if ev.Position.Offset == stop && stop < n {
					cancel()
				}
			}), &hogapi.ImportOptions{ID: "warnings", Checkpoint: checkpoint, Rate: 100, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Lanes: 1, MaxInFlight: 30}}})
			cancel()
			assert.Equal(t, stop < n, err != nil)
			requireBalanced(t, receipt)
		}
		assert.EqualValues(t, n, receipt.Acknowledged)
		assert.EqualValues(t, n, receipt.Warnings[warnings.SuspectID])
		assert.EqualValues(t, n, receipt.Warnings[warnings.GroupIdentify])
		assert.Positive(t, receipt.Warnings[warnings.Backwards])
		assert.LessOrEqual(t, receipt.Warnings[warnings.Backwards], int64(n/2))
		assert.Equal(t, receipt.Warnings, savedReceipt(t, checkpoint.State).Warnings)
	})
}

// The receipt and the checkpoint count the gate's warnings, of any number of kinds. An import over /batch/ does not warn of events that
// only capture v1 drops or changes.
func TestReceiptCountsWhatTheGateWarnsOf(t *testing.T) {
	t.Parallel()
	source := altered(numbered(4), func(ev *hogapi.Event) {
		switch ev.Position.Offset {
		case 1:
			ev.Name, ev.Set = "$exception", map[string]any{"plan": "pro"}
		case 2:
			ev.Properties = map[string]any{"$heatmap_data": 1, "$unset": []string{"plan"}}
		case 3:
			ev.DistinctID, ev.Properties = strings.Repeat("é", 150), map[string]any{"$lib": "web"}
		}
	})
	for without, heatmap := range map[bool]hogapi.Warning{false: warnings.Heatmap, true: warnings.HeatmapStrip} {
		server, checkpoint := hogapitest.New(), &memoryCheckpoint{}
		gate := hogapi.GateOptions{NoHeatmaps: without}
		receipt := imported(t, server.Client(t), source, &hogapi.ImportOptions{ID: "gate", Checkpoint: checkpoint, Gate: gate, Delivery: hogapi.DeliveryOptions{Protocol: hogapi.ProtocolBatch}})
		assert.EqualValues(t, 4, receipt.Acknowledged)
		assert.Equal(t, map[hogapi.Warning]int64{warnings.Exception: 1, warnings.SetIgnored: 1, heatmap: 1, warnings.Unset: 1}, receipt.Warnings)
		assert.Equal(t, receipt.Warnings, savedReceipt(t, checkpoint.State).Warnings)
		assert.Contains(t, receipt.String(), "warning, unset: 1 ("+warnings.Unset.Advice()+")")
		for ev := range server.Ledger().Events() {
			assert.Equal(t, !without && strings.Contains(string(ev.Properties), "$unset"), strings.Contains(string(ev.Properties), "$heatmap_data"))
		}
	}
}

// A source without records may come from a failed dump: the import succeeds, with a warning.
func TestSourceWithoutRecordsIsWarnedOf(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]hogapi.Source{
		"an empty file":   hogapi.JSONLinesFile(writeFile(t, "e.jsonl", "")),
		"gzip of nothing": hogapi.JSONLinesFile(writeFile(t, "e.jsonl.gz", zipped(""))),
		"blank lines":     hogapi.JSONLinesFile(writeFile(t, "e.jsonl", "\n\n")),
		"no source":       numbered(0),
	} {
		options := hogapi.ImportOptions{ID: "empty", Checkpoint: &memoryCheckpoint{}}
		receipt, err := hogapitest.New().Client(t).Import(t.Context(), source, &options)
		require.NoError(t, err, name)
		assert.EqualValues(t, 1, receipt.Warnings[warnings.NoRecords], name)
		report, err := hogapi.Check(t.Context(), source, &options)
		require.NoError(t, err, name)
		assert.EqualValues(t, 1, report.Warnings[warnings.NoRecords].Count, name)
		assert.Contains(t, report.String(), "no_records")
	}
	options := hogapi.ImportOptions{ID: "done", Checkpoint: &memoryCheckpoint{}}
	for range 2 { // the second run has nothing left, so it does not warn
		receipt := imported(t, hogapitest.New().Client(t), numbered(3), &options)
		assert.Zero(t, receipt.Warnings[warnings.NoRecords])
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

// The capture endpoint takes events for a key that nobody has, and drops them silently. So the import checks the key on every host before
// the first event, unless that is turned off. Only a clear no stops the import. If it cannot know, it warns once.
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
	receipt, err := client.Import(t.Context(), numbered(n), &hogapi.ImportOptions{ID: "preflight", Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{NoPreflight: p.off}}})
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
		assert.EqualValues(t, map[bool]int64{true: 1}[unknown], receipt.Warnings[warnings.KeyUnchecked])
		return
	}
	stop := stopOf(t, err)
	assert.Equal(t, hogapi.StopWrongKey, stop.Reason)
	assert.Equal(t, http.StatusUnauthorized, stop.Status)
	assert.NotContains(t, err.Error(), wrong)
	assert.Equal(t, receipt.Read, receipt.Pending)
}

// If the key could not be checked, the import logs it once, for any number of events, and the receipts of later runs hold it too.
func TestPreflightSaysOnceWhatItCannotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		server.Script(ops.Preflight, hogapitest.Status(404))
		log := &lockedBuffer{}
		client := server.Client(t, hogapi.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
		checkpoint := &memoryCheckpoint{}
		for range 2 { // the second time it is known
			receipt := imported(t, client, numbered(600), &hogapi.ImportOptions{ID: "once", Checkpoint: checkpoint, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxBatchEvents: 10}}})
			assert.EqualValues(t, 1, receipt.Warnings[warnings.KeyUnchecked])
			assert.Contains(t, receipt.String(), "warning, key_not_checked: 1")
		}
		assert.Equal(t, 1, strings.Count(log.String(), "the project key could not be checked"))
		assert.Contains(t, log.String(), "status=404")
	})
}
