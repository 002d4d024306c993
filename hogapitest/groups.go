package hogapitest

import (
	"slices"

	"github.com/hogapi/hogapi"
)

// OpGroupTypes is the operation of the list of a project's types of groups, which programs ask for with Client.Do.
const OpGroupTypes hogapi.Op = "group_types.list"

// maxGroupTypes is how many types of groups a project has at most. Later ones get no number.
const maxGroupTypes = 5

// listGroupTypes lists the types of groups by their numbers, which they have got as they arrived.
func (s *Server) listGroupTypes(r *request) answer {
	list := []object{}
	for i, kind := range r.project.groupTypes() {
		list = append(list, object{
			"group_type": kind, "group_type_index": i, "name_singular": nil, "name_plural": nil, "detail_dashboard": nil,
			"default_columns": nil, "created_at": nil,
		})
	}
	return success(list)
}

func (p *Project) groupTypes() (kinds []string) {
	t := &p.server.table
	own := t.text(p.id)
	see := func(kind string) {
		if len(kinds) < maxGroupTypes && kind != "" && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	for i := range t.rows { // as they arrived
		if t.rows[i].key.project != own {
			continue
		}
		for _, m := range members(t.rows[i].properties) {
			switch {
			case m.key == "$groups" && m.value[0] == '{':
				for _, group := range members(m.value) {
					see(group.key)
				}
			case m.key == "$group_type" && t.texts[t.rows[i].name] == "$groupidentify":
				see(asText(m.value))
			}
		}
	}
	return kinds
}
