package hogapitest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// hogGroup is some rows of the table, which an expression is about.
type hogGroup struct {
	table *eventTable
	rows  []int32
	zone  *time.Location // the project's
	sub   *hogSub        // of which the rows are, in place of the table
}

// hogSub is the result of a query that another one selects from.
type hogSub struct {
	names []string
	rows  [][]any
}

func (g hogGroup) one(i int32) hogGroup {
	g.rows = []int32{i}
	return g
}

// holds reports whether all conditions hold. One with NULL does not.
func holds(conditions []hogNode, group hogGroup) bool {
	for _, c := range conditions {
		if c.eval(group) != true {
			return false
		}
	}
	return true
}

func (n hogNode) eval(group hogGroup) any {
	switch n.kind {
	case hogConstant:
		return n.value
	case hogColumn:
		return group.column(n.text)
	case hogOperator:
		return n.operate(group)
	case hogCall:
	}
	switch n.text {
	case "count":
		return float64(len(group.rows))
	case "uniqExact", "countDistinct":
		return n.different(group)
	case "min", "max":
		return n.extreme(group)
	case "sum":
		return n.sum(group)
	}
	args := make([]any, len(n.args))
	for i, arg := range n.args {
		if args[i] = arg.eval(group); args[i] == nil {
			return nil
		}
	}
	return hogApply(n.text, args, group.zone)
}

// operate is a condition: true, false or NULL.
func (n hogNode) operate(group hogGroup) any {
	left := n.args[0].eval(group)
	switch n.text {
	case "AND":
		return left == true && n.args[1].eval(group) == true
	case "OR":
		return left == true || n.args[1].eval(group) == true
	case "NOT":
		if left == nil {
			return nil
		}
		return left != true
	case "IN":
		for _, arg := range n.args[1:] {
			if operator("=", n.args[0], arg).eval(group) == true {
				return true
			}
		}
		return false
	}
	right := n.args[1].eval(group)
	if left == nil || right == nil {
		return nil
	}
	order := compareHog(left, right)
	switch n.text {
	case "=":
		return order == 0 && !outOfBounds(n, group, left)
	case "!=":
		return order != 0
	}
	return strings.Contains(n.text, []string{"<", "=", ">"}[order+1])
}

// outOfBounds is the service's rule for look-ups by a uuid of version 7: it searches 3 days around the time in the uuid only.
func outOfBounds(n hogNode, group hogGroup, left any) bool {
	id, ok := left.(uuid.UUID)
	if !ok || group.sub != nil || id.Version() != 7 || n.args[0].kind != hogColumn || n.args[1].kind != hogConstant {
		return false
	}
	made := time.UnixMilli(int64(id[0])<<40 | int64(id[1])<<32 | int64(id[2])<<24 | int64(id[3])<<16 | int64(id[4])<<8 | int64(id[5]))
	return group.table.rows[group.rows[0]].at.Sub(made).Abs() > 72*time.Hour
}

func (n hogNode) different(group hogGroup) any {
	seen := map[string]struct{}{}
	var key []byte
	for _, i := range group.rows {
		key = hogKey(key[:0], n.args, group.one(i))
		seen[string(key)] = struct{}{}
	}
	return float64(len(seen))
}

