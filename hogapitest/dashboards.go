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
	Folder      string              // of E4; empty for the root
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
	if era == E4 {
		maps.Copy(o, object{
			"last_accessed_at": nil, "last_viewed_at": nil, "last_refresh": nil, "access_control_version": "v2", "team_id": team, "folder": orNull(d.Folder),
		})
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
	for _, d := range r.project.dashboards {
		mode, isOpen := hogapi.CreationMode(r.query.Get("creation_mode")), !d.Deleted
		if s.era == E4 && mode == "" {
			isOpen = isOpen && d.Mode != hogapi.CreationModeUnlisted
		} else if mode != "" {
			isOpen = isOpen && or(d.Mode, hogapi.CreationModeDefault) == mode
		}
		tags := r.query["tags"]
		isTagged := len(tags) == 0 || slices.ContainsFunc(d.Tags, func(tag string) bool { return slices.Contains(tags, tag) })
		isThere := s.era == E1 || !r.query.Has("folder") || r.query.Get("folder") == d.Folder
		if isOpen && isTagged && isThere {
			listed = append(listed, d)
		}
	}
	slices.SortStableFunc(listed, func(a, b Dashboard) int {
		if a.Pinned != b.Pinned {
			return map[bool]int{true: -1, false: 1}[a.Pinned]
		}
		return cmp.Compare(a.Name, b.Name)
	})
	match := ""
	if search := strings.ToLower(r.query.Get("search")); search != "" {
		if len([]rune(search)) > 200 {
			return invalid("search", "max_length", "Ensure this field has no more than 200 characters.")
		}
		listed, match = s.searched(listed, search)
	}
	return offsetPage(s, r, listed, func(d Dashboard) object {
		o := d.json(s.era, r.project.team)
		if match != "" && s.era == E4 {
			o["search_match_type"] = match
		}
		return o
	})
}

// searched are the dashboards that hold a text: in the name first, then the others. Without a match, E4 takes similar
// names.
func (s *Server) searched(all []Dashboard, search string) (found []Dashboard, match string) {
	holds := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), search) })
	}
	var others, similar []Dashboard
	for _, d := range all {
		switch {
		case holds(d.Name):
			found = append(found, d)
		case holds(d.Description), s.era == E4 && holds(d.Tags...):
			others = append(others, d)
		case s.era == E4 && isSimilar(strings.ToLower(d.Name), search):
			similar = append(similar, d)
		}
	}
	if found = append(found, others...); len(found) == 0 {
		return similar, "similar"
	}
	return found, "exact"
}

// isSimilar reports whether two texts share half of the pairs of letters of the shorter one.
func isSimilar(a, b string) bool {
	shared, short := 0, min(len(a), len(b))-1
	for i := range len(a) - 1 {
		if strings.Contains(b, a[i:i+2]) {
			shared++
		}
	}
	return short > 0 && 2*shared >= short
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
		if s.era == E4 {
			maps.Copy(o, object{
				"variables": nil, "breakdown_colors": []any{}, "data_color_theme_id": nil, "persisted_filters": nil,
				"persisted_variables": nil, "quick_filter_ids": []any{},
			})
		}
		maps.Copy(o, d.Extra)
		return success(o)
	}
	return notFound("Not found.")
}

func (s *Server) tile(i int, given map[string]any) object {
	o := object{"id": i + 1, "insight": nil, "text": nil, "layouts": object{}, "color": nil, "order": i, "last_refresh": nil, "is_cached": false}
	if s.era == E4 {
		maps.Copy(o, object{"button_tile": nil, "widget": nil, "filters_overrides": nil, "show_description": nil, "transparent_background": nil})
	}
	if len(given) == 0 {
		o["text"] = object{"id": i + 1, "body": "A text"}
	}
	maps.Copy(o, given)
	return o
}
