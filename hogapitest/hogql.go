package hogapitest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// This is as much of HogQL as counting events takes: one SELECT over events, with WHERE, GROUP BY, HAVING, ORDER BY and LIMIT.
// Names of functions and their numbers of arguments are held to the service's own table.

// hogFunction is how many arguments a function takes; most of 0 is any number.
type hogFunction struct {
	least, most int
	aggregate   bool
}

var hogFunctions = map[string]hogFunction{
	"count": {0, 1, true}, "uniqExact": {1, 0, true}, "countDistinct": {1, 1, true}, "min": {1, 1, true}, "max": {1, 1, true},
	"toDate": {1, 1, false}, "toTimeZone": {2, 2, false}, "toDateTime": {1, 2, false}, "toString": {1, 2, false},
	"toUUID": {1, 1, false}, "toYYYYMM": {1, 1, false}, "toStartOfDay": {1, 2, false},
}

// hogColumns are the columns of events that the fake has, in addition to those of its properties.
var hogColumns = []string{"uuid", "event", "timestamp", "distinct_id"}

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

// hogNode is an expression: a call, an operator (whose text is its sign), a column or a constant.
type hogNode struct {
	text  string
	args  []hogNode
	call  bool
	value any // of a constant
}

func (n hogNode) isColumn() bool { return !n.call && n.value == nil }

// aggregates reports whether the expression holds an aggregate function.
func (n hogNode) aggregates() bool {
	return n.call && hogFunctions[n.text].aggregate || slices.ContainsFunc(n.args, hogNode.aggregates)
}

type hogQuery struct {
	columns []hogNode
	names   []string
	where   []hogNode
	groups  []hogNode
	having  []hogNode
	order   []hogNode
	limit   int // 0: none was given
}

// hogError is why a query is refused.
type hogError struct{ code, detail string }

func (e *hogError) Error() string { return e.detail }

func hogFail(code, format string, args ...any) { panic(&hogError{code, fmt.Sprintf(format, args...)}) }

// hogParser reads a query token by token. It panics with a hogError.
type hogParser struct {
	tokens  []string
	era     Era
	values  map[string]any
	aliases map[string]hogNode
}

// parseHogQL reads a query.
func parseHogQL(text string, values map[string]any, era Era) *hogQuery {
	p := &hogParser{tokens: hogTokens(text), era: era, values: values, aliases: map[string]hogNode{}}
	q := &hogQuery{}
	p.expect("SELECT")
	for more := true; more; more = p.accept(",") {
		node := p.expression()
		name := node.text
		if p.accept("AS") {
			name = p.next()
			p.aliases[name] = node
		}
		q.columns, q.names = append(q.columns, node), append(q.names, name)
	}
	p.expect("FROM")
	if table := p.next(); table != "events" {
		hogFail("hogql_query_error", "Unknown table %q.", table)
	}
	if p.accept("WHERE") {
		q.where = p.conditions()
	}
	if p.accept("GROUP") {
		p.expect("BY")
		q.groups = p.list()
	}
	if p.accept("HAVING") {
		q.having = p.conditions()
	}
	if p.accept("ORDER") {
		p.expect("BY")
		q.order = p.list()
	}
	if p.accept("LIMIT") {
		n, err := strconv.Atoi(p.next())
		if err != nil || n < 1 {
			hogFail("hogql_syntax_error", "LIMIT takes a number.")
		}
		q.limit = n
	}
	if p.accept("OFFSET") {
		hogFail("hogql_query_error", "OFFSET is not supported for personal API keys: page by a key.")
	}
	if len(p.tokens) > 0 {
		hogFail("hogql_syntax_error", "mismatched input %q", p.tokens[0])
	}
	return q
}

// list reads the expressions of GROUP BY and ORDER BY.
func (p *hogParser) list() (list []hogNode) {
	for more := true; more; more = p.accept(",") {
		list = append(list, p.expression())
	}
	return list
}

