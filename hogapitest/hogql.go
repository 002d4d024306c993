package hogapitest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// This is as much of HogQL as counting events takes: a SELECT over events, or over another one, with WHERE, GROUP BY, HAVING, ORDER BY
// and LIMIT.
// Names of functions and their numbers of arguments are held to the service's own table.

// hogFunction is how many arguments a function takes; most of 0 is any number.
type hogFunction struct {
	least, most int
	aggregate   bool
}

var hogFunctions = map[string]hogFunction{
	"count": {0, 1, true}, "uniqExact": {1, 0, true}, "countDistinct": {1, 1, true}, "min": {1, 1, true}, "max": {1, 1, true},
	"sum": {1, 1, true}, "unhex": {1, 1, false}, "reverse": {1, 1, false}, "reinterpretAsUInt64": {1, 1, false},
	"substring": {3, 3, false}, "replaceAll": {3, 3, false},
	"toDate": {1, 1, false}, "toTimeZone": {2, 2, false}, "toDateTime": {1, 2, false}, "toString": {1, 2, false},
	"toUUID": {1, 1, false}, "toYYYYMM": {1, 1, false}, "toStartOfDay": {1, 2, false},
}

// hogColumns are the columns of events that the fake has, in addition to their properties.
var hogColumns = []string{"uuid", "event", "timestamp", "distinct_id", "properties"}

// arity is that of the function in an era.
func (f hogFunction) arity(name string, e Era) (least, most int) {
	switch {
	case name == "toDateTime" && e == E1:
		return 1, 1
	case name == "toTimeZone" && e >= E4:
		return 1, 2
	}
	return f.least, f.most
}

// hogError is why a query is refused.
type hogError struct{ code, detail string }

func (e *hogError) Error() string { return e.detail }

func hogFail(code, format string, args ...any) { panic(&hogError{code, fmt.Sprintf(format, args...)}) }

// hogParser reads a query token by token. It panics with a hogError.
type hogParser struct {
	tokens  []hogToken
	era     Era
	values  map[string]any
	aliases map[string]hogNode
	table   string         // the name that events has in the query
	zone    *time.Location // the project's
	from    *hogQuery      // the inner query; nil selects from events
}

// parseHogQL reads a query.
func parseHogQL(text string, values map[string]any, era Era, zone *time.Location) *hogQuery {
	p := &hogParser{tokens: hogTokens(text), era: era, values: values, zone: zone}
	return p.query()
}

// query reads all tokens.
func (p *hogParser) query() *hogQuery {
	p.aliases, p.table = map[string]hogNode{}, tableName(p.tokens)
	p.from = p.subquery()
	q := &hogQuery{from: p.from}
	p.expect("SELECT")
	for more := true; more; more = p.accept(",") {
		node, name := p.column()
		q.columns, q.names = append(q.columns, node), append(q.names, name)
	}
	p.expect("FROM")
	if q.from == nil && !p.is("events") {
		hogFail("hogql_query_error", "Unknown table %q.", p.next().text)
	}
	p.next()
	p.alias()
	if p.accept("WHERE") {
		q.where = conjuncts(p.condition())
	}
	if p.accept("GROUP") {
		p.expect("BY")
		for more := true; more; more = p.accept(",") {
			q.groups = append(q.groups, p.expression())
		}
	}
	if p.accept("HAVING") {
		q.having = conjuncts(p.condition())
	}
	if p.accept("ORDER") {
		p.expect("BY")
		for more := true; more; more = p.accept(",") {
			by := hogOrder{by: p.expression()}
			by.down = p.accept("DESC")
			_ = by.down || p.accept("ASC")
			q.order = append(q.order, by)
		}
	}
	if p.accept("LIMIT") {
		n, err := strconv.Atoi(p.next().text)
		if err != nil || n < 1 {
			hogFail("hogql_syntax_error", "LIMIT takes a number.")
		}
		q.limit = n
	}
	if p.is("OFFSET") || p.is(",") && q.limit > 0 {
		hogFail("hogql_query_error", "OFFSET is not supported for personal API keys: page by a key.")
	}
	if len(p.tokens) > 0 {
		hogFail("hogql_syntax_error", "mismatched input %q", p.tokens[0].text)
	}
	q.check()
	return q
}

