package hogapitest

import (
	"cmp"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/uuidsum"
)

// hogFunction is a function or an operator: how many arguments it takes, and its value. It has no value where an argument has no value.
type hogFunction struct {
	least, most int
	apply       func(hogArgs) any
	fold        func(rows iter.Seq[hogKey]) any // of an aggregate, in place of apply: the arguments of each row
	level       int                             // of an operator: a higher level binds first
}

// hogKey holds the values of some expressions.
type hogKey [4]any

func operator(level, least, most int, apply func(hogArgs) any) hogFunction {
	return hogFunction{level: level, least: least, most: most, apply: apply}
}

func comparison(holds func(order int) bool) hogFunction {
	return operator(4, 2, 2, func(a hogArgs) any { return holds(compareHog(a.list[0], a.list[1])) })
}

var hogFunctions = map[string]hogFunction{
	"OR":  operator(1, 2, 2, func(a hogArgs) any { return a.list[0] == true || a.list[1] == true }),
	"AND": operator(2, 2, 2, func(a hogArgs) any { return a.list[0] == true && a.list[1] == true }),
	"NOT": operator(3, 1, 1, func(a hogArgs) any { return a.list[0] != true }),
	"IN": operator(4, 1, math.MaxInt, func(a hogArgs) any {
		return slices.ContainsFunc(a.list[1:], func(v any) bool { return compareHog(a.list[0], v) == 0 })
	}),
	"=":  comparison(func(order int) bool { return order == 0 }),
	"!=": comparison(func(order int) bool { return order != 0 }),
	"<":  comparison(func(order int) bool { return order < 0 }),
	"<=": comparison(func(order int) bool { return order <= 0 }),
	">":  comparison(func(order int) bool { return order > 0 }),
	">=": comparison(func(order int) bool { return order >= 0 }),

	"count": {least: 0, most: 1, fold: func(rows iter.Seq[hogKey]) any {
		n := 0.0
		for range rows {
			n++
		}
		return n
	}},
	"countIf": {least: 1, most: 1, fold: func(rows iter.Seq[hogKey]) any {
		n := 0.0
		for row := range rows {
			if row[0] == true {
				n++
			}
		}
		return n
	}},
	"uniqExact": {least: 1, most: len(hogKey{}), fold: func(rows iter.Seq[hogKey]) any {
		seen := map[hogKey]bool{}
		for row := range rows {
			seen[row] = true
		}
		return float64(len(seen))
	}},
	"sum": {least: 1, most: 1, fold: sumHog},
	"min": {least: 1, most: 1, fold: func(rows iter.Seq[hogKey]) any { return extreme(rows, -1) }},
	"max": {least: 1, most: 1, fold: func(rows iter.Seq[hogKey]) any { return extreme(rows, 1) }},

	"toDate": {least: 1, most: 1, apply: func(a hogArgs) any {
		at := hogArg[time.Time](a, 0)
		if at.Unix() < 0 { // days begin with 1970
			at = time.Unix(0, 0).UTC()
		}
		return at.Format(time.DateOnly)
	}},
	"toTimeZone": {least: 1, most: 2, apply: func(a hogArgs) any { return hogArg[time.Time](a, 0).In(a.location()) }},
	"toDateTime": {least: 1, most: 2, apply: func(a hogArgs) any {
		if at, ok := a.list[0].(time.Time); ok {
			return at.In(a.location())
		}
		for _, layout := range []string{time.RFC3339Nano, time.DateTime, time.DateOnly} {
			if at, err := time.ParseInLocation(layout, hogArg[string](a, 0), a.location()); err == nil {
				return at
			}
		}
		hogFail("illegal_type_of_argument", "Illegal type of argument: %q is not a time", a.list[0])
		return nil
	}},
	"toStartOfDay": {least: 1, most: 2, apply: func(a hogArgs) any {
		at := hogArg[time.Time](a, 0)
		if len(a.list) == 2 {
			at = at.In(a.location())
		}
		return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, at.Location())
	}},
	"toString": {least: 1, most: 1, apply: func(a hogArgs) any { return fmt.Sprint(shownHog(a.list[0])) }},
	"replaceAll": {least: 3, most: 3, apply: func(a hogArgs) any {
		return strings.ReplaceAll(hogArg[string](a, 0), hogArg[string](a, 1), hogArg[string](a, 2))
	}},
	"concat": {least: 2, most: math.MaxInt, apply: func(a hogArgs) any {
		var text strings.Builder
		for i := range a.list {
			text.WriteString(hogArg[string](a, i))
		}
		return text.String()
	}},
	"cityHash64": {least: 1, most: 1, apply: func(a hogArgs) any {
		hash, ok := uuidsum.City([]byte(hogArg[string](a, 0)))
		if !ok {
			hogFail("illegal_type_of_argument", "The fake hashes texts of the length of a uuid only.")
		}
		return hash
	}},
	"MD5": {least: 1, most: 1, apply: func(a hogArgs) any {
		sum := md5.Sum([]byte(hogArg[string](a, 0)))
		return string(sum[:])
	}},
	"substring": {least: 3, most: 3, apply: func(a hogArgs) any {
		text := hogArg[string](a, 0)
		from := min(max(int(hogArg[float64](a, 1)), 1)-1, len(text))
		return text[from:min(from+max(int(hogArg[float64](a, 2)), 0), len(text))]
	}},
	"unhex": {least: 1, most: 1, apply: func(a hogArgs) any {
		b, err := hex.DecodeString(hogArg[string](a, 0))
		if err != nil {
			hogFail("illegal_type_of_argument", "Illegal type of argument: %q is not hexadecimal", a.list[0])
		}
		return string(b)
	}},
	"reverse": {least: 1, most: 1, apply: func(a hogArgs) any {
		b := []byte(hogArg[string](a, 0))
		slices.Reverse(b)
		return string(b)
	}},
	"reinterpretAsUInt64": {least: 1, most: 1, apply: func(a hogArgs) any {
		var b [8]byte
		copy(b[:], hogArg[string](a, 0))
		return binary.LittleEndian.Uint64(b[:])
	}},
}

