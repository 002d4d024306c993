package hogapitest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// This is as much of HogQL as counting events takes: a SELECT over a table, or over another one, with WHERE, GROUP BY, HAVING, ORDER BY
// and LIMIT.

// hogNode is an expression: a constant, a column, or a call of a function or an operator.
type hogNode struct {
	name  string // of the column, the function or the operator
	text  string // equal expressions have equal texts
	value any    // of a constant; nil for the others
	call  *hogFunction
	args  []*hogNode
}

func (n *hogNode) aggregates() bool {
	return n.call != nil && n.call.fold != nil || slices.ContainsFunc(n.args, (*hogNode).aggregates)
}

type hogQuery struct {
	from    *hogQuery // nil: a table
	table   string
	columns []*hogNode
	names   []string
	where   []*hogNode // all of them hold
	groups  []*hogNode
	having  []*hogNode
	order   []*hogNode
	down    []bool // of order
	limit   int    // 0 without LIMIT

	aliases map[string]*hogNode
	reads   []*hogNode // columns
}

// hogTables are the columns of the tables that the fake has. Events have their properties too.
var hogTables = map[string][]string{
	"events":      {"uuid", "event", "timestamp", "created_at", "distinct_id", "properties"},
	"app_metrics": {"timestamp", "app_source", "app_source_id", "instance_id", "metric_kind", "metric_name", "count"},
}

type hogError struct{ code, detail string }

func hogFail(code, format string, args ...any) { panic(&hogError{code, fmt.Sprintf(format, args...)}) }

// hogLexer finds blanks, a comment, or as its group a token: a word, a number, a text or a sign. A quote inside a text is doubled, or has
// a backslash.
var hogLexer = regexp.MustCompile(`^(?s:\s+|--[^\n]*|([A-Za-z_$][\w$]*|[0-9][0-9.]*|'(?:[^'\\]|\\.|'')*'|!=|<=|>=|[(){},.=<>]))`)

// hogParser reads a query token by token. It panics with a hogError.
type hogParser struct {
	*hogQuery // the innermost one that is being read

	tokens []string
	era    Era
	values map[string]any // of placeholders
	zone   *time.Location // the project's
}

func parseHogQL(text string, values map[string]any, era Era, zone *time.Location) *hogQuery {
	p := &hogParser{era: era, values: values, zone: zone}
	for text != "" {
		token := hogLexer.FindStringSubmatch(text)
		if token == nil {
			hogFail("hogql_syntax_error", "token recognition error at: %.10q", text)
		}
		if token[1] != "" {
			p.tokens = append(p.tokens, token[1])
		}
		text = text[len(token[0]):]
	}
	q := p.query()
	if len(p.tokens) > 0 {
		hogFail("hogql_syntax_error", "mismatched input %q", p.tokens[0])
	}
	return q
}

func (p *hogParser) query() *hogQuery {
	outer, q := p.hogQuery, &hogQuery{aliases: map[string]*hogNode{}}
	p.hogQuery = q
	p.expect("SELECT")
	p.list(func() {
		column, alias := p.expression(0), ""
		if p.accept("AS") {
			alias = p.next()
			q.aliases[alias] = column
		}
		q.columns, q.names = append(q.columns, column), append(q.names, cmp.Or(alias, column.name, column.text))
	})
	p.expect("FROM")
	if p.accept("(") {
		q.from = p.query()
		p.expect(")")
	} else if q.table = p.next(); hogTables[q.table] == nil {
		hogFail("hogql_query_error", "Unknown table %q.", q.table)
	}
	if p.accept("WHERE") {
		q.where = p.condition()
	}
	if p.acceptBy("GROUP") {
		p.list(func() { q.groups = append(q.groups, p.expression(0)) })
	}
	if p.accept("HAVING") {
		q.having = p.condition()
	}
	if p.acceptBy("ORDER") {
		p.list(func() {
			q.order, q.down = append(q.order, p.expression(0)), append(q.down, p.accept("DESC"))
			p.accept("ASC")
		})
	}
	if p.accept("LIMIT") {
		if q.limit, _ = strconv.Atoi(p.next()); q.limit < 1 {
			hogFail("hogql_syntax_error", "LIMIT takes a number.")
		}
	}
	if p.is("OFFSET") || p.is(",") && q.limit > 0 {
		hogFail("hogql_query_error", "OFFSET is not supported for personal API keys: page by a key.")
	}
	q.check()
	p.hogQuery = outer
	return q
}

func (p *hogParser) list(item func()) {
	for more := true; more; more = p.accept(",") {
		item()
	}
}

func (p *hogParser) acceptBy(word string) bool {
	found := p.accept(word)
	if found {
		p.expect("BY")
	}
	return found
}

