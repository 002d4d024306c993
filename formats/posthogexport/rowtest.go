package posthogexport

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// RowTest counts the rows that do not have all of their event, for formats.CheckOptions.Test: a destination or a newer
// server keeps a part of it elsewhere, so an import cannot bring that part back.
type RowTest struct {
	Rows           int64            `json:"rows"`            // with the name of an event
	Cookieless     int64            `json:"cookieless"`      // events of cookieless visitors, whose persons have no properties
	Imported       int64            `json:"imported"`        // events with the $import_job_id of an earlier import
	Persons        int64            `json:"persons"`         // $identify and $set events
	PersonsBare    int64            `json:"persons_bare"`    // of them, without $set, $set_once and $unset
	Groups         int64            `json:"groups"`          // $groupidentify events
	GroupsBare     int64            `json:"groups_bare"`     // of them, without $group_set
	Clicks         int64            `json:"clicks"`          // $autocapture events
	ClicksBare     int64            `json:"clicks_bare"`     // of them, without elements
	AI             int64            `json:"ai"`              // $ai_generation, $ai_embedding, $ai_span and $ai_trace events
	AIBare         int64            `json:"ai_bare"`         // of them, without any input and output
	GroupTypes     map[string]int64 `json:"group_types"`     // events by type of group; of many types, the first 100
	GroupIndexes   map[string]int   `json:"group_indexes"`   // the types' numbers in the old project, as its $group_0 to $group_4 show
	Indexes        int64            `json:"indexes"`         // keys in $group_0 to $group_4
	ForeignIndexes int64            `json:"foreign_indexes"` // of them, those that $groups does not have: see the package's mapping

	row   row
	has   map[string]bool
	types []string
	keys  groups
}

// Add counts a row.
func (t *RowTest) Add(raw []byte) {
	if t.has == nil {
		t.has, t.GroupTypes, t.GroupIndexes = map[string]bool{}, map[string]int64{}, map[string]int{}
		t.row.bind()
	}
	t.row.Begin()
	clear(t.has)
	t.types, t.keys = t.types[:0], groups{}
	if jsonb.Object(raw, t.row.Visit) != nil || !record.IsText(t.row.event) {
		return
	}
	t.Rows++
	for i := range t.row.columns {
		c := &t.row.columns[i]
		if value, err := c.value(); err == nil && value != nil {
			t.has[c.property] = true
		}
	}
	if properties := unpacked(t.row.properties); record.IsObject(properties) {
		_ = jsonb.Object(properties, t.property) // a broken object is a reject
	}
	if record.IsObject(t.keys.of) {
		_ = jsonb.Object(t.keys.of, func(key, id []byte) {
			t.types = append(t.types, string(key))
			t.index(string(key), id)
		})
	}
	for _, raw := range t.keys.keys {
		if !record.IsNone(raw) {
			t.Indexes++
		}
	}
	t.keys.others(func(string, []byte) { t.ForeignIndexes++ })
	t.take(record.Text(t.row.event))
}

// index notes which number a type has: the only one with its key.
func (t *RowTest) index(kind string, key []byte) {
	if _, isKnown := t.GroupIndexes[kind]; isKnown || len(t.GroupIndexes) == len(t.keys.keys) {
		return
	}
	id, err := record.ID("", key)
	found := -1
	for i, raw := range t.keys.keys {
		if other, bad := record.ID("", raw); err == nil && bad == nil && other == id {
			if found >= 0 {
				return // which of the two is not known
			}
			found = i
		}
	}
	if found >= 0 {
		t.GroupIndexes[kind] = found
	}
}

func (t *RowTest) property(key, value []byte) {
	name := string(key)
	t.keys.take(name, value)
	switch name {
	case "$cookieless_mode":
		t.has[name] = record.IsTrue(value)
	case "$import_job_id":
		t.has[name] = true
	case "$set", "$set_once", "$unset", "$group_set", "$elements_chain", "$elements",
		"$ai_input", "$ai_output", "$ai_output_choices", "$ai_input_state", "$ai_output_state":
		t.has[name] = t.has[name] || !record.IsEmpty(value)
	}
}

