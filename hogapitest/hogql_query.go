package hogapitest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// hogNode is an expression: a column, a constant, a call, or an operator with its sign or word as text.
type hogNode struct {
	kind  hogNodeKind
	text  string
	args  []hogNode
	value any // of a constant
}

type hogNodeKind uint8

const (
	hogColumn hogNodeKind = iota
	hogConstant
	hogCall
	hogOperator
)

// key is one text for equal expressions.
func (n hogNode) key() string {
	if n.kind == hogConstant {
		return fmt.Sprintf("%T %v", n.value, n.value)
	}
	parts := make([]string, len(n.args))
	for i, arg := range n.args {
		parts[i] = arg.key()
	}
	return n.text + "(" + strings.Join(parts, ",") + ")"
}

func (n hogNode) aggregates() bool {
	return n.kind == hogCall && hogFunctions[n.text].aggregate || slices.ContainsFunc(n.args, hogNode.aggregates)
}

func (n hogNode) columns() []string {
	if n.kind == hogColumn {
		return []string{n.text}
	}
	var list []string
	for _, arg := range n.args {
		list = append(list, arg.columns()...)
	}
	return list
}

type hogQuery struct {
	from    *hogQuery // nil: events
	columns []hogNode
	names   []string
	where   []hogNode // all of them hold
	groups  []hogNode
	having  []hogNode
	order   []hogNode
	down    []bool   // of order
	limit   int      // 0 without LIMIT
	reads   []string // columns of events
}

func operator(text string, args ...hogNode) hogNode {
	return hogNode{kind: hogOperator, text: text, args: args}
}

// conjuncts are the parts of a condition that all have to hold.
func conjuncts(n hogNode) []hogNode {
	switch {
	case n.kind != hogOperator:
		hogFail("illegal_type_of_column_for_filter", "Illegal type of column for filter: %s", n.text)
	case n.text == "AND":
		return append(conjuncts(n.args[0]), conjuncts(n.args[1])...)
	}
	return []hogNode{n}
}

// check refuses aggregates and columns in the wrong places, as ClickHouse does.
func (q *hogQuery) check() {
	if slices.ContainsFunc(slices.Concat(q.where, q.groups), hogNode.aggregates) {
		hogFail("hogql_query_error", "Aggregate function is found in WHERE or GROUP BY.")
	}
	if !q.grouped() {
		if len(q.having) > 0 {
			hogFail("hogql_query_error", "HAVING takes aggregate functions.")
		}
		return
	}
	for _, n := range slices.Concat(q.columns, q.having, q.order) {
		q.checkGrouped(n)
	}
}

// grouped reports whether a row of the result stands for several events.
func (q *hogQuery) grouped() bool {
	return len(q.groups) > 0 || slices.ContainsFunc(q.columns, hogNode.aggregates)
}

func (q *hogQuery) checkGrouped(n hogNode) {
	switch {
	case n.kind == hogConstant, n.kind == hogCall && hogFunctions[n.text].aggregate:
	case slices.ContainsFunc(q.groups, func(g hogNode) bool { return g.key() == n.key() }):
	case n.kind == hogColumn:
		hogFail("hogql_query_error", "Column %s is not under aggregate function and not in GROUP BY keys.", n.text)
	default:
		for _, arg := range n.args {
			q.checkGrouped(arg)
		}
	}
}

func (q *hogQuery) types() [][2]string {
	list := make([][2]string, len(q.columns))
	for i, column := range q.columns {
		kind := map[string]string{"timestamp": hogTime, "uuid": "UUID"}[column.text]
		list[i] = [2]string{q.names[i], cmp.Or(kind, hogFunctions[column.text].returns, "String")}
	}
	return list
}
