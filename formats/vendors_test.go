package formats_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/generic"
	"github.com/hogapi/hogapi/formats/internal/formattest"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/hogapitest"
)

// The limit is 1.5 times the time of json.Unmarshal into a map; most formats take half of it.
func BenchmarkConvert(b *testing.B) {
	table, err := generic.Format(&generic.Options{Map: []string{
		"event=event_type", "person=device_id", "time=event_time", "$set_once.plan=plan", "price=price|number",
	}, Zone: time.UTC})
	require.NoError(b, err)
	zone, err := time.LoadLocation("America/New_York")
	require.NoError(b, err)
	run := func(name, folder string, format hogapi.Format) {
		records := formattest.Lines(b, filepath.Join(folder, "testdata", "export.jsonl"))
		b.Run(name, func(b *testing.B) { formattest.Benchmark(b, format, records) })
	}
	for name, format := range vendorFormats {
		run(name, name, format())
	}
	run("generic", "amplitude", table)
	run("mixpanel in local time", "mixpanel", mixpanel.Format(&mixpanel.Options{Zone: zone}))
}

// A visitor before the login is joined to the user, and a device of two users to neither.
func TestLinksOfVendors(t *testing.T) {
	t.Parallel()
	row := func(user, device string) []byte {
		return []byte(`{"event_type":"e","user_id":"` + user + `","device_id":"` + device + `","event_time":"2024-07-01 07:18:37"}`)
	}
	devices := formattest.Write(t, [][]byte{
		row("ann", "phone"), row("", "phone"), row("ann", "phone"), row("ann", "shared"), row("ben", "shared"), row("cid", "cid"), row("dan", " "),
	})
	const orders = "mixpanel/testdata/orders.jsonl"
	for name, c := range map[string]struct {
		format               hogapi.Format
		path, user, device   string
		acknowledged, shared int64
	}{
		"amplitude":       {amplitude.Format(nil), devices, "ann", "phone", 8, 1},
		"mixpanel":        {mixpanel.Format(nil), orders, "u-4711", "18f0c2a1-77aa", 5, 0},
		"mixpanel prefix": {mixpanel.Format(&mixpanel.Options{DevicePrefix: true}), orders, "u-4711", "$device:18f0c2a1-77aa", 5, 0},
	} {
		server := hogapitest.New()
		source := hogapi.FileSource(c.format, c.path)
		receipt, err := server.Client(t).Import(t.Context(), hogapi.Concat(formats.Links(source), source), &hogapi.ImportOptions{ID: "links"})
		require.NoError(t, err, name)
		assert.Equal(t, c.acknowledged, receipt.Acknowledged, name)
		assert.Equal(t, c.shared, receipt.Skips[formats.SkipSharedDevice], name)
		links := 0
		for ev := range server.Ledger().Events() {
			if ev.Event == "$identify" {
				links++
				assert.Equal(t, c.user, ev.DistinctID, name)
				assert.Contains(t, string(ev.Properties), `"$anon_distinct_id":"`+c.device+`"`, name)
			}
		}
		assert.Equal(t, 1, links, name)
	}
}