func (t *RowTest) take(name string) {
	if t.has["$cookieless_mode"] {
		t.Cookieless++
	}
	if t.has["$import_job_id"] {
		t.Imported++
	}
	const most = 100
	for _, kind := range t.types {
		if _, known := t.GroupTypes[kind]; known || len(t.GroupTypes) < most {
			t.GroupTypes[kind]++
		}
	}
	hasElements := !record.IsEmpty(t.row.elements) || !record.IsEmpty(unpacked(t.row.tableElements))
	switch name {
	case "$identify", "$set":
		count(&t.Persons, &t.PersonsBare, t.hasAny("$set", "$set_once", "$unset"))
	case "$groupidentify":
		count(&t.Groups, &t.GroupsBare, t.hasAny("$group_set"))
	case "$autocapture":
		count(&t.Clicks, &t.ClicksBare, hasElements || t.hasAny("$elements_chain", "$elements"))
	case "$ai_generation", "$ai_embedding", "$ai_span", "$ai_trace":
		count(&t.AI, &t.AIBare, t.hasAny(
			"$ai_input", "$ai_output", "$ai_output_choices", "$ai_input_state", "$ai_output_state",
		))
	}
}

func count(all, bare *int64, has bool) {
	*all++
	if !has {
		*bare++
	}
}

func (t *RowTest) hasAny(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return t.has[name] })
}

// add adds a sentence about some of the rows to a list.
func add(list *[]string, n, of int64, what, why string) {
	if n > 0 {
		*list = append(*list, fmt.Sprintf("%d of %d %s. %s", n, of, what, why))
	}
}

// Losses describes the data that the rows lack, each with its count.
func (t *RowTest) Losses() (list []string) {
	add(&list, t.PersonsBare, t.Persons, "$identify and $set events have no properties of the person",
		"Some never had any. Newer servers keep $set apart, for 60 days, and files of their exports lack it: "+
			"compare the persons of the new project with those of the old one")
	add(&list, t.GroupsBare, t.Groups, "$groupidentify events have no properties of the group",
		"Newer servers keep $group_set apart, for 60 days: compare the groups of the new project with those of the old one")
	add(&list, t.ClicksBare, t.Clicks, "$autocapture events have no elements",
		"Tables of Redshift and Databricks and files of Azure Blob Storage do not have them: "+
			"actions, heatmaps and the toolbar need them, so export to S3 or to files")
	add(&list, t.AIBare, t.AI, "AI events have no input and no output",
		"Newer servers keep them for some weeks in a table of AI events, which no export reads")
	return list
}

// Notes describes the data that the new project shows differently, each with its count.
func (t *RowTest) Notes() (list []string) {
	add(&list, t.Cookieless, t.Rows, "events are of cookieless visitors", "They become ordinary ones: "+
		"their distinct id is the hash that the old project made, and their persons have no properties")
	add(&list, t.Imported, t.Rows, "events are of an earlier import",
		"Its id is kept as posthog_import_job_id, since the events get the id of this one")
	add(&list, t.Indexes-t.ForeignIndexes, t.Indexes, "keys of groups in $group_0 to $group_4 stay out",
		"They are there by the old project's numbers, and the new one makes its own of $groups")
	add(&list, t.ForeignIndexes, t.Indexes, "keys of groups in $group_0 to $group_4 are in no $groups",
		"They are kept as posthog_group_0 to posthog_group_4")
	return list
}

// Kinds are the types of groups, the most frequent first.
func (t *RowTest) Kinds() []string {
	return slices.SortedFunc(maps.Keys(t.GroupTypes), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.GroupTypes[b], t.GroupTypes[a]), cmp.Compare(a, b))
	})
}

// String implements formats.RecordTest.
func (t *RowTest) String() string {
	list := append(t.Losses(), t.Notes()...)
	if kinds := t.Kinds(); len(kinds) > 0 {
		list = append(list, "events have groups of the types "+strings.Join(kinds, ", "))
	}
	return strings.Join(list, "\n")
}
