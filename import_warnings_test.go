package hogapi_test

import (
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
		options := hogapi.ImportOptions{ID: "times", Checkpoint: &memoryCheckpoint{}, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Lanes: 1, MaxBatchEvents: size}}}
		receipt := imported(t, client, source, &options)
		assert.Len(t, server.Ledger().Requests(), len(batches))
		want := map[hogapi.Warning]int64{warnings.WideBatch: 4, warnings.Backwards: 3}
		assert.Equal(t, want, receipt.Warnings)
		again := imported(t, client, source, &options)
		assert.Equal(t, want, again.Warnings, "kept in the checkpoint")
	})
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
