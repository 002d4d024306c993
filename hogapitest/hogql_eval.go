package hogapitest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// The service's limits of a result.
const (
	hogRows        = 50_000 // a larger LIMIT is cut to it silently
	hogDefaultRows = 100    // without a LIMIT
)

// hogDate is a day, as text.
type hogDate string

// run answers the query over the events of a project. The rows are in the columns' order.
func (q *hogQuery) run(events []StoredEvent) (rows [][]any, hasMore bool) {
	kept := slices.DeleteFunc(events, func(e StoredEvent) bool { return !holds(q.where, []StoredEvent{e}) })
	var keys []string
	groups := map[string][]StoredEvent{}
	for i, e := range kept {
		key := strconv.Itoa(i)
		switch {
		case len(q.groups) > 0:
			key = hogKey(q.groups, e)
		case slices.ContainsFunc(q.columns, hogNode.aggregates):
			key = ""
		}
		if _, ok := groups[key]; !ok {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], e)
	}
	if len(q.groups) == 0 && len(keys) == 0 && slices.ContainsFunc(q.columns, hogNode.aggregates) {
		keys = []string{""} // one row, also of nothing
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { return !holds(q.having, groups[key]) })
	slices.SortStableFunc(keys, func(a, b string) int {
		for _, by := range q.order {
			if c := compareHog(by.eval(groups[a]), by.eval(groups[b])); c != 0 {
				return c
			}
		}
		return 0
	})
	limit := min(cmp.Or(q.limit, hogDefaultRows), hogRows)
	for _, key := range keys[:min(limit, len(keys))] {
		row := make([]any, len(q.columns))
		for i, column := range q.columns {
			row[i] = shownHog(column.eval(groups[key]))
		}
		rows = append(rows, row)
	}
	return rows, len(keys) > limit
}

func hogKey(nodes []hogNode, e StoredEvent) string {
	var b strings.Builder
	for _, node := range nodes {
		fmt.Fprintf(&b, "%q,", fmt.Sprint(node.eval([]StoredEvent{e})))
	}
	return b.String()
}

func holds(conditions []hogNode, group []StoredEvent) bool {
	for _, c := range conditions {
		left, right := c.args[0].eval(group), c.args[1].eval(group)
		if left == nil || right == nil {
			return false
		}
		order := compareHog(left, right)
		if ok := map[string]bool{"=": order == 0, "!=": order != 0, "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}; !ok[c.text] {
			return false
		}
	}
	return true
}

// eval is the value of an expression for the events of a group, nil where it has none.
func (n hogNode) eval(group []StoredEvent) any {
	switch {
	case n.value != nil:
		return n.value
	case n.isColumn():
		return hogColumn(n.text, group)
	case n.text == "count":
		return float64(len(group))
	case n.text == "uniqExact" || n.text == "countDistinct":
		different := map[string]bool{}
		for _, e := range group {
			different[hogKey(n.args, e)] = true
		}
		return float64(len(different))
	case n.text == "min" || n.text == "max":
		var best any = time.Unix(0, 0).UTC()
		for i, e := range group {
			v := n.args[0].eval([]StoredEvent{e})
			if c := compareHog(v, best); i == 0 || n.text == "min" && c < 0 || n.text == "max" && c > 0 {
				best = v
			}
		}
		return best
	}
	args := make([]any, len(n.args))
	for i, arg := range n.args {
		if args[i] = arg.eval(group); args[i] == nil {
			return nil
		}
	}
	return hogCall(n.text, args)
}

func hogColumn(name string, group []StoredEvent) any {
	if len(group) == 0 {
		return nil
	}
	e := group[0]
	switch name {
	case "event":
		return e.Event
	case "uuid":
		return e.UUID
	case "distinct_id":
		return e.DistinctID
	case "timestamp":
		return e.Time
	}
	key := strings.TrimPrefix(name, "properties.")
	list, _ := members(e.Properties) // checked when it came; none for events without
	for _, m := range slices.Backward(list) {
		if m.key == key && !isNull(m.value) {
			return asText(m.value)
		}
	}
	return nil
}

func hogCall(name string, args []any) any {
	at, isTime := args[0].(time.Time)
	text, isText := args[0].(string)
	if len(args) == 2 {
		zone, err := time.LoadLocation(fmt.Sprint(args[1]))
		if err != nil {
			hogFail("hogql_query_error", "Unknown time zone %v", args[1])
		}
		at = at.In(zone)
	}
	switch {
	case name == "toTimeZone" && isTime:
		return at
	case name == "toDate" && isTime:
		if at.Unix() < 0 { // days begin with 1970
			at = time.Unix(0, 0).UTC()
		}
		return hogDate(at.Format(time.DateOnly))
	case name == "toStartOfDay" && isTime:
		return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, at.Location())
	case name == "toYYYYMM" && isTime:
		return float64(at.Year()*100 + int(at.Month()))
	case name == "toDateTime" && isTime:
		return at
	case name == "toDateTime" && isText:
		for _, layout := range []string{time.RFC3339Nano, time.DateTime, time.DateOnly} { // the project's zone is UTC
			if t, err := time.Parse(layout, text); err == nil {
				return t.UTC()
			}
		}
	case name == "toString":
		return fmt.Sprint(shownHog(args[0]))
	case name == "toUUID" && isText:
		if id, err := uuid.Parse(text); err == nil {
			return id
		}
	}
	hogFail("illegal_type_of_argument", "Illegal type of argument of function %s", name)
	return nil
}

// compareHog orders two values of one type. UUIDs have an order of their own, which is not that of their texts.
func compareHog(a, b any) int {
	if id, ok := a.(uuid.UUID); ok {
		if text, ok := b.(string); ok {
			return cmp.Compare(id.String(), text)
		}
	}
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			return cmp.Compare(a, b)
		}
	case hogDate:
		if b, ok := b.(hogDate); ok {
			return cmp.Compare(a, b)
		}
	case float64:
		if b, ok := b.(float64); ok {
			return cmp.Compare(a, b)
		}
	case time.Time:
		if b, ok := b.(time.Time); ok {
			return a.Compare(b)
		}
	case uuid.UUID:
		if b, ok := b.(uuid.UUID); ok {
			return cmp.Or(bytes.Compare(a[8:], b[8:]), bytes.Compare(a[:8], b[:8]))
		}
	}
	hogFail("type_mismatch", "There is no supertype for %T, %T", a, b)
	return 0
}

// shownHog is a value as an answer has it.
func shownHog(v any) any {
	switch v := v.(type) {
	case time.Time:
		return v.Format("2006-01-02T15:04:05.999999Z07:00")
	case uuid.UUID:
		return v.String()
	case float64:
		return json.Number(strconv.FormatFloat(v, 'f', -1, 64))
	}
	return v
}
