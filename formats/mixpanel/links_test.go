package mixpanel_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/mixpanel"
)

// A visitor before the login is joined to the user, in either form of its id.
func TestLinks(t *testing.T) {
	t.Parallel()
	for want, options := range map[string]*mixpanel.Options{"18f0c2a1-77aa": nil, "$device:18f0c2a1-77aa": {DevicePrefix: true}} {
		client, server := exampleClient()
		source := hogapi.FileSource(mixpanel.Format(options), "testdata/orders.jsonl")
		receipt, err := client.Import(t.Context(), hogapi.Concat(formats.Links(source), source), &hogapi.ImportOptions{ID: "links"})
		require.NoError(t, err)
		assert.EqualValues(t, 5, receipt.Acknowledged)
		var anonymous []string
		for ev := range server.Ledger().Events() {
			if ev.Event != "$identify" {
				continue
			}
			var p struct {
				ID string `json:"$anon_distinct_id"`
			}
			require.NoError(t, json.Unmarshal(ev.Properties, &p))
			assert.Equal(t, "u-4711", ev.DistinctID)
			anonymous = append(anonymous, p.ID)
		}
		assert.Equal(t, []string{want}, anonymous)
	}
}
