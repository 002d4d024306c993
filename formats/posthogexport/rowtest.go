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
	Rows           int64            // with the name of an event
	Cookieless     int64            // events of cookieless visitors, whose persons have no properties
	Persons        int64            // $identify and $set events
	PersonsBare    int64            // of them, without $set, $set_once and $unset
	Groups         int64            // $groupidentify events
	GroupsBare     int64            // of them, without $group_set
	Clicks         int64            // $autocapture events
	ClicksBare     int64            // of them, without elements
	AI             int64            // $ai_generation, $ai_embedding, $ai_span and $ai_trace events
	AIBare         int64            // of them, without any input and output
	GroupTypes     map[string]int64 // events by type of group; of many types, the first 100
	ForeignIndexes int64            // keys of groups that $groups does not have: see the package's mapping

	row   row
	has   map[string]bool
	types []string
	keys  groups
}

// Add counts a row.
func (t *RowTest) Add(raw []byte) {
	if t.has == nil {
		t.has, t.GroupTypes = map[string]bool{}, map[string]int64{}
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
		_ = jsonb.Object(t.keys.of, func(key, _ []byte) { t.types = append(t.types, string(key)) })
	}
	t.keys.others(func(string, []byte) { t.ForeignIndexes++ })
	t.count(record.Text(t.row.event))
}

func (t *RowTest) property(key, value []byte) {
	name := string(key)
	t.keys.take(name, value)
	switch name {
	case "$cookieless_mode":
		t.has[name] = record.IsTrue(value)
	case "$set", "$set_once", "$unset", "$group_set", "$elements_chain", "$elements",
		"$ai_input", "$ai_output", "$ai_output_choices", "$ai_input_state", "$ai_output_state":
		t.has[name] = t.has[name] || !record.IsEmpty(value)
	}
}

func (t *RowTest) count(name string) {
	if t.has["$cookieless_mode"] {
		t.Cookieless++
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
		t.add(&t.Persons, &t.PersonsBare, t.hasAny("$set", "$set_once", "$unset"))
	case "$groupidentify":
		t.add(&t.Groups, &t.GroupsBare, t.hasAny("$group_set"))
	case "$autocapture":
		t.add(&t.Clicks, &t.ClicksBare, hasElements || t.hasAny("$elements_chain", "$elements"))
	case "$ai_generation", "$ai_embedding", "$ai_span", "$ai_trace":
		t.add(&t.AI, &t.AIBare, t.hasAny(
			"$ai_input", "$ai_output", "$ai_output_choices", "$ai_input_state", "$ai_output_state",
		))
	}
}

func (*RowTest) add(all, bare *int64, has bool) {
	*all++
	if !has {
		*bare++
	}
}

func (t *RowTest) hasAny(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return t.has[name] })
}

// Losses are sentences about what the rows lack, each with its count.
func (t *RowTest) Losses() (list []string) {
	add := func(n, of int64, what, why string) {
		if n > 0 {
			list = append(list, fmt.Sprintf("%d of %d %s. %s", n, of, what, why))
		}
	}
	add(t.PersonsBare, t.Persons, "$identify and $set events have no properties of the person",
		"Some never had any. Newer servers keep $set apart, for 60 days, and files of their exports lack it: "+
			"compare the persons of the new project with those of the old one")
	add(t.GroupsBare, t.Groups, "$groupidentify events have no properties of the group",
		"Newer servers keep $group_set apart, for 60 days: compare the groups of the new project with those of the old one")
	add(t.ClicksBare, t.Clicks, "$autocapture events have no elements",
		"Tables of Redshift and Databricks and files of Azure Blob Storage do not have them: "+
			"actions, heatmaps and the toolbar need them, so export to S3 or to files")
	add(t.AIBare, t.AI, "AI events have no input and no output",
		"Newer servers keep them for some weeks in a table of AI events, which no export reads")
	return list
}

// Notes are sentences about what the new project shows in another way, each with its count.
func (t *RowTest) Notes() (list []string) {
	if t.Cookieless > 0 {
		list = append(list, fmt.Sprintf("%d events are of cookieless visitors. "+
			"Their distinct id is the hash that the old project made, and their persons have no properties", t.Cookieless))
	}
	if len(t.GroupTypes) > 0 {
		kinds := slices.SortedFunc(maps.Keys(t.GroupTypes), func(a, b string) int {
			return cmp.Or(cmp.Compare(t.GroupTypes[b], t.GroupTypes[a]), cmp.Compare(a, b))
		})
		list = append(list, "Events have groups of the types "+strings.Join(kinds[:min(5, len(kinds))], ", ")+
			". A project has five types at most and numbers them as they arrive. "+
			"Where insights are copied from the old project, let the types arrive in its order first")
	}
	if t.ForeignIndexes > 0 {
		list = append(list, fmt.Sprintf("%d keys of groups are in no $groups. They are kept as posthog_group_0 to posthog_group_4", t.ForeignIndexes))
	}
	return list
}

// String implements formats.RecordTest.
func (t *RowTest) String() string { return strings.Join(append(t.Losses(), t.Notes()...), "\n") }
