package amplitude_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/internal/formattest"
)

// A device of one user is linked to the user, and one of two users to neither.
func TestLinks(t *testing.T) {
	t.Parallel()
	row := func(user, device string) []byte {
		return []byte(`{"event_type":"e","user_id":"` + user + `","device_id":"` + device + `","event_time":"2024-07-01 07:18:37"}`)
	}
	path := formattest.Write(t, [][]byte{
		row("ann", "phone"), row("", "phone"), row("ann", "phone"), row("ann", "shared"), row("ben", "shared"), row("cid", "cid"), row("dan", " "),
	})
	client, server := exampleClient()
	source := hogapi.FileSource(amplitude.Format(nil), path)
	receipt, err := client.Import(t.Context(), hogapi.Concat(formats.Links(source), source), &hogapi.ImportOptions{ID: "links"})
	require.NoError(t, err)
	assert.Equal(t, map[string]int64{formats.SkipSharedDevice: 1}, receipt.Skips)
	for ev := range server.Ledger().Events() {
		if ev.Event == "$identify" {
			assert.Equal(t, "ann", ev.DistinctID)
			assert.Contains(t, string(ev.Properties), `"$anon_distinct_id":"phone"`)
		}
	}
	assert.Equal(t, 1+7, server.Ledger().Unique())
}
