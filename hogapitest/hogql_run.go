package hogapitest

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// The service's limits of a result.
const (
	hogRows        = 50_000 // a larger LIMIT is cut to it silently
	hogDefaultRows = 100    // without a LIMIT
)

// run answers the query over the events of a project. The rows are in the columns' order.
func (q *hogQuery) run(project string, scope hogGroup) (rows [][]any, hasMore bool) {
	limit := min(cmp.Or(q.limit, hogDefaultRows), hogRows)
	rows, hasMore = q.result(project, scope, limit)
	for _, row := range rows {
		for i := range row {
			row[i] = shownHog(row[i])
		}
	}
	return rows, hasMore
}

// result is as many rows of the result as the limit says, and whether there are more.
func (q *hogQuery) result(project string, scope hogGroup, limit int) (rows [][]any, hasMore bool) {
	var kept []int32
	if q.from == nil {
		kept = q.kept(project, scope, limit)
	} else {
		inner, _ := q.from.result(project, scope, cmp.Or(q.from.limit, math.MaxInt32))
		scope.sub = &hogSub{q.from.names, inner}
		for i := range inner {
			if holds(q.where, scope.one(int32(i))) {
				kept = append(kept, int32(i))
			}
		}
	}
	groups := slices.DeleteFunc(q.group(kept, scope), func(g hogGroup) bool { return !holds(q.having, g) })
	if len(q.order) > 0 {
		groups = q.sorted(groups)
	}
	rows = [][]any{}
	for _, g := range groups[:min(limit, len(groups))] {
		rows = append(rows, q.values(q.columns, g))
	}
	return rows, len(groups) > limit
}

func (q *hogQuery) values(nodes []hogNode, g hogGroup) []any {
	row := make([]any, len(nodes))
	for i, n := range nodes {
		row[i] = n.eval(g)
	}
	return row
}

// kept are the rows that WHERE leaves. Where the result is in the order of the uuids, only as many are looked at as it may hold.
func (q *hogQuery) kept(project string, scope hogGroup, limit int) (kept []int32) {
	t := scope.table
	p := t.text(project)
	for _, key := range t.keys(func(k cellKey) bool { return k.project == p }) {
		c := t.cells[key]
		left, possible := q.leftFor(c, scope)
		if !possible {
			continue
		}
		if !q.byUUID() {
			for _, i := range c.rows {
				if holds(left, scope.one(i)) {
					kept = append(kept, i)
				}
			}
			continue
		}
		rows := t.inOrder(c)
		for _, condition := range left {
			if condition.bounds() {
				rows = rows[t.after(rows, condition.args[1].value.(string), condition.text == ">"):]
			}
		}
		found, last := 0, int32(-1) // rows of the result, and the last of them
		for _, i := range rows {
			another := last < 0 || !q.grouped() || t.rows[i].id != t.rows[last].id
			if another && found > limit {
				break
			}
			if !holds(left, scope.one(i)) {
				continue
			}
			if another {
				found++
			}
			kept, last = append(kept, i), i
		}
	}
	return kept
}

func (n hogNode) textOfUUID() bool {
	return n.kind == hogCall && n.text == "toString" && len(n.args) == 1 && n.args[0].kind == hogColumn && n.args[0].text == "uuid"
}

// bounds reports whether the condition is toString(uuid) > constant, or >=.
func (n hogNode) bounds() bool {
	if n.kind != hogOperator || n.text != ">" && n.text != ">=" || !n.args[0].textOfUUID() {
		return false
	}
	_, isText := n.args[1].value.(string)
	return isText
}

// byUUID reports whether the result is in the order of the uuids, one row for each or for each of its copies.
func (q *hogQuery) byUUID() bool {
	return len(q.order) == 1 && !q.down[0] && q.order[0].textOfUUID() && len(q.having) == 0 &&
		(!q.grouped() || len(q.groups) == 1 && q.groups[0].textOfUUID() && !slices.ContainsFunc(q.columns, hogNode.aggregates))
}

// leftFor are the conditions that have to be looked at row by row in a cell: name, import and day settle the others.
func (q *hogQuery) leftFor(c *cell, scope hogGroup) (left []hogNode, possible bool) {
	first := scope.one(c.rows[0])
	for _, condition := range q.where {
		columns := condition.columns()
		switch {
		case !slices.ContainsFunc(columns, func(name string) bool { return name != "event" && name != "properties."+importID }):
			if condition.eval(first) != true {
				return nil, false
			}
		case condition.rises():
			from, to := condition.ofDay(scope, first)
			if !from && !to {
				return nil, false
			}
			if !from || !to {
				left = append(left, condition)
			}
		default:
			left = append(left, condition)
		}
	}
	return left, true
}

// rises reports whether the condition compares a constant with an expression that never falls as the timestamp rises.
func (n hogNode) rises() bool {
	return n.kind == hogOperator && slices.Contains([]string{"<", "<=", ">", ">="}, n.text) && growing(n.args[0]) && n.args[1].kind == hogConstant
}

func growing(n hogNode) bool {
	switch {
	case n.kind == hogColumn:
		return n.text == "timestamp"
	case n.kind != hogCall || n.text == "toString" || !strings.HasPrefix(n.text, "to") || len(n.args[1:]) > 0 && n.args[1].kind != hogConstant:
		return false
	}
	return growing(n.args[0])
}

// ofDay is the condition at the beginning and at the end of the day of a row.
func (n hogNode) ofDay(scope, row hogGroup) (from, to bool) {
	day := time.Unix(int64(scope.table.rows[row.rows[0]].key.day)*86400, 0).UTC()
	ends := &eventTable{rows: []tableRow{{at: day}, {at: day.Add(24*time.Hour - time.Microsecond)}}}
	at := hogGroup{table: ends, zone: scope.zone}
	return n.eval(at.one(0)) == true, n.eval(at.one(1)) == true
}

func (q *hogQuery) group(kept []int32, scope hogGroup) (groups []hogGroup) {
	if !q.grouped() {
		for i := range kept {
			scope.rows = kept[i : i+1]
			groups = append(groups, scope)
		}
		return groups
	}
	if len(q.groups) == 0 { // one row, also of nothing
		scope.rows = kept
		return []hogGroup{scope}
	}
	at := map[string]int{}
	var key []byte
	for i := range kept {
		scope.rows = kept[i : i+1 : i+1]
		key = hogKey(key[:0], q.groups, scope)
		n, ok := at[string(key)]
		if !ok {
			n = len(groups)
			at[string(key)] = n
			groups = append(groups, scope)
			continue
		}
		groups[n].rows = append(groups[n].rows, kept[i])
	}
	return groups
}

func (q *hogQuery) sorted(groups []hogGroup) []hogGroup {
	keys, order := make([][]any, len(groups)), make([]int, len(groups))
	for i, g := range groups {
		keys[i], order[i] = q.values(q.order, g), i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		for i, down := range q.down {
			c := compareOrder(keys[a][i], keys[b][i])
			if down {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
	sorted := make([]hogGroup, len(groups))
	for i, at := range order {
		sorted[i] = groups[at]
	}
	return sorted
}

// compareOrder puts nil last.
func compareOrder(a, b any) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return compareHog(a, b)
}
