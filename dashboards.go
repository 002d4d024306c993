package hogapi

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// Dashboard is one row of the list of dashboards. Fields marked "newer" stay empty on servers that
// do not have them.
type Dashboard struct {
	ID           int64        `json:"id"`
	Name         *string      `json:"name"`
	Description  string       `json:"description"`
	Pinned       bool         `json:"pinned"`
	CreatedAt    time.Time    `json:"created_at"`
	CreatedBy    *User        `json:"created_by"`
	IsShared     bool         `json:"is_shared"`
	Deleted      bool         `json:"deleted"`
	CreationMode CreationMode `json:"creation_mode"`
	Tags         []string     `json:"tags"`

	// The rights of the user of the key.
	RestrictionLevel          RestrictionLevel `json:"restriction_level"`
	EffectiveRestrictionLevel RestrictionLevel `json:"effective_restriction_level"`
	EffectivePrivilegeLevel   PrivilegeLevel   `json:"effective_privilege_level"`
	UserAccessLevel           *AccessLevel     `json:"user_access_level"`

	TeamID               *int64     `json:"team_id,omitzero"`                // newer
	LastAccessedAt       *time.Time `json:"last_accessed_at,omitzero"`       // newer
	LastViewedAt         *time.Time `json:"last_viewed_at,omitzero"`         // newer
	LastRefresh          *time.Time `json:"last_refresh,omitzero"`           // newer
	Folder               *string    `json:"folder,omitzero"`                 // newer
	AccessControlVersion *string    `json:"access_control_version,omitzero"` // newer
	SearchMatchType      *string    `json:"search_match_type,omitzero"`      // newer, with Search only
}

func (d *Dashboard) identity() string { return strconv.FormatInt(d.ID, 10) }

func (d *Dashboard) complete() error { return has("id", d.ID) }

// CreationMode is the way in which a dashboard was made.
type CreationMode string

// The known modes.
const (
	CreationModeDefault   CreationMode = "default"
	CreationModeTemplate  CreationMode = "template"
	CreationModeDuplicate CreationMode = "duplicate"
	CreationModeUnlisted  CreationMode = "unlisted" // not in lists, unless they ask for it
)

var creationModes = []CreationMode{
	CreationModeDefault, CreationModeTemplate, CreationModeDuplicate, CreationModeUnlisted,
}

// AccessLevel is the access of the key's user to an object. A change of a dashboard needs both an EffectivePrivilegeLevel
// of [PrivilegeCanEdit] and, in a project with access control, a UserAccessLevel of [AccessEditor] or higher; nil is not known.
type AccessLevel string

// The levels of an object, which rise in this order, and of a project; compare them with ==, since < goes by the alphabet.
const (
	AccessNone    AccessLevel = "none"
	AccessViewer  AccessLevel = "viewer"
	AccessEditor  AccessLevel = "editor"
	AccessManager AccessLevel = "manager"
	AccessMember  AccessLevel = "member" // of a project
	AccessAdmin   AccessLevel = "admin"  // of a project
)

// RestrictionLevel says who may edit a dashboard.
type RestrictionLevel int

// The known levels.
const (
	RestrictionEveryoneCanEdit          RestrictionLevel = 21
	RestrictionOnlyCollaboratorsCanEdit RestrictionLevel = 37
)

// PrivilegeLevel says whether the user of the key may view or edit a dashboard.
type PrivilegeLevel int

// The known levels.
const (
	PrivilegeCanView PrivilegeLevel = 21
	PrivilegeCanEdit PrivilegeLevel = 37
)

// User is a person with an account.
type User struct {
	ID              int64           `json:"id"`
	UUID            uuid.UUID       `json:"uuid"`
	DistinctID      *string         `json:"distinct_id"`
	FirstName       string          `json:"first_name"`
	LastName        string          `json:"last_name"`
	Email           string          `json:"email"`
	IsEmailVerified *bool           `json:"is_email_verified"`
	HedgehogConfig  json.RawMessage `json:"hedgehog_config,omitzero"` // object or null
	// RoleAtOrganization is engineering, data, product, founder, leadership, marketing, sales, student, other, or empty.
	RoleAtOrganization *string `json:"role_at_organization"`
}

