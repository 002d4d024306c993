package hogapi_test

import (
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

// preflightTest is one import, with the choice and on the host that it says.
type preflightTest struct {
	client   []hogapi.Option // none: a host of one's own
	off      bool
	wrongKey bool
	fault    hogapitest.Fault // of the preflight
	want     []hogapi.Op
}

// The capture endpoint takes events for a key that nobody has, and drops them silently: on every host the key is checked before the
// first event, unless that is turned off. Only a clear no stops, and what cannot be known is said once.
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
	receipt, err := client.Import(t.Context(), numbered(n), &hogapi.ImportOptions{ID: "preflight", Delivery: hogapi.DeliveryOptions{NoPreflight: p.off}})
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
	var stop *hogapi.StopError
	require.ErrorAs(t, err, &stop)
	assert.Equal(t, hogapi.StopWrongKey, stop.Reason)
	assert.Equal(t, http.StatusUnauthorized, stop.Status)
	assert.NotContains(t, err.Error(), wrong)
	assert.Equal(t, receipt.Read, receipt.Pending)
}

// That the key could not be checked is logged once, whatever the import sends, and stands in the receipt of later runs too.
func TestPreflightSaysOnceWhatItCannotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		server.Script(ops.Preflight, hogapitest.Status(404))
		log := &lockedBuffer{}
		client := server.Client(t, hogapi.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
		checkpoint := &memoryCheckpoint{}
		for range 2 { // the second time it is known
			receipt, err := client.Import(t.Context(), numbered(600), &hogapi.ImportOptions{ID: "once", Checkpoint: checkpoint, Delivery: hogapi.DeliveryOptions{MaxBatchEvents: 10}})
			require.NoError(t, err)
			assert.EqualValues(t, 1, receipt.Warnings[warnings.KeyUnchecked])
			assert.Contains(t, receipt.String(), "warning, key_not_checked: 1")
		}
		assert.Equal(t, 1, strings.Count(log.String(), "the project key could not be checked"))
		assert.Contains(t, log.String(), "status=404")
	})
}