// subquery reads the query in parentheses after FROM, and leaves one token in its place.
func (p *hogParser) subquery() *hogQuery {
	depth, from := 0, -1
	for i, t := range p.tokens {
		switch {
		case t == hogToken{hogSign, "("}:
			depth++
			if depth == 1 && i > 0 && p.tokens[i-1].kind == hogWord && strings.EqualFold(p.tokens[i-1].text, "FROM") {
				from = i
			}
		case t == hogToken{hogSign, ")"}:
			depth--
			if depth == 0 && from >= 0 {
				inner := *p
				inner.tokens = p.tokens[from+1 : i]
				p.tokens = slices.Concat(p.tokens[:from], p.tokens[i:])
				return inner.query()
			}
		}
	}
	return nil
}

// reserved are the words that end an expression, and so are no alias.
var reserved = []string{"FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "AS", "AND", "OR", "NOT", "IN", "BETWEEN", "ASC", "DESC", "BY"}

func isReserved(t hogToken) bool {
	return t.kind == hogWord && slices.Contains(reserved, strings.ToUpper(t.text))
}

// tableName finds the alias of events, which columns before it may use.
func tableName(tokens []hogToken) string {
	for i, t := range tokens {
		if t.kind != hogWord || !strings.EqualFold(t.text, "FROM") {
			continue
		}
		p := &hogParser{tokens: tokens[min(i+2, len(tokens)):]}
		return cmp.Or(p.alias(), "events")
	}
	return "events"
}

// alias reads an optional name, with AS or without.
func (p *hogParser) alias() string {
	as := p.accept("AS")
	t := p.peek()
	if !as && (isReserved(t) || t.kind != hogWord && t.kind != hogName) {
		return ""
	}
	if t.kind != hogWord && t.kind != hogName {
		hogFail("hogql_syntax_error", "mismatched input %q", t.text)
	}
	return p.next().text
}

// column reads one column of the result.
func (p *hogParser) column() (hogNode, string) {
	from := p.peek()
	node := p.expression()
	name := p.alias()
	if name == "" {
		return node, cmp.Or(node.text, from.text)
	}
	p.aliases[name] = node
	return node, name
}

// condition reads OR, and below it AND, NOT and comparisons.
func (p *hogParser) condition() hogNode {
	left := p.both()
	for p.accept("OR") {
		left = operator("OR", left, p.both())
	}
	return left
}

func (p *hogParser) both() hogNode {
	left := p.comparison()
	for p.accept("AND") {
		left = operator("AND", left, p.comparison())
	}
	return left
}

func operator(text string, args ...hogNode) hogNode {
	return hogNode{kind: hogOperator, text: text, args: args}
}

func (p *hogParser) comparison() hogNode {
	if p.accept("NOT") {
		return operator("NOT", p.comparison())
	}
	if p.accept("(") {
		inner := p.condition()
		p.expect(")")
		return inner
	}
	left := p.expression()
	switch {
	case p.accept("BETWEEN"):
		low := p.expression()
		p.expect("AND")
		return operator("AND", operator(">=", left, low), operator("<=", left, p.expression()))
	case p.accept("IN"):
		return operator("IN", append([]hogNode{left}, p.arguments()...)...)
	case p.accept("NOT"):
		p.expect("IN")
		return operator("NOT", operator("IN", append([]hogNode{left}, p.arguments()...)...))
	}
	sign := p.next()
	if sign.kind != hogSign || !slices.Contains([]string{"=", "!=", "<", "<=", ">", ">="}, sign.text) {
		hogFail("hogql_syntax_error", "mismatched input %q", sign.text)
	}
	return operator(sign.text, left, p.expression())
}

// arguments reads expressions in parentheses.
func (p *hogParser) arguments() (list []hogNode) {
	p.expect("(")
	for !p.accept(")") {
		if len(list) > 0 {
			p.expect(",")
		}
		list = append(list, p.expression())
	}
	return list
}

func (p *hogParser) expression() hogNode {
	token := p.next()
	switch {
	case token.kind == hogText:
		return hogNode{kind: hogConstant, value: token.text}
	case token.kind == hogNumber:
		n, err := strconv.ParseFloat(token.text, 64)
		if err != nil {
			hogFail("hogql_syntax_error", "mismatched input %q", token.text)
		}
		return hogNode{kind: hogConstant, value: n}
	case token == hogToken{hogSign, "{"}:
		name := p.path(p.next().text)
		p.expect("}")
		value, ok := p.values[name]
		if !ok || value == nil {
			hogFail("hogql_query_error", "Unresolved placeholder: {%s}", name)
		}
		return hogNode{kind: hogConstant, value: value}
	case token.kind == hogSign, isReserved(token):
		hogFail("hogql_syntax_error", "mismatched input %q", token.text)
	case token.kind == hogWord && p.is("("):
		return p.call(token.text)
	}
	return p.field(token.text)
}

// field reads a column, with the table's name or without, or an alias.
func (p *hogParser) field(name string) hogNode {
	if name == p.table && p.accept(".") {
		name = p.next().text
	} else if aliased, ok := p.aliases[name]; ok && !p.is(".") { // which hides a column of its name, as in ClickHouse
		return aliased
	}
	if p.from != nil && slices.Contains(p.from.names, name) {
		return hogNode{text: name}
	}
	name = p.path(name)
	if p.from != nil || !slices.Contains(hogColumns, name) && !strings.HasPrefix(name, "properties.") {
		hogFail("hogql_query_error", "Unable to resolve field: %s", name)
	}
	return hogNode{text: name}
}

// path reads any number of .name or ['name'] after a name.
func (p *hogParser) path(name string) string {
	parts := []string{name}
	for p.is(".") || p.is("[") {
		bracket := p.next().text == "["
		parts = append(parts, p.next().text)
		if bracket {
			p.expect("]")
		}
	}
	return strings.Join(parts, ".")
}

// call reads a call. One of constants is a constant.
func (p *hogParser) call(name string) hogNode {
	node := hogNode{kind: hogCall, text: name}
	if name == "count" && len(p.tokens) > 1 && strings.EqualFold(p.tokens[1].text, "DISTINCT") {
		p.tokens = slices.Concat(p.tokens[:1], p.tokens[2:])
		node.text = "uniqExact"
	}
	node.args = p.arguments()
	p.checkCall(node)
	if !hogFunctions[node.text].aggregate && len(node.columns()) == 0 {
		return hogNode{kind: hogConstant, text: name, value: node.eval(hogGroup{zone: p.zone})}
	}
	return node
}

// checkCall refuses a function that the service does not know, or that takes another number of arguments.
func (p *hogParser) checkCall(node hogNode) {
	function, ok := hogFunctions[node.text]
	if !ok {
		hogFail("hogql_query_error", "Unsupported function call '%s(...)'. Known are %s.", node.text, strings.Join(slices.Sorted(maps.Keys(hogFunctions)), ", "))
	}
	least, most := function.arity(node.text, p.era)
	n, want := len(node.args), strconv.Itoa(least)
	switch {
	case most == 0 && n >= least, least <= n && n <= most:
		return
	case most == 0:
		want += " or more"
	case least < most:
		want += " to " + strconv.Itoa(most)
	}
	hogFail("hogql_query_error", "Function '%s' expects %s arguments, found %d", node.text, want, n)
}

func (p *hogParser) peek() hogToken {
	if len(p.tokens) == 0 {
		return hogToken{}
	}
	return p.tokens[0]
}

func (p *hogParser) next() hogToken {
	token := p.peek()
	if token.kind == hogEnd {
		hogFail("hogql_syntax_error", "mismatched input '<EOF>'")
	}
	p.tokens = p.tokens[1:]
	return token
}

// is reports whether a sign, or a keyword in any case, is next.
func (p *hogParser) is(token string) bool {
	t := p.peek()
	return (t.kind == hogSign || t.kind == hogWord) && strings.EqualFold(t.text, token)
}

func (p *hogParser) accept(token string) bool {
	if !p.is(token) {
		return false
	}
	p.tokens = p.tokens[1:]
	return true
}

func (p *hogParser) expect(token string) {
	if !p.accept(token) {
		hogFail("hogql_syntax_error", "mismatched input %q expecting %s", p.peek().text, token)
	}
}