// arity is that of the function in an era.
func (f hogFunction) arity(name string, e Era) (least, most int) {
	switch {
	case name == "toDateTime" && e == E1:
		return 1, 1
	case name == "toTimeZone" && e == E1:
		return 2, 2
	}
	return f.least, f.most
}

// hogArgs are the arguments of a call, and the project's time zone.
type hogArgs struct {
	list []any
	zone *time.Location
}

func hogArg[T any](a hogArgs, i int) T {
	v, ok := a.list[i].(T)
	if !ok {
		hogFail("illegal_type_of_argument", "Illegal type %T of argument %d: want %T", a.list[i], i+1, v)
	}
	return v
}

// hogZones has one pointer for each name: times of two would be two keys.
var hogZones sync.Map

// location is the zone that the second argument names, by default the project's.
func (a hogArgs) location() *time.Location {
	if len(a.list) < 2 {
		return a.zone
	}
	name := hogArg[string](a, 1)
	zone, err := time.LoadLocation(name)
	if err != nil {
		hogFail("hogql_query_error", "Unknown time zone %v", name)
	}
	one, _ := hogZones.LoadOrStore(name, zone)
	return one.(*time.Location)
}

// sumHog adds up numbers: whole ones of 64 bits wrap.
func sumHog(rows iter.Seq[hogKey]) any {
	var whole uint64
	var float float64
	isWhole := false
	for row := range rows {
		switch v := row[0].(type) {
		case nil:
		case uint64:
			whole, isWhole = whole+v, true
		case float64:
			float += v
		default:
			hogFail("illegal_type_of_argument", "Illegal type %T of argument for aggregate function sum", v)
		}
	}
	if isWhole {
		return whole
	}
	return float
}

// extreme is the least or greatest value; of no rows it is the beginning of time.
func extreme(rows iter.Seq[hogKey], sign int) (best any) {
	for row := range rows {
		if row[0] != nil && (best == nil || compareHog(row[0], best)*sign > 0) {
			best = row[0]
		}
	}
	if best == nil {
		best = time.Unix(0, 0).UTC()
	}
	return best
}

