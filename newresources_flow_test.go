package hogapi_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

func TestOneDashboardOnEachServer(t *testing.T) {
	for _, era := range []hogapitest.Era{hogapitest.E1, hogapitest.E2, hogapitest.E3, hogapitest.E4} {
		t.Run(era.String(), func(t *testing.T) {
			server := hogapitest.New(hogapitest.WithEra(era))
			project := server.Project(hogapitest.DefaultProject)
			id := project.AddDashboard(hogapitest.Dashboard{Name: "Growth", Tiles: []map[string]any{{"insight": map[string]any{"id": 1}}, {}}})
			hidden := project.AddDashboard(hogapitest.Dashboard{Name: "Hidden", Mode: hogapi.CreationModeUnlisted})
			gone := project.AddDashboard(hogapitest.Dashboard{Deleted: true})
			client, ctx := server.Client(t), t.Context()
			d, err := client.Dashboards.Get(ctx, int64(id))
			require.NoError(t, err)
			assert.Equal(t, "Growth", *d.Name)
			require.Len(t, d.Tiles, 2)
			assert.JSONEq(t, `{"id":1}`, string(d.Tiles[0].Insight))
			assert.Nil(t, d.Tiles[0].Text)
			assert.NotNil(t, d.Tiles[1].Text)
			d, err = client.Dashboards.Get(ctx, int64(hidden))
			require.NoError(t, err)
			assert.Equal(t, hogapi.CreationModeUnlisted, d.CreationMode)
			for _, missing := range []int{gone, 77} {
				_, err = client.Dashboards.Get(ctx, int64(missing))
				require.ErrorIs(t, err, hogapi.ErrNotFound)
			}
			page, err := client.Dashboards.List(ctx, nil)
			require.NoError(t, err)
			assert.Equal(t, era < hogapitest.E4, page.Count == 2, "the newest leaves out unlisted ones")
			page, err = client.Dashboards.List(ctx, &hogapi.DashboardListOptions{CreationMode: hogapi.CreationModeUnlisted})
			require.NoError(t, err)
			require.Len(t, page.Results, 1)
			assert.EqualValues(t, hidden, page.Results[0].ID)
		})
	}
}

func TestIngestionWarningsOfAProject(t *testing.T) {
	server := hogapitest.New(hogapitest.WithEra(hogapitest.E4))
	project := server.Project(hogapitest.DefaultProject)
	now := time.Now()
	for _, age := range []time.Duration{time.Hour, 50 * time.Hour, 51 * time.Hour, 100 * 24 * time.Hour} {
		project.AddWarning(hogapitest.Warning{Type: "invalid_event_uuid", Category: "event", Severity: "error", Raised: now.Add(-age), Details: map[string]any{"n": age.String()}})
	}
	project.AddWarning(hogapitest.Warning{Type: "cannot_merge_already_identified", Category: "merge", Extra: map[string]any{"distinct_id": "ann"}})
	client := server.Client(t)
	warnings, err := client.IngestionWarnings.List(t.Context(), &hogapi.IngestionWarningListOptions{Samples: 2})
	require.NoError(t, err)
	require.Len(t, warnings, 2)
	assert.Equal(t, "invalid_event_uuid", warnings[0].Type)
	assert.EqualValues(t, 3, warnings[0].Count, "those of 90 days")
	assert.Len(t, warnings[0].Samples, 2)
	assert.Equal(t, "ann", *warnings[1].Samples[0].DistinctID)
	warnings, err = client.IngestionWarnings.List(t.Context(), &hogapi.IngestionWarningListOptions{Severity: hogapi.WarningSeverityError, Since: now.Add(-2 * time.Hour), Search: "invalid"})
	require.NoError(t, err)
	require.Len(t, warnings, 1)
	assert.EqualValues(t, 1, warnings[0].Count)
}
