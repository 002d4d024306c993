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

const (
	dashboardJSON = `{"id":1,"name":"n","description":"d","pinned":true,"created_at":"2024-03-01T00:00:00Z",
		"created_by":{"id":2,"uuid":"0190e0a2-0000-7000-8000-000000000001","distinct_id":"x","first_name":"F","last_name":"L","email":"e@x","is_email_verified":true,"hedgehog_config":{"color":"red"},"role_at_organization":"engineering"},
		"is_shared":true,"deleted":false,"creation_mode":"template","tags":["a","b"],"restriction_level":21,"effective_restriction_level":37,"effective_privilege_level":37,"user_access_level":"editor",
		"team_id":7,"last_accessed_at":"2024-03-02T00:00:00Z","last_viewed_at":"2024-03-03T00:00:00Z","last_refresh":null,"folder":"f","access_control_version":"v2","search_match_type":"exact"}`
	nullDashboardJSON = `{"id":2,"name":null,"description":"","pinned":false,"created_at":"2024-03-01T00:00:00Z","created_by":null,"is_shared":false,"deleted":false,"creation_mode":"dreamt","tags":null,
		"restriction_level":99,"effective_restriction_level":99,"effective_privilege_level":99,"user_access_level":null,"new":{"deep":1}}`
	nullUserJSON = `{"id":2,"uuid":"0190e0a2-0000-7000-8000-000000000001","distinct_id":null,"first_name":"","last_name":"","email":"e@x","is_email_verified":null,"hedgehog_config":null,"role_at_organization":null}`
)

func TestDashboardFields(t *testing.T) {
	var d Dashboard
	require.NoError(t, json.Unmarshal([]byte(dashboardJSON), &d))
	at := func(day int) *time.Time { return new(time.Date(2024, 3, day, 0, 0, 0, 0, time.UTC)) }
	assert.Equal(t, Dashboard{
		ID: 1, Name: new("n"), Description: "d", Pinned: true, CreatedAt: *at(1), IsShared: true, CreationMode: CreationModeTemplate, Tags: []string{"a", "b"},
		CreatedBy: &User{
			ID: 2, UUID: uuid.MustParse("0190e0a2-0000-7000-8000-000000000001"), DistinctID: new("x"), FirstName: "F", LastName: "L", Email: "e@x",
			IsEmailVerified: new(true), HedgehogConfig: json.RawMessage(`{"color":"red"}`), RoleAtOrganization: new("engineering"),
		},
		RestrictionLevel: RestrictionEveryoneCanEdit, EffectiveRestrictionLevel: RestrictionOnlyCollaboratorsCanEdit, EffectivePrivilegeLevel: PrivilegeCanEdit, UserAccessLevel: new(AccessEditor),
		TeamID: new(int64(7)), LastAccessedAt: at(2), LastViewedAt: at(3), Folder: new("f"), AccessControlVersion: new("v2"), SearchMatchType: new("exact"),
	}, d)

	d = Dashboard{}
	require.NoError(t, json.Unmarshal([]byte(nullDashboardJSON), &d))
	assert.Equal(t, Dashboard{
		ID: 2, CreatedAt: *at(1), CreationMode: "dreamt", RestrictionLevel: 99, EffectiveRestrictionLevel: 99, EffectivePrivilegeLevel: 99,
	}, d)

	var u User
	require.NoError(t, json.Unmarshal([]byte(nullUserJSON), &u))
	assert.Equal(t, User{ID: 2, UUID: uuid.MustParse("0190e0a2-0000-7000-8000-000000000001"), Email: "e@x", HedgehogConfig: json.RawMessage("null")}, u)
	again, err := json.Marshal(u)
	require.NoError(t, err)
	assert.JSONEq(t, nullUserJSON, string(again))
}