func (p *hogParser) conditions() (list []hogNode) {
	for more := true; more; more = p.accept("AND") {
		left := p.expression()
		sign := p.next()
		if !slices.Contains([]string{"=", "!=", "<", "<=", ">", ">="}, sign) {
			hogFail("hogql_syntax_error", "mismatched input %q", sign)
		}
		list = append(list, hogNode{text: sign, args: []hogNode{left, p.expression()}})
	}
	return list
}

func (p *hogParser) expression() hogNode {
	token := p.next()
	switch {
	case token == "{":
		name := p.next()
		p.expect("}")
		value, ok := p.values[name]
		if !ok || value == nil {
			hogFail("hogql_query_error", "Unresolved placeholder: {%s}", name)
		}
		return hogNode{text: name, value: value}
	case token[0] == '\'':
		return hogNode{text: token, value: strings.NewReplacer(`\\`, `\`, `\'`, `'`, `''`, `'`).Replace(token[1 : len(token)-1])}
	case '0' <= token[0] && token[0] <= '9':
		n, err := strconv.ParseFloat(token, 64)
		if err != nil {
			hogFail("hogql_syntax_error", "mismatched input %q", token)
		}
		return hogNode{text: token, value: n}
	case !isHogLetter(token[0]):
		hogFail("hogql_syntax_error", "mismatched input %q", token)
	}
	node := hogNode{text: token}
	if !p.accept("(") {
		for p.accept(".") {
			node.text += "." + p.next()
		}
		if aliased, ok := p.aliases[token]; ok { // which hides a column of its name, as in ClickHouse
			return aliased
		}
		if !slices.Contains(hogColumns, node.text) && !strings.HasPrefix(node.text, "properties.") {
			hogFail("hogql_query_error", "Unable to resolve field: %s", node.text)
		}
		return node
	}
	if p.accept("DISTINCT") && token == "count" {
		node.text = "uniqExact"
	}
	node.call = true
	for !p.accept(")") {
		if len(node.args) > 0 {
			p.expect(",")
		}
		node.args = append(node.args, p.expression())
	}
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

func (p *hogParser) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

func (p *hogParser) next() string {
	token := p.peek()
	if token == "" {
		hogFail("hogql_syntax_error", "mismatched input '<EOF>'")
	}
	p.tokens = p.tokens[1:]
	return token
}

// accept passes a sign, or a word in any case.
func (p *hogParser) accept(token string) bool {
	if !strings.EqualFold(p.peek(), token) {
		return false
	}
	p.tokens = p.tokens[1:]
	return true
}

func (p *hogParser) expect(token string) {
	if !p.accept(token) {
		hogFail("hogql_syntax_error", "mismatched input %q expecting %s", p.peek(), token)
	}
}

func isHogLetter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '$'
}

// hogTokens cuts a query into words, numbers, texts and signs.
func hogTokens(text string) (list []string) {
	for i := 0; i < len(text); {
		from, c := i, text[i]
		switch {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			i++
			continue
		case c == '\'':
			for i++; i < len(text) && (text[i] != '\'' || i+1 < len(text) && text[i+1] == '\''); i++ {
				if text[i] == '\\' || text[i] == '\'' {
					i++
				}
			}
			if i >= len(text) {
				hogFail("hogql_syntax_error", "unterminated text")
			}
			i++
		case isHogLetter(c) || '0' <= c && c <= '9':
			for i < len(text) && (isHogLetter(text[i]) || '0' <= text[i] && text[i] <= '9') {
				i++
			}
		case strings.IndexByte("<>!", c) >= 0 && i+1 < len(text) && text[i+1] == '=':
			i += 2
		case strings.IndexByte("(){},.=<>", c) >= 0:
			i++
		default:
			hogFail("hogql_syntax_error", "token recognition error at: '%c'", c)
		}
		list = append(list, text[from:i])
	}
	return list
}
