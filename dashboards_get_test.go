package hogapi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDashboardDetail(t *testing.T) {
	client, mock := newTestClient(t)
	get := func(body string) (*DashboardDetail, error) {
		mock.RegisterResponder("GET", testBase+"/dashboards/1/", httpmock.NewStringResponder(200, body))
		return client.Dashboards.Get(t.Context(), 1)
	}
	d, err := get(strings.TrimSuffix(dashboardJSON, "}") + `,
		"filters":{"a":1},"variables":null,"breakdown_colors":[],"data_color_theme_id":3,"persisted_filters":{"b":2},"persisted_variables":null,
		"quick_filter_ids":["` + fileA.String() + `"],"layout_compact_type":"new","tiles":[
			{"id":5,"insight":{"id":9,"result":null},"text":null,"button_tile":null,"widget":null,"layouts":{"sm":{"x":0}},"color":"blue","filters_overrides":{"c":3},
			 "show_description":true,"transparent_background":false,"order":1,"last_refresh":"2024-03-04T00:00:00Z","is_cached":true,"error":{"type":"t","message":"m"}},
			{"id":6,"text":{"id":1,"body":"x"},"layouts":{},"color":null}]}`)
	require.NoError(t, err)
	assert.Equal(t, "n", *d.Name)
	assert.JSONEq(t, `{"a":1}`, string(d.Filters))
	assert.JSONEq(t, `{"b":2}`, string(d.PersistedFilters))
	assert.Equal(t, new(int64(3)), d.DataColorThemeID)
	assert.Equal(t, []uuid.UUID{fileA}, d.QuickFilterIDs)
	assert.Equal(t, []DashboardTile{
		{
			ID: 5, Insight: json.RawMessage(`{"id":9,"result":null}`), Layouts: json.RawMessage(`{"sm":{"x":0}}`), Color: new("blue"), FiltersOverrides: json.RawMessage(`{"c":3}`),
			ShowDescription: new(true), TransparentBackground: new(false), Order: new(int64(1)), LastRefresh: new(time.Date(2024, 3, 4, 0, 0, 0, 0, time.UTC)),
			IsCached: new(true), Error: &DashboardTileError{"t", "m"},
		},
		{ID: 6, Text: json.RawMessage(`{"id":1,"body":"x"}`), Layouts: json.RawMessage(`{}`)},
	}, d.Tiles)

	d, err = get(strings.Replace(nullDashboardJSON, `"id":2`, `"id":1`, 1)) // an old server
	require.NoError(t, err)
	assert.Nil(t, d.Tiles)
	for _, body := range []string{`{}`, `null`, strings.TrimSuffix(dashboardJSON, "}") + `,"tiles":[{}]}`} {
		_, err = get(body)
		var undecoded *DecodeError
		require.ErrorAs(t, err, &undecoded, body)
	}
	for _, id := range []int64{0, -1} {
		_, err = client.Dashboards.Get(t.Context(), id)
		requireInputError(t, err, "{id}")
	}
}