// compareHog orders two values of one type; NULL is the last. It knows no uuids: their order is not that of their texts, and the service
// looks for one of version 7 only near the time in it.
func compareHog(a, b any) int {
	switch a := a.(type) {
	case nil:
		return map[bool]int{false: 1}[b == nil]
	case string:
		if b, ok := b.(string); ok {
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
	}
	if b != nil {
		hogFail("type_mismatch", "There is no supertype for %T, %T; compare a uuid by toString(uuid)", a, b)
	}
	return -1
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

// hogGroup is some rows of the table or of an inner query, which an expression is about.
type hogGroup struct {
	rows   []int32
	column func(name string, row int32) any
	zone   *time.Location // the project's
}

// each is every row of the group by itself.
func (g hogGroup) each(yield func(hogGroup) bool) {
	rows := g.rows
	for i := range rows {
		if g.rows = rows[i : i+1 : i+1]; !yield(g) {
			return
		}
	}
}

// eval is the value of an expression for the group, or for its first row. NULL is nil.
func (n *hogNode) eval(g hogGroup) any {
	switch {
	case n.value != nil:
		return n.value
	case n.call == nil:
		if len(g.rows) == 0 {
			return nil
		}
		return g.column(n.name, g.rows[0])
	case n.call.fold != nil:
		return n.call.fold(func(yield func(hogKey) bool) {
			for row := range g.each {
				if !yield(values(n.args, row)) {
					return
				}
			}
		})
	}
	args := make([]any, len(n.args))
	for i, arg := range n.args {
		if args[i] = arg.eval(g); args[i] == nil && n.name != "OR" {
			return nil
		}
	}
	return n.call.apply(hogArgs{args, g.zone})
}

func values(nodes []*hogNode, g hogGroup) (key hogKey) {
	for i, n := range nodes {
		key[i] = n.eval(g)
	}
	return key
}

// holds reports whether all conditions hold. One with NULL does not.
func holds(conditions []*hogNode, g hogGroup) bool {
	for _, n := range conditions {
		if n.eval(g) != true {
			return false
		}
	}
	return true
}

// The service's limits of a result.
const (
	hogRows        = 50_000 // a larger LIMIT is cut to it silently
	hogDefaultRows = 100    // without a LIMIT
)

// result is as many rows of the result as the limit says, in the columns' order, and whether there are more.
func (q *hogQuery) result(p *Project, zone *time.Location, limit int) (rows [][]any, hasMore bool) {
	t := &p.server.table
	g := hogGroup{column: t.column(zone), zone: zone}
	over := func(rows [][]any, names []string) {
		g.column = func(name string, row int32) any { return rows[row][slices.Index(names, name)] }
		for i := range rows {
			g.rows = append(g.rows, int32(i))
		}
		g.rows = q.kept(g)
	}
	switch {
	case q.from != nil:
		inner, _ := q.from.result(p, zone, cmp.Or(q.from.limit, math.MaxInt32))
		over(inner, q.from.names)
	case q.table == "app_metrics":
		over(p.appMetrics(zone), hogTables[q.table])
	default:
		g.rows = q.selected(t, p.id, zone)
	}
	groups := slices.DeleteFunc(q.grouping(g), func(g hogGroup) bool { return !holds(q.having, g) })
	if len(q.order) > 0 {
		q.sort(groups)
	}
	rows = [][]any{}
	for _, g := range groups[:min(limit, len(groups))] {
		row := make([]any, len(q.columns))
		for i, n := range q.columns {
			row[i] = n.eval(g)
		}
		rows = append(rows, row)
	}
	return rows, len(groups) > limit
}

// days are the cells of a project's events on days that no bound of the timestamp excludes.
func (q *hogQuery) days(t *eventTable, project string) (cells []cellKey) {
	from, until := int32(math.MinInt32), int32(math.MaxInt32)
	for _, n := range q.where {
		if len(n.args) != 2 || n.args[0].name != "timestamp" {
			continue
		}
		at, _ := n.args[1].value.(time.Time)
		switch day := int32(floorDay(at)); n.name[0] {
		case '>':
			from = max(from, day)
		case '<':
			until = min(until, day)
		}
	}
	own := t.text(project)
	for _, key := range t.keys() {
		if key.project == own && from <= key.day && key.day <= until {
			cells = append(cells, key)
		}
	}
	return cells
}

// selected are the rows of a project's events that WHERE leaves.
func (q *hogQuery) selected(t *eventTable, project string, zone *time.Location) (kept []int32) {
	for _, key := range q.days(t, project) {
		kept = append(kept, q.kept(hogGroup{t.cells[key], t.column(zone), zone})...)
	}
	return kept
}

func (q *hogQuery) kept(g hogGroup) (kept []int32) {
	for row := range g.each {
		if holds(q.where, row) {
			kept = append(kept, row.rows[0])
		}
	}
	return kept
}

func (q *hogQuery) grouping(g hogGroup) (groups []hogGroup) {
	switch {
	case !q.grouped():
		return slices.Collect(g.each)
	case len(q.groups) == 0: // one row, also of nothing
		return []hogGroup{g}
	}
	at := map[hogKey]int{}
	for row := range g.each {
		key := values(q.groups, row)
		if n, ok := at[key]; ok {
			groups[n].rows = append(groups[n].rows, row.rows[0])
			continue
		}
		at[key] = len(groups)
		groups = append(groups, row)
	}
	return groups
}

func (q *hogQuery) sort(groups []hogGroup) {
	type keyed struct {
		key   hogKey
		group hogGroup
	}
	list := make([]keyed, len(groups))
	for i, g := range groups {
		list[i] = keyed{values(q.order, g), g}
	}
	slices.SortStableFunc(list, func(a, b keyed) int {
		for i, down := range q.down {
			if c := compareHog(a.key[i], b.key[i]); c != 0 {
				return map[bool]int{true: -c, false: c}[down]
			}
		}
		return 0
	})
	for i := range list {
		groups[i] = list[i].group
	}
}