// sum adds up numbers: whole ones of 64 bits wrap.
func (n hogNode) sum(group hogGroup) any {
	var whole uint64
	var float float64
	isWhole := false
	for _, i := range group.rows {
		switch v := n.args[0].eval(group.one(i)).(type) {
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
func (n hogNode) extreme(group hogGroup) any {
	var best any = time.Unix(0, 0).UTC()
	first := true
	for _, i := range group.rows {
		v := n.args[0].eval(group.one(i))
		if v == nil {
			continue
		}
		if first {
			best, first = v, false
		}
		if c := compareHog(v, best); n.text == "min" && c < 0 || n.text == "max" && c > 0 {
			best = v
		}
	}
	return best
}

// hogKey appends the values of some expressions, so that different values differ.
func hogKey(key []byte, nodes []hogNode, group hogGroup) []byte {
	for _, node := range nodes {
		switch v := node.eval(group).(type) {
		case nil:
			key = append(key, 0)
		case string:
			key = append(strconv.AppendInt(key, int64(len(v)), 10), ':')
			key = append(key, v...)
		case uuid.UUID:
			key = append(key, v[:]...)
		case time.Time:
			key = strconv.AppendInt(key, v.UnixMicro(), 10)
		case float64:
			key = strconv.AppendUint(key, math.Float64bits(v), 16)
		default:
			key = fmt.Append(key, v)
		}
		key = append(key, ';')
	}
	return key
}

// column is the value of the group's first row.
func (g hogGroup) column(name string) any {
	if len(g.rows) == 0 {
		return nil
	}
	if g.sub != nil {
		return g.sub.rows[g.rows[0]][slices.Index(g.sub.names, name)]
	}
	r := &g.table.rows[g.rows[0]]
	switch name {
	case "event":
		return g.table.texts[r.key.name]
	case "uuid":
		return r.id
	case "distinct_id":
		return g.table.texts[r.who]
	case "timestamp":
		return r.at.In(g.zone)
	case "properties": // JSON as text
		return cmp.Or(string(r.properties), "{}")
	case "properties." + importID:
		if job := g.table.texts[r.key.job]; job != "" {
			return job
		}
		return nil
	}
	if r.properties == nil {
		return nil
	}
	key := strings.TrimPrefix(name, "properties.")
	for _, m := range slices.Backward(members(r.properties)) {
		if m.key == key && !isNull(m.value) {
			return asText(m.value)
		}
	}
	return nil
}

func hogApply(name string, args []any, zone *time.Location) any {
	at, isTime := args[0].(time.Time)
	text, isText := args[0].(string)
	if len(args) == 2 {
		zone = hogZone(fmt.Sprint(args[1]))
		at = at.In(zone)
	}
	switch {
	case (name == "toTimeZone" || name == "toDateTime") && isTime:
		return at
	case name == "toDate" && isTime:
		if at.Unix() < 0 { // days begin with 1970
			at = time.Unix(0, 0).UTC()
		}
		return at.Format(time.DateOnly)
	case name == "toStartOfDay" && isTime:
		return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, at.Location())
	case name == "toYYYYMM" && isTime:
		return float64(at.Year()*100 + int(at.Month()))
	case name == "toDateTime" && isText:
		for _, layout := range []string{time.RFC3339Nano, time.DateTime, time.DateOnly} {
			if t, err := time.ParseInLocation(layout, text, zone); err == nil {
				return t
			}
		}
	case name == "toString":
		return fmt.Sprint(shownHog(args[0]))
	case name == "replaceAll" && isText:
		return strings.ReplaceAll(text, fmt.Sprint(args[1]), fmt.Sprint(args[2]))
	case name == "substring" && isText:
		from, length := wholeHog(args[1]), wholeHog(args[2])
		if from < 1 || length < 0 {
			break // which the fake does not know
		}
		from = min(from-1, len(text))
		return text[from:min(from+length, len(text))]
	case name == "unhex" && isText:
		if b, err := hex.DecodeString(text); err == nil {
			return string(b)
		}
	case name == "reverse" && isText:
		b := []byte(text)
		slices.Reverse(b)
		return string(b)
	case name == "reinterpretAsUInt64" && isText:
		var b [8]byte
		copy(b[:], text)
		return binary.LittleEndian.Uint64(b[:])
	case name == "toUUID" && isText:
		if id, err := uuid.Parse(text); err == nil {
			return id
		}
	}
	hogFail("illegal_type_of_argument", "Illegal type of argument of function %s", name)
	return nil
}

func wholeHog(v any) int {
	n, ok := v.(float64)
	if !ok {
		hogFail("illegal_type_of_argument", "Illegal type %T, a number is needed", v)
	}
	return int(n)
}

func hogZone(name string) *time.Location {
	if name == "UTC" {
		return time.UTC
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		hogFail("hogql_query_error", "Unknown time zone %v", name)
	}
	return zone
}

// compareHog orders two values of one type. UUIDs have an order of their own, which is not that of their texts.
func compareHog(a, b any) int {
	if _, isUUID := a.(uuid.UUID); isUUID {
		if text, ok := b.(string); ok { // a text compared with a UUID is read as one
			id, err := uuid.Parse(text)
			if err != nil {
				hogFail("type_mismatch", "Cannot parse UUID from %q", b)
			}
			b = id
		}
	}
	switch b := b.(type) {
	case string:
		if a, ok := a.(string); ok {
			return cmp.Compare(a, b)
		}
	case float64:
		if a, ok := a.(float64); ok {
			return cmp.Compare(a, b)
		}
	case time.Time:
		if a, ok := a.(time.Time); ok {
			return a.Compare(b)
		}
	case uuid.UUID:
		if a, ok := a.(uuid.UUID); ok {
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
