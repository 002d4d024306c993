package peer_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/testevents"
)

func TestDashboards(t *testing.T) {
	s, c, ctx := begin(t, reader)

	page := must(c.Dashboards.List(ctx, nil))(t)
	c.read(t, page)
	require.Len(t, page.Results, 3, "without the unlisted and the deleted one")
	require.Equal(t, "Website", *page.Results[0].Name)
	assert.Nil(t, page.Results[0].CreatedBy.DistinctID)

	for name, o := range map[string]hogapi.DashboardListOptions{
		"Hidden":    {CreationMode: hogapi.CreationModeUnlisted},
		"Website":   {Search: "web", Tags: []string{"team", "other"}},
		"Generated": {Search: "GENERATED"},
	} {
		page := must(c.Dashboards.List(ctx, &o))(t)
		c.read(t, page)
		require.Len(t, page.Results, 1, name)
		assert.Equal(t, name, *page.Results[0].Name)
	}
	page = must(c.Dashboards.List(ctx, &hogapi.DashboardListOptions{Folder: hogapi.Set("Unfiled/Dashboards"), ExcludeGenerated: true}))(t)
	require.Len(t, page.Results, 1)
	assert.Nil(t, page.Results[0].Name)

	one := &hogapi.DashboardListOptions{ListOptions: hogapi.ListOptions{Limit: 1}}
	require.Len(t, testevents.Walked(t, c.Dashboards.All(ctx, one)), 3)

	d := must(c.Dashboards.Get(ctx, page.Results[0].ID-1))(t)
	c.read(t, d, "layout_compact_type")
	require.Len(t, d.Tiles, 4)
	assert.Contains(t, string(d.Tiles[0].Insight), "9007199254740993", "a large number is kept")
	assert.Nil(t, d.Tiles[1].Insight)
	assert.NotNil(t, d.Tiles[2].ButtonTile)
	assert.Equal(t, "ValidationError", d.Tiles[3].Error.Type)
	assert.NotNil(t, d.LastAccessedAt)

	hidden := must(c.Dashboards.Get(ctx, 4))(t)
	assert.Equal(t, hogapi.CreationModeUnlisted, hidden.CreationMode)

	refused(c.Dashboards.Get(ctx, 5))(t, hogapi.ErrNotFound, 404, "Not found.")
	_, err := c.Dashboards.List(ctx, &hogapi.DashboardListOptions{Search: strings.Repeat("x", 201)})
	require.ErrorIs(t, err, hogapi.ErrInvalid)
	refused(s.client(t, none).Dashboards.Get(ctx, 1))(t, hogapi.ErrForbidden, 403, "dashboard:read")
	refused(s.client(t, writer).Dashboards.List(ctx, nil))(t, hogapi.ErrForbidden, 403, "dashboard:read")
	refusal(t, c.Do(ctx, hogapi.Request{Method: http.MethodDelete, Path: "/dashboards/1/"}, nil), hogapi.ErrUnsupported, 405, "not allowed")
}

func TestIngestionWarnings(t *testing.T) {
	s, c, ctx := begin(t, reader)

	all := must(c.IngestionWarnings.List(ctx, nil))(t)
	c.read(t, all)
	require.Len(t, all, 4, "of all the time that the service keeps, not only of its last 24 hours")
	require.Len(t, all[0].Samples, 5)
	assert.Contains(t, string(all[0].Samples[0].Details), "9007199254740993")

	for _, o := range []hogapi.IngestionWarningListOptions{
		{Type: "event_dropped_too_old"},
		{Category: "event", Samples: 1},
		{Severity: hogapi.WarningSeverityInfo, Ordering: hogapi.WarningsByLastSeen},
		{Search: "dropped", Since: time.Now().Add(-24 * time.Hour), Until: time.Now()},
		{Since: time.Now().Add(-150 * time.Minute), Until: time.Now().Add(-90 * time.Minute), Samples: 50},
	} {
		some := must(c.IngestionWarnings.List(ctx, &o))(t)
		c.read(t, some)
		require.Len(t, some, 1)
		assert.Equal(t, "event_dropped_too_old", some[0].Type)
	}
	none1 := must(c.IngestionWarnings.List(ctx, &hogapi.IngestionWarningListOptions{Category: "load"}))(t)
	require.Empty(t, none1)

	last := must(c.IngestionWarnings.List(ctx, &hogapi.IngestionWarningListOptions{Ordering: hogapi.WarningsByLastSeen}))(t)
	assert.Equal(t, "cannot_merge_already_identified", last[0].Type)

	_, err := c.IngestionWarnings.List(ctx, &hogapi.IngestionWarningListOptions{Since: time.Now().Add(time.Hour)})
	require.ErrorIs(t, err, hogapi.ErrInvalid)
	refused(s.client(t, none).IngestionWarnings.List(ctx, nil))(t, hogapi.ErrForbidden, 403, "ingestion_warning:read")
}

func TestAccess(t *testing.T) {
	s := start(t)
	ctx := t.Context()

	refused(s.client(t, "phx_unknown").Dashboards.List(ctx, nil))(t, hogapi.ErrUnauthorized, 401, "invalid")
	c := s.client(t, admin)
	refused(c.ForProject("2").Dashboards.List(ctx, nil))(t, hogapi.ErrForbidden, 403, "access")
	refused(c.ForProject("9").Dashboards.List(ctx, nil))(t, hogapi.ErrNotFound, 404, "Project not found.")

	_, err1 := c.AppMetrics.Get(ctx, "1", nil)
	_, err2 := c.AppMetrics.ErrorDetails(ctx, "1", "AnyError", nil)
	_, err3 := c.AppMetrics.HistoricalExports(ctx, "1")
	_, err4 := c.AppMetrics.HistoricalExport(ctx, "1", "job")
	for _, err := range []error{err1, err2, err3, err4} {
		refusal(t, err, hogapi.ErrUnsupported, 404, "Endpoint not found.")
		require.NotErrorIs(t, err, hogapi.ErrNotFound)
	}
	var answer *hogapi.APIError
	require.ErrorAs(t, err1, &answer)
	require.Contains(t, answer.Alternative, "Runs.Counts")

	old := s.client(t, admin, hogapi.WithAPIPath("/api/environments"))
	one := &hogapi.DashboardListOptions{ListOptions: hogapi.ListOptions{Limit: 1}}
	page := must(old.Dashboards.List(ctx, one))(t)
	require.Equal(t, `</api/projects/1/dashboards/>; rel="successor-version"`, old.wire.header.Get("Link"))
	require.Contains(t, *page.Next, "/api/projects/1/")
	require.Len(t, testevents.Walked(t, old.Dashboards.All(ctx, one)), 3)
}