// condition reads the parts of a condition that all have to hold.
func (p *hogParser) condition() (all []*hogNode) {
	for rest := []*hogNode{p.expression(0)}; len(rest) > 0; rest = rest[1:] {
		switch n := rest[0]; {
		case n.call == nil || n.call.level == 0:
			hogFail("illegal_type_of_column_for_filter", "Illegal type of column for filter: %s", n.text)
		case n.name == "AND":
			rest = append(rest, n.args...)
		default:
			all = append(all, n)
		}
	}
	return all
}

// expression reads operators above a level, and their operands.
func (p *hogParser) expression(level int) (left *hogNode) {
	if p.accept("NOT") {
		left = p.node("NOT", p.expression(hogFunctions["NOT"].level))
	} else {
		left = p.operand()
	}
	for {
		name := strings.ToUpper(p.peek())
		above := hogFunctions[name].level
		if above <= level || name == "NOT" {
			return left
		}
		p.next()
		if name == "IN" {
			left = p.node(name, append([]*hogNode{left}, p.arguments()...)...)
		} else {
			left = p.node(name, left, p.expression(above))
		}
	}
}

func (p *hogParser) arguments() (list []*hogNode) {
	p.expect("(")
	if !p.accept(")") {
		p.list(func() { list = append(list, p.expression(0)) })
		p.expect(")")
	}
	return list
}