// DashboardListOptions selects dashboards. Older servers ignore everything but the paging.
type DashboardListOptions struct {
	ListOptions

	Search           string       // in names, descriptions and tags; newer servers put the best first, and give similar names if none fits
	Tags             []string     // dashboards with one of these tags at least
	Folder           Opt[string]  // dashboards in this folder only; "" is the root of the project
	ExcludeGenerated bool         // leaves out dashboards that the service itself has made
	CreationMode     CreationMode // dashboards made this way only; [CreationModeUnlisted] shows unlisted ones
}

func (o DashboardListOptions) query() url.Values {
	q := url.Values{}
	outgoing.SetText(q, "search", o.Search)
	if folder, ok := o.Folder.Get(); ok {
		q.Set("folder", folder)
	}
	outgoing.SetText(q, "creation_mode", string(o.CreationMode))
	for _, tag := range o.Tags {
		q.Add("tags", tag)
	}
	if o.ExcludeGenerated {
		q.Set("exclude_generated", "true")
	}
	return q
}

const maxSearch = 200 // characters that the service takes

// DashboardsService reads the dashboards of a project: [Client.Dashboards].
type DashboardsService service

// List returns one page of dashboards that the user of the key may see: pinned ones first, then by name, without deleted
// ones. Newer servers leave out unlisted ones unless CreationMode asks for them: GET /dashboards/, scope dashboard:read.
func (s *DashboardsService) List(
	ctx context.Context, o *DashboardListOptions, options ...CallOption,
) (*OffsetPage[Dashboard], error) {
	return s.walk(o, options).One(ctx)
}

// Pages yields the pages of List.
func (s *DashboardsService) Pages(
	ctx context.Context, o *DashboardListOptions, options ...CallOption,
) iter.Seq2[*OffsetPage[Dashboard], error] {
	return s.walk(o, options).Pages(ctx)
}

// All yields all dashboards. The error that ends it is a [*PageError], which says where to resume.
func (s *DashboardsService) All(
	ctx context.Context, o *DashboardListOptions, options ...CallOption,
) iter.Seq2[Dashboard, error] {
	return s.walk(o, options).All(ctx)
}

func (s *DashboardsService) walk(o *DashboardListOptions, options []CallOption) offsetWalk[Dashboard] {
	selected := outgoing.OrDefault(o)
	r := endpoint(ops.DashboardsList).with(selected.query())
	r = r.refuse(cmp.Or(
		outgoing.MisspeltIfSet("CreationMode", selected.CreationMode, creationModes),
		outgoing.If(utf8.RuneCountInString(selected.Search) > maxSearch, "Search", "", "at most 200 characters"),
	))
	return walkByOffset[Dashboard](s.client, r, selected.ListOptions, options)
}

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
	QuickFilterIDs     []string        `json:"quick_filter_ids,omitzero"`    // newer; any texts, though PostHog writes uuids
	Tiles              []DashboardTile `json:"tiles"`                        // nil if the service hides them
}

func (d *DashboardDetail) complete() error {
	return cmp.Or(d.Dashboard.complete(), allComplete(d.Tiles))
}

// DashboardTile is one tile, with exactly one of insight, text, button and widget, as the service's own JSON.
type DashboardTile struct {
	ID         int64           `json:"id"`
	Insight    json.RawMessage `json:"insight,omitzero"` // its result is null unless it is in the service's cache
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
	Error                 *DashboardTileError `json:"error,omitzero"` // set if the insight's query cannot be parsed
}

func (t *DashboardTile) complete() error {
	for _, content := range []*json.RawMessage{&t.Insight, &t.Text, &t.ButtonTile, &t.Widget} {
		if string(*content) == "null" {
			*content = nil
		}
	}
	return has("id", t.ID)
}

// DashboardTileError is the reason for a tile without a result.
type DashboardTileError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// Get returns one dashboard with its tiles, also an unlisted one; the service stores the time as its last access. If
// [WithQuery] asks for refresh=blocking, the service computes the tiles first, and the call is one try of up to two
// minutes: GET /dashboards/{id}/, scope dashboard:read.
func (s *DashboardsService) Get(ctx context.Context, id int64, options ...CallOption) (*DashboardDetail, error) {
	return ask[DashboardDetail](ctx, s.client, endpointByNumber(ops.DashboardsGet, id), options)
}