func TestDashboardListsKeepTheirQueryOnEveryPage(t *testing.T) {
	client, mock := newTestClient(t)
	query := "?creation_mode=template&exclude_generated=true&folder=a%2Fb&limit=1&search=s&tags=x&tags=y"
	mock.RegisterResponder("GET", testBase+"/dashboards/"+query, httpmock.NewStringResponder(200, `{"count":2,"next":"https://x/?limit=1&offset=1","previous":null,"results":[`+dashboardJSON+`]}`))
	mock.RegisterResponder("GET", testBase+"/dashboards/"+strings.Replace(query, "&search", "&offset=1&search", 1), httpmock.NewStringResponder(200, `{"count":2,"next":null,"previous":null,"results":[`+nullDashboardJSON+`]}`))
	o := &DashboardListOptions{
		ListOptions: ListOptions{Limit: 1}, Search: "s", Tags: []string{"x", "y"}, Folder: Set("a/b"), ExcludeGenerated: true, CreationMode: CreationModeTemplate,
	}
	page, err := client.Dashboards.List(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, 2, page.Count)
	pages, all := walked(t, client.Dashboards.Pages(t.Context(), o)), walked(t, client.Dashboards.All(t.Context(), o))
	require.Len(t, pages, 2)
	require.Len(t, all, 2)
	assert.Equal(t, []int64{1, 2, 1, 2}, []int64{pages[0].Results[0].ID, pages[1].Results[0].ID, all[0].ID, all[1].ID})
}

func TestDashboardListsRefuseBadInput(t *testing.T) {
	client, mock := newTestClient(t)
	for field, o := range map[string]*DashboardListOptions{
		"Offset":       {ListOptions: ListOptions{Offset: -1}},
		"CreationMode": {CreationMode: "Template"},
		"Search":       {Search: strings.Repeat("ä", 201)},
	} {
		_, err := client.Dashboards.List(t.Context(), o)
		requireInputError(t, err, field)
		for _, err := range client.Dashboards.Pages(t.Context(), o) {
			requireInputError(t, err, field)
		}
		for _, err := range client.Dashboards.All(t.Context(), o) {
			requireInputError(t, err, field)
		}
	}
	assert.Zero(t, mock.GetTotalCallCount())
}

func TestDashboardDetail(t *testing.T) {
	client, mock := newTestClient(t)
	get := func(body string) (*DashboardDetail, error) {
		mock.RegisterResponder("GET", testBase+"/dashboards/1/", httpmock.NewStringResponder(200, body))
		return client.Dashboards.Get(t.Context(), 1)
	}
	d, err := get(strings.TrimSuffix(dashboardJSON, "}") + `,
		"filters":{"a":1},"variables":null,"breakdown_colors":[],"data_color_theme_id":3,"persisted_filters":{"b":2},"persisted_variables":null,
		"quick_filter_ids":["` + fileA.String() + `","no uuid"],"layout_compact_type":"new","tiles":[
			{"id":5,"insight":{"id":9,"result":null},"text":null,"button_tile":null,"widget":null,"layouts":{"sm":{"x":0}},"color":"blue","filters_overrides":{"c":3},
			 "show_description":true,"transparent_background":false,"order":1,"last_refresh":"2024-03-04T00:00:00Z","is_cached":true,"error":{"type":"t","message":"m"}},
			{"id":6,"text":{"id":1,"body":"x"},"layouts":{},"color":null}]}`)
	require.NoError(t, err)
	assert.Equal(t, "n", *d.Name)
	assert.JSONEq(t, `{"a":1}`, string(d.Filters))
	assert.JSONEq(t, `{"b":2}`, string(d.PersistedFilters))
	assert.Equal(t, new(int64(3)), d.DataColorThemeID)
	assert.Equal(t, []string{fileA.String(), "no uuid"}, d.QuickFilterIDs)
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
		require.ErrorAs(t, err, new(*DecodeError), body)
	}
	_, err = client.Dashboards.Get(t.Context(), -1)
	requireInputError(t, err, "{id}")
}