func (p *hogParser) operand() *hogNode {
	switch token := p.next(); {
	case token == "(":
		inner := p.expression(0)
		p.expect(")")
		return inner
	case token[0] == '\'':
		return constant(strings.NewReplacer(`\\`, `\`, `\`, ``, `''`, `'`).Replace(token[1 : len(token)-1]))
	case token[0] >= '0' && token[0] <= '9':
		n, err := strconv.ParseFloat(token, 64)
		if err != nil {
			hogFail("hogql_syntax_error", "mismatched input %q", token)
		}
		return constant(n)
	case token == "{":
		name := p.next()
		p.expect("}")
		if p.values[name] == nil {
			hogFail("hogql_query_error", "Unresolved placeholder: {%s}", name)
		}
		return constant(p.values[name])
	case strings.Contains(",.=!<>){}", token[:1]):
		hogFail("hogql_syntax_error", "mismatched input %q", token)
		return nil
	case p.is("("):
		return p.node(token, p.arguments()...)
	default:
		return p.column(token)
	}
}

func constant(value any) *hogNode {
	return &hogNode{text: fmt.Sprintf("%T %v", value, value), value: value}
}

// column is a column, or the expression of an alias, which hides a column of the same name, as in ClickHouse. check
// looks up the table of a column.
func (p *hogParser) column(name string) *hogNode {
	parts := []string{name}
	for p.accept(".") {
		parts = append(parts, p.next())
	}
	name = strings.Join(parts, ".")
	if aliased, ok := p.aliases[name]; ok {
		return aliased
	}
	n := &hogNode{name: name, text: name}
	p.reads = append(p.reads, n)
	return n
}

// node is a call. It refuses a function that the service does not know, or that takes another number of arguments. A call of constants is
// a constant.
func (p *hogParser) node(name string, args ...*hogNode) *hogNode {
	function, ok := hogFunctions[name]
	least, most := function.arity(name, p.era)
	switch {
	case !ok || name == "MD5" && p.era == E1:
		hogFail("hogql_query_error", "Unsupported function call '%s(...)'. The fake knows %s.", name, strings.Join(slices.Sorted(maps.Keys(hogFunctions)), " "))
	case len(args) < least || len(args) > most:
		want := strconv.Itoa(least)
		if least < most {
			want += " to " + strconv.Itoa(most)
		}
		hogFail("hogql_query_error", "Function '%s' expects %s arguments, found %d", name, want, len(args))
	}
	n := &hogNode{name: name, call: &function, args: args}
	texts, isConstant := []string{}, function.fold == nil
	for _, arg := range args {
		texts, isConstant = append(texts, arg.text), isConstant && arg.value != nil
	}
	n.text = name + "(" + strings.Join(texts, ",") + ")"
	if isConstant {
		return &hogNode{name: name, text: n.text, value: n.eval(hogGroup{zone: p.zone})}
	}
	return n
}

// check refuses unknown columns, and aggregates and columns in the wrong places, as ClickHouse does.
func (q *hogQuery) check() {
	for _, n := range q.reads {
		known := q.from == nil && (slices.Contains(hogTables[q.table], n.name) || q.table == "events" && strings.HasPrefix(n.name, "properties."))
		if !known && (q.from == nil || !slices.Contains(q.from.names, n.name)) {
			hogFail("hogql_query_error", "Unable to resolve field: %s", n.name)
		}
	}
	if slices.ContainsFunc(slices.Concat(q.where, q.groups), (*hogNode).aggregates) {
		hogFail("hogql_query_error", "Aggregate function is found in WHERE or GROUP BY.")
	}
	if max(len(q.groups), len(q.order)) > len(hogKey{}) {
		hogFail("hogql_query_error", "The fake groups and orders by %d expressions at most.", len(hogKey{}))
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
	return len(q.groups) > 0 || slices.ContainsFunc(q.columns, (*hogNode).aggregates)
}

func (q *hogQuery) checkGrouped(n *hogNode) {
	if n.value != nil || n.call != nil && n.call.fold != nil || slices.ContainsFunc(q.groups, func(g *hogNode) bool { return g.text == n.text }) {
		return
	}
	if n.call == nil {
		hogFail("hogql_query_error", "Column %s is not under aggregate function and not in GROUP BY keys.", n.name)
	}
	for _, arg := range n.args {
		q.checkGrouped(arg)
	}
}

// peek is the next token, empty at the end.
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

// is reports whether a sign, or a keyword in any case, is next.
func (p *hogParser) is(token string) bool { return strings.EqualFold(p.peek(), token) }

func (p *hogParser) accept(token string) bool {
	found := p.is(token)
	if found {
		p.tokens = p.tokens[1:]
	}
	return found
}

func (p *hogParser) expect(token string) {
	if !p.accept(token) {
		hogFail("hogql_syntax_error", "mismatched input %q expecting %s", p.peek(), token)
	}
}

type queryBody struct {
	Query struct {
		Kind   string         `json:"kind"`
		Query  string         `json:"query"`
		Values map[string]any `json:"values"`
	} `json:"query"`
	Refresh any     `json:"refresh"`
	Name    *string `json:"name"`

	read int64 // bytes
}

// query serves POST /query/ from the project's stored events.
func (s *Server) query(r *request) answer {
	defer refuseHog(s.queryRefused)
	readFields(r.body)
	var body queryBody
	if err := json.Unmarshal(r.body, &body); err != nil || body.Query.Kind != "HogQLQuery" {
		return invalid("query", "invalid_input", "The fake answers queries of the kind HogQLQuery.")
	}
	if body.Refresh != true && body.Refresh != "force_blocking" {
		return invalid("refresh", "invalid_input", "The fake has no cache, from which the service may answer: set refresh to force_blocking.")
	}
	if body.Name != nil && s.era == E1 {
		refuse(invalid("", "parse_error", "1 validation error for QueryRequest\nname\n  Extra inputs are not permitted"))
	}
	s.checkBudget(r.project)
	a := success(s.runQuery(r, &body))
	maps.Copy(a.header, s.debit(r.project, body.read))
	return a
}

// refuseHog is deferred: it refuses the request if its query is refused.
func refuseHog(with func(*hogError) answer) {
	switch e := recover().(type) {
	case nil:
	case *hogError:
		refuse(with(e))
	default:
		panic(e)
	}
}

func (s *Server) runQuery(r *request, body *queryBody) object {
	q := parseHogQL(body.Query.Query, body.Query.Values, s.era, s.zone)
	ofEvents := q
	for ofEvents.from != nil {
		ofEvents = ofEvents.from
	}
	if s.ledger.compact && slices.ContainsFunc(ofEvents.reads, func(n *hogNode) bool {
		return strings.HasPrefix(n.name, "properties.") && n.name != "properties."+importID
	}) {
		refuse(invalid("query", "invalid_input", "the fake has a compact ledger, which keeps no properties but "+importID))
	}
	var scanned int
	scanned, body.read = s.reading(ofEvents, r.project, s.zone)
	s.checkQuerySize(scanned, body.read)
	rows, hasMore := q.result(r.project, s.zone, min(cmp.Or(q.limit, hogDefaultRows), hogRows))
	for _, row := range rows {
		for i := range row {
			row[i] = shownHog(row[i])
		}
	}
	result := object{
		"results": rows, "columns": q.names, "hogql": body.Query.Query, "clickhouse": "", "is_cached": false,
		"last_refresh": r.now.UTC(), "timings": []any{}, "error": nil,
	}
	if q.limit == 0 {
		result["hasMore"], result["limit"], result["offset"] = hasMore, hogDefaultRows, 0
	}
	return result
}

// queryRefused is a 400. The codes are newer than most servers.
func (s *Server) queryRefused(e *hogError) answer {
	code := e.code
	if s.era == E1 {
		code = "invalid_input"
	}
	return invalid("", code, e.detail)
}
