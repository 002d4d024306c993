package hogapitest

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// This is as much of HogQL as counting events takes: a SELECT over events, or over another one, with WHERE, GROUP BY, HAVING, ORDER BY
// and LIMIT.
// Names of functions and their numbers of arguments are held to the service's own table.

// hogFunction is how many arguments a function takes, with a most of 0 for any number, and the type of its result, by default String.
type hogFunction struct {
	least, most int
	aggregate   bool
	returns     string
}

const hogTime = "DateTime64(6, 'UTC')"

var hogFunctions = map[string]hogFunction{
	"count": {0, 1, true, "UInt64"}, "uniqExact": {1, 0, true, "UInt64"}, "countDistinct": {1, 1, true, "UInt64"}, "sum": {1, 1, true, "UInt64"},
	"min": {1, 1, true, hogTime}, "max": {1, 1, true, hogTime}, "unhex": {1, 1, false, ""}, "reverse": {1, 1, false, ""},
	"reinterpretAsUInt64": {1, 1, false, "UInt64"}, "substring": {3, 3, false, ""}, "replaceAll": {3, 3, false, ""},
	"toDate": {1, 1, false, "Date"}, "toTimeZone": {2, 2, false, hogTime}, "toDateTime": {1, 2, false, hogTime}, "toString": {1, 2, false, ""},
	"toUUID": {1, 1, false, "UUID"}, "toYYYYMM": {1, 1, false, ""}, "toStartOfDay": {1, 2, false, ""},
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

type hogError struct{ code, detail string }

func hogFail(code, format string, args ...any) { panic(&hogError{code, fmt.Sprintf(format, args...)}) }

// hogToken is a word, a name in quotes, a number, a text or a sign.
type hogToken struct {
	kind hogKind
	text string // without quotes
}

type hogKind int

// The kinds are the groups of hogLexer.
const (
	hogEnd hogKind = iota // blanks and comments too
	hogWord
	hogNumber
	hogText
	hogName // in backticks or double quotes: never a keyword
	hogSign
)

// A quote inside a text is doubled, or has a backslash.
var hogLexer = regexp.MustCompile(`^(?s:[ \t\r\n\f\v]+|--[^\n]*|/\*.*?\*/|` +
	`([A-Za-z_$][A-Za-z_$0-9]*)|([0-9][0-9.]*)|('(?:[^'\\]|\\.|'')*')|(` + "`(?:[^`\\\\]|\\\\.|``)*`" + `|"(?:[^"\\]|\\.|"")*")|(!=|<>|<=|>=|==|[(){}\[\],.=<>*]))`)

func hogTokens(text string) (list []hogToken) {
	for text != "" {
		at := hogLexer.FindStringSubmatchIndex(text)
		switch {
		case at == nil && strings.HasPrefix(text, "/*"):
			hogFail("hogql_syntax_error", "unterminated comment")
		case at == nil && strings.ContainsAny(text[:1], "'`\""):
			hogFail("hogql_syntax_error", "unterminated text")
		case at == nil:
			hogFail("hogql_syntax_error", "token recognition error at: '%c'", text[0])
		}
		for kind := hogWord; kind <= hogSign; kind++ {
			if from := at[2*kind]; from >= 0 {
				list = append(list, hogToken{kind, hogUnquoted(kind, text[from:at[2*kind+1]])})
			}
		}
		text = text[at[1]:]
	}
	return list
}

func hogUnquoted(kind hogKind, text string) string {
	switch {
	case text == "<>":
		return "!="
	case text == "==":
		return "="
	case kind != hogText && kind != hogName:
		return text
	}
	quote := text[:1]
	return strings.NewReplacer(`\\`, `\`, `\`, ``, quote+quote, quote).Replace(text[1 : len(text)-1])
}

// hogParser reads a query token by token. It panics with a hogError.
type hogParser struct {
	tokens []hogToken
	era    Era
	values map[string]any
	zone   *time.Location // the project's
	reads  []string       // the columns of events that the query reads
}

func parseHogQL(text string, values map[string]any, era Era, zone *time.Location) *hogQuery {
	p := &hogParser{tokens: hogTokens(text), era: era, values: values, zone: zone}
	q := p.query()
	if len(p.tokens) > 0 {
		hogFail("hogql_syntax_error", "mismatched input %q", p.tokens[0].text)
	}
	q.reads = p.reads
	return q
}

func (p *hogParser) query() *hogQuery {
	q := &hogQuery{}
	var aliases []string
	p.expect("SELECT")
	p.list(func() {
		q.names = append(q.names, p.peek().text)
		q.columns, aliases = append(q.columns, p.expression(0)), append(aliases, p.alias())
	})
	p.expect("FROM")
	if p.accept("(") {
		q.from = p.query()
		p.expect(")")
	} else if !p.accept("events") {
		hogFail("hogql_query_error", "Unknown table %q.", p.next().text)
	}
	table := cmp.Or(p.alias(), "events")
	if p.accept("WHERE") {
		q.where = conjuncts(p.expression(0))
	}
	if p.acceptBy("GROUP") {
		p.list(func() { q.groups = append(q.groups, p.expression(0)) })
	}
	if p.accept("HAVING") {
		q.having = conjuncts(p.expression(0))
	}
	if p.acceptBy("ORDER") {
		p.list(func() {
			q.order, q.down = append(q.order, p.expression(0)), append(q.down, p.accept("DESC"))
			p.accept("ASC")
		})
	}
	if p.accept("LIMIT") {
		q.limit, _ = strconv.Atoi(p.next().text)
		if q.limit < 1 {
			hogFail("hogql_syntax_error", "LIMIT takes a number.")
		}
	}
	if p.is("OFFSET") || p.is(",") && q.limit > 0 {
		hogFail("hogql_query_error", "OFFSET is not supported for personal API keys: page by a key.")
	}
	p.resolve(q, table, aliases)
	q.check()
	return q
}

func (p *hogParser) list(item func()) {
	for more := true; more; more = p.accept(",") {
		item()
	}
}

func (p *hogParser) acceptBy(word string) bool {
	if !p.accept(word) {
		return false
	}
	p.expect("BY")
	return true
}

// reserved are the words that end an expression, and so are no alias.
var reserved = []string{"FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "AS", "AND", "OR", "NOT", "IN", "BETWEEN", "ASC", "DESC", "BY"}

func isReserved(t hogToken) bool {
	return t.kind == hogWord && slices.Contains(reserved, strings.ToUpper(t.text))
}

// alias reads an optional name, with AS or without.
func (p *hogParser) alias() string {
	as := p.accept("AS")
	t := p.peek()
	isName := t.kind == hogWord || t.kind == hogName
	if !as && (isReserved(t) || !isName) {
		return ""
	}
	if !isName {
		hogFail("hogql_syntax_error", "mismatched input %q", t.text)
	}
	return p.next().text
}

// hogLevels are the operators: those with a higher level bind first.
var hogLevels = map[string]int{"OR": 1, "AND": 2, "=": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4, "IN": 4, "NOT": 4, "BETWEEN": 4}

// expression reads operators above a level, and their operands.
func (p *hogParser) expression(level int) (left hogNode) {
	if p.accept("NOT") {
		left = operator("NOT", p.expression(3))
	} else {
		left = p.operand()
	}
	for {
		t := p.peek()
		text := strings.ToUpper(t.text)
		above := hogLevels[text]
		if above <= level || t.kind != hogWord && t.kind != hogSign {
			return left
		}
		p.next()
		switch text {
		case "NOT":
			p.expect("IN")
			left = operator("NOT", operator("IN", append([]hogNode{left}, p.arguments()...)...))
		case "IN":
			left = operator("IN", append([]hogNode{left}, p.arguments()...)...)
		case "BETWEEN":
			low := p.expression(above)
			p.expect("AND")
			left = operator("AND", operator(">=", left, low), operator("<=", left, p.expression(above)))
		default:
			left = operator(text, left, p.expression(above))
		}
	}
}

func (p *hogParser) arguments() (list []hogNode) {
	p.expect("(")
	if !p.accept(")") {
		p.list(func() { list = append(list, p.expression(0)) })
		p.expect(")")
	}
	return list
}

func (p *hogParser) operand() hogNode {
	token := p.next()
	switch {
	case token == hogToken{hogSign, "("}:
		inner := p.expression(0)
		p.expect(")")
		return inner
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
		value := p.values[name]
		if value == nil {
			hogFail("hogql_query_error", "Unresolved placeholder: {%s}", name)
		}
		return hogNode{kind: hogConstant, value: value}
	case token.kind == hogSign, isReserved(token):
		hogFail("hogql_syntax_error", "mismatched input %q", token.text)
	case token.kind == hogWord && p.is("("):
		return p.call(token.text)
	}
	return hogNode{text: p.path(token.text)}
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

func (p *hogParser) call(name string) hogNode {
	if name == "count" && len(p.tokens) > 1 && strings.EqualFold(p.tokens[1].text, "DISTINCT") {
		p.tokens = slices.Concat(p.tokens[:1], p.tokens[2:])
		name = "uniqExact"
	}
	node := hogNode{kind: hogCall, text: name, args: p.arguments()}
	p.checkCall(node)
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

// resolve finds the columns and aliases of a query that has been read. Calls of constants become constants.
func (p *hogParser) resolve(q *hogQuery, table string, given []string) {
	aliases := map[string]hogNode{}
	resolved := func(n hogNode) hogNode { return p.resolved(n, q.from, table+".", aliases) }
	for i, alias := range given {
		q.columns[i] = resolved(q.columns[i])
		q.names[i] = cmp.Or(alias, q.columns[i].text, q.names[i])
		if alias != "" {
			aliases[alias] = q.columns[i]
		}
	}
	for _, list := range [][]hogNode{q.where, q.groups, q.having, q.order} {
		for i := range list {
			list[i] = resolved(list[i])
		}
	}
}

func (p *hogParser) resolved(n hogNode, from *hogQuery, table string, aliases map[string]hogNode) hogNode {
	if n.kind == hogColumn {
		if aliased, ok := aliases[n.text]; ok { // it hides a column of its name, as in ClickHouse
			return aliased
		}
		n.text = strings.TrimPrefix(n.text, table)
		switch {
		case from != nil && slices.Contains(from.names, n.text):
		case from == nil && (slices.Contains(hogColumns, n.text) || strings.HasPrefix(n.text, "properties.")):
			p.reads = append(p.reads, n.text)
		default:
			hogFail("hogql_query_error", "Unable to resolve field: %s", n.text)
		}
		return n
	}
	n.args = slices.Clone(n.args)
	for i := range n.args {
		n.args[i] = p.resolved(n.args[i], from, table, aliases)
	}
	if n.kind == hogCall && !hogFunctions[n.text].aggregate && len(n.columns()) == 0 {
		return hogNode{kind: hogConstant, text: n.text, value: n.eval(hogGroup{zone: p.zone})}
	}
	return n
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
