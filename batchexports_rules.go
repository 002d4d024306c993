package hogapi

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/outgoing"
)

// ExportFilter is a filter of the events of an export, which must pass all of its filters. Marshal a list for a request:
//
//	filters, err := json.Marshal([]hogapi.ExportFilter{
//		{Type: hogapi.FilterEvent, Key: "$browser", Operator: "exact", Value: []string{"Firefox"}},
//	})
type ExportFilter struct {
	Type     FilterType `json:"type"`
	Key      string     `json:"key"`                // a property; with FilterHogQL an expression
	Operator string     `json:"operator,omitempty"` // such as exact, is_not, icontains, regex, gt, is_set
	Value    any        `json:"value,omitempty"`
}

// FilterType is the kind of a filter.
type FilterType string

// The types that the service takes.
const (
	FilterEvent  FilterType = "event"  // a property of the event
	FilterPerson FilterType = "person" // a property of its person
	FilterHogQL  FilterType = "hogql"  // an expression
)

var filterTypes = []FilterType{FilterEvent, FilterPerson, FilterHogQL}

// checkFilters refuses values that the service would treat as no filters at all. JSON that cannot be read is refused
// with the body.
func checkFilters(raw json.RawMessage) *InputError {
	var list []map[string]json.RawMessage
	if len(raw) == 0 || !json.Valid(raw) || string(raw) == "null" {
		return nil
	}
	if json.Unmarshal(raw, &list) != nil || slices.ContainsFunc(list, func(f map[string]json.RawMessage) bool { return f == nil }) {
		return outgoing.Refuse("Filters", "", "an array of objects: see ExportFilter")
	}
	for i, filter := range list {
		var kind FilterType
		_ = json.Unmarshal(filter["type"], &kind) // of another type: not known
		at := "Filters[" + strconv.Itoa(i) + "]"
		refusal := outgoing.If(!slices.Contains(filterTypes, kind), at+".type", string(kind), "event, person or hogql")
		for _, name := range []string{"data_interval_start", "data_interval_end"} {
			refusal = cmp.Or(refusal, outgoing.If(filter[name] != nil, at+"."+name, "", "no interval: runs have one; a backfill exports a range"))
		}
		if refusal != nil {
			return refusal
		}
	}
	return nil
}

// checkKey refuses a key without columns.
func checkKey(field string, columns []string) *InputError {
	return outgoing.If(columns != nil && (len(columns) == 0 || slices.Contains(columns, "")), field, "", "names of columns, or no key")
}

func checkOffsets(day, hour int) *InputError {
	return cmp.Or(
		outgoing.If(day < 0 || day > 6, "OffsetDay", strconv.Itoa(day), "0 for Sunday to 6"),
		outgoing.If(hour < 0 || hour > 23, "OffsetHour", strconv.Itoa(hour), "0 to 23"),
	)
}

// checkRules refuses combinations of fields that no server can store.
func (c BatchExportRequest) checkRules() *InputError {
	isHogQL, hasModifiers := c.Model == ModelHogQL, len(c.HogQLModifiers) > 0 && string(c.HogQLModifiers) != "null"
	isMerge := c.IncrementalMode == IncrementalModeMerge
	return cmp.Or(
		outgoing.If(isHogQL && c.HogQLQuery == "", "HogQLQuery", "", "a query: the model hogql needs one"),
		outgoing.If(!isHogQL && hasModifiers, "HogQLModifiers", "", "the model hogql, or no modifiers"),
		outgoing.If(!isHogQL && c.PrimaryKey != nil, "PrimaryKey", "", "the model hogql, or no key"),
		outgoing.If(!isHogQL && c.VersionKey != nil, "VersionKey", "", "the model hogql, or no key"),
		checkKey("PrimaryKey", c.PrimaryKey),
		checkKey("VersionKey", c.VersionKey),
		outgoing.If(isMerge && len(c.PrimaryKey) == 0, "PrimaryKey", "", "the columns of the key: IncrementalModeMerge needs them"),
		checkFilters(c.Filters),
		checkOffsets(outgoing.OrDefault(c.OffsetDay), outgoing.OrDefault(c.OffsetHour)),
		coverage.CheckOffsets(string(c.Interval), c.OffsetDay != nil, c.OffsetHour != nil),
	)
}

// checkRules refuses offsets without their interval, for which the service fails, one offset of a weekly export
// without the other, which the service would set to 0, and values that no export can have.
func (u BatchExportUpdateRequest) checkRules() *InputError {
	hasDay, hasHour := !u.OffsetDay.IsZero(), !u.OffsetHour.IsZero()
	interval, hasInterval := u.Interval.Get()
	return cmp.Or(
		outgoing.If((hasDay || hasHour) && !hasInterval, "Interval", "",
			"the interval of the offset, even if it stays the same: the service fails without it"),
		outgoing.If(interval == IntervalWeek && hasDay != hasHour, "OffsetDay", "",
			"OffsetDay and OffsetHour together: the service sets the absent one to 0"),
		checkKey("PrimaryKey", u.PrimaryKey.Or(nil)),
		checkKey("VersionKey", u.VersionKey.Or(nil)),
		checkFilters(u.Filters.Or(nil)),
		checkOffsets(u.OffsetDay.Or(0), u.OffsetHour.Or(0)),
		coverage.CheckOffsets(string(interval), hasDay && !u.OffsetDay.IsNull(), hasHour && !u.OffsetHour.IsNull()),
	)
}
