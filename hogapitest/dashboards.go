package hogapitest

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
)

// Dashboard is one dashboard of a project. Extra adds keys to the answer or replaces values; nil stands for
// null.
type Dashboard struct {
	ID          int // numbered from 1 where it is 0
	Name        string
	Description string
	Pinned      bool
	Shared      bool
	Deleted     bool
	Tags        []string
	Mode        hogapi.CreationMode // default where it is empty
	Tiles       []map[string]any    // the keys that are missing are added; an empty one becomes a text
	Created     time.Time
	Extra       map[string]any
}

func (d Dashboard) json(era Era, team int) object {
	o := object{
		"id": d.ID, "name": d.Name, "description": d.Description, "pinned": d.Pinned, "created_at": stamp(d.Created),
		"created_by": defaultUser(), "is_shared": d.Shared, "deleted": d.Deleted, "creation_mode": or(d.Mode, hogapi.CreationModeDefault), "tags": orEmpty(d.Tags),
		"restriction_level": 21, "effective_restriction_level": 21, "effective_privilege_level": 37, "user_access_level": "editor",
	}
	if era >= E3 {
		o["last_accessed_at"], o["access_control_version"], o["team_id"] = nil, "v2", team
	}
	maps.Copy(o, d.Extra)
	return o
}

// defaultUser is the user who made everything. Half of its keys are null, as they often are.
func defaultUser() object {
	return object{
		"id": 1, "uuid": "0190e0a2-0000-7000-8000-000000000001", "distinct_id": "user-1", "first_name": "Max", "last_name": "",
		"email": "max@hogapitest.example", "is_email_verified": nil, "hedgehog_config": nil, "role_at_organization": nil,
	}
}

func (s *Server) listDashboards(r *request) answer {
	var listed []Dashboard
	search := strings.ToLower(r.query.Get("search"))
	for _, d := range r.project.dashboards {
		fits := strings.Contains(strings.ToLower(d.Name+" "+d.Description), search)
		for _, tag := range r.query["tags"] {
			fits = fits && slices.Contains(d.Tags, tag)
		}
		if mode := hogapi.CreationMode(r.query.Get("creation_mode")); s.era >= E4 && mode == "" {
			fits = fits && d.Mode != hogapi.CreationModeUnlisted
		} else if mode != "" {
			fits = fits && or(d.Mode, hogapi.CreationModeDefault) == mode
		}
		if !d.Deleted && fits {
			listed = append(listed, d)
		}
	}
	slices.SortStableFunc(listed, func(a, b Dashboard) int {
		if a.Pinned != b.Pinned {
			return map[bool]int{true: -1, false: 1}[a.Pinned]
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return offsetPage(s, r, listed, func(d Dashboard) object { return d.json(s.era, r.project.team) })
}

// getDashboard shows one dashboard with its tiles. A creation_mode in the query filters here too.
func (s *Server) getDashboard(r *request) answer {
	for _, d := range r.project.dashboards {
		mode := r.query.Get("creation_mode")
		if strconv.Itoa(d.ID) != r.params["id"] || d.Deleted || mode != "" && mode != string(or(d.Mode, hogapi.CreationModeDefault)) {
			continue
		}
		o := d.json(s.era, r.project.team)
		tiles := []object{}
		for i, t := range d.Tiles {
			tiles = append(tiles, s.tile(i, t))
		}
		o["filters"], o["tiles"] = object{}, tiles
		if s.era >= E3 {
			maps.Copy(o, object{
				"variables": nil, "breakdown_colors": []any{}, "data_color_theme_id": nil, "persisted_filters": nil,
				"persisted_variables": nil, "quick_filter_ids": []any{}, "last_viewed_at": nil,
			})
		}
		maps.Copy(o, d.Extra)
		return success(o)
	}
	return notFound("Not found.")
}

func (s *Server) tile(i int, given map[string]any) object {
	o := object{"id": i + 1, "insight": nil, "text": nil, "layouts": object{}, "color": nil, "order": i, "last_refresh": nil, "is_cached": false}
	if s.era >= E3 {
		maps.Copy(o, object{"button_tile": nil, "widget": nil, "filters_overrides": nil, "show_description": nil, "transparent_background": nil})
	}
	if len(given) == 0 {
		o["text"] = object{"id": i + 1, "body": "A text"}
	}
	maps.Copy(o, given)
	return o
}
