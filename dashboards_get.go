package hogapi

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/ops"
)

// DashboardDetail is one dashboard with its tiles. Fields marked "newer" stay empty on servers that
// do not have them.
type DashboardDetail struct {
	Dashboard

	Filters            json.RawMessage `json:"filters"`                      // an object
	Variables          json.RawMessage `json:"variables,omitzero"`           // newer; an object or null
	BreakdownColors    json.RawMessage `json:"breakdown_colors,omitzero"`    // newer
	DataColorThemeID   *int64          `json:"data_color_theme_id,omitzero"` // newer
	PersistedFilters   json.RawMessage `json:"persisted_filters,omitzero"`   // newer; an object or null
	PersistedVariables json.RawMessage `json:"persisted_variables,omitzero"` // newer; an object or null
	QuickFilterIDs     []uuid.UUID     `json:"quick_filter_ids,omitzero"`    // newer
	Tiles              []DashboardTile `json:"tiles"`                        // nil if the service hides them
}

func (d *DashboardDetail) complete() error {
	if err := d.Dashboard.complete(); err != nil {
		return err
	}
	return allComplete(d.Tiles)
}

// DashboardTile is one tile: exactly one of Insight, Text, ButtonTile and Widget is set. Those are the
// service's own JSON, which is large and differs between servers; null is nil here.
type DashboardTile struct {
	ID         int64           `json:"id"`
	Insight    json.RawMessage `json:"insight,omitzero"` // its result is null unless the service has it in its cache
	Text       json.RawMessage `json:"text,omitzero"`
	ButtonTile json.RawMessage `json:"button_tile,omitzero"` // newer
	Widget     json.RawMessage `json:"widget,omitzero"`      // newer

	Layouts               json.RawMessage     `json:"layouts"` // an object; may be empty
	Color                 *string             `json:"color"`
	FiltersOverrides      json.RawMessage     `json:"filters_overrides,omitzero"`      // newer; an object or null
	ShowDescription       *bool               `json:"show_description,omitzero"`       // newer
	TransparentBackground *bool               `json:"transparent_background,omitzero"` // newer
	Order                 *int64              `json:"order,omitzero"`                  // newer
	LastRefresh           *time.Time          `json:"last_refresh,omitzero"`
	IsCached              *bool               `json:"is_cached,omitzero"`
	Error                 *DashboardTileError `json:"error,omitzero"` // the insight's query cannot be parsed
}

func (t *DashboardTile) complete() error {
	for _, content := range []*json.RawMessage{&t.Insight, &t.Text, &t.ButtonTile, &t.Widget} {
		if string(*content) == "null" {
			*content = nil
		}
	}
	return hasID(t.ID)
}

// DashboardTileError is why a tile has no result.
type DashboardTileError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// Get returns one dashboard with its tiles, also an unlisted one. The service notes the time as its
// last access. CreationMode and the other options of List have no place here: as a query they would
// hide the dashboard.
//
// GET /dashboards/{id}/, scope dashboard:read.
func (s *DashboardsService) Get(ctx context.Context, id int64, options ...CallOption) (*DashboardDetail, error) {
	isAsked := func(d *DashboardDetail) error { return isAskedFor("id", d.ID, id) }
	return fetchMatching(ctx, s.client, endpointByNumber(ops.DashboardsGet, id), options, isAsked)
}
