package realdb

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/constant"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

// modules are the folders of the modules that send HogQL.
var modules = []string{"../..", "../../cmd"}

// composed are the texts that are no constants, by the file that composes them, with one of their forms.
var composed = map[string]string{
	"scope": "SELECT toString(uuid) AS uuid_text\nFROM events\nWHERE timestamp >= toDateTime({start_at}) AND timestamp < toDateTime({end_at})" +
		" AND event IN ({name_2}, {name_3}) AND substring(replaceAll(toString(uuid), '-', ''), 31, 2) IN ({name_4})" +
		" AND properties.$import_job_id = {job_id}\nGROUP BY uuid_text LIMIT 50000",
	"trialrows.go": "SELECT toString(uuid) AS uuid_text, event, distinct_id, toTimeZone(timestamp, 'UTC') AS utc_time, properties\nFROM events\n" +
		"WHERE properties.$import_job_id = {job_id} AND timestamp >= toDateTime({start_at}) AND timestamp < toDateTime({end_at})\n" +
		"AND toString(uuid) IN ({uuid_0}, {uuid_1}) LIMIT 1000",
	"queries.go": "SELECT count() AS copies FROM events WHERE timestamp >= toDateTime({start_at}) AND timestamp < toDateTime({end_at})" +
		" AND event IN ({name_2}, {name_3}) AND NOT event IN ({name_4})",
}

// otherSQL are the files with texts for other engines.
var otherSQL = []string{"sql.go"}

// sentQueries returns every HogQL text of the modules, found by the compiler's types: constants that begin with SELECT, and the
// composed texts.
func sentQueries(t *testing.T) map[string]string {
	t.Helper()
	queries, unknown := map[string]string{}, []string{}
	for _, module := range modules {
		loaded, err := packages.Load(&packages.Config{Dir: module, Mode: packages.LoadSyntax, Env: append(os.Environ(), "GOWORK=")}, "./...")
		require.NoError(t, err)
		for _, p := range loaded {
			require.Empty(t, p.Errors)
			for _, file := range p.Syntax {
				name := filepath.Base(p.Fset.Position(file.Pos()).Filename)
				ast.Inspect(file, func(n ast.Node) bool {
					expression, ok := n.(ast.Expr)
					if !ok {
						return true
					}
					value := p.TypesInfo.Types[expression].Value
					if value == nil || value.Kind() != constant.String || !strings.HasPrefix(constant.StringVal(value), "SELECT ") {
						return true
					}
					text := constant.StringVal(value)
					if slices.Contains(otherSQL, name) {
						return false
					}
					if strings.HasSuffix(text, "(") || !strings.Contains(text, "FROM events") { // the beginning of a composed text
						unknown = append(unknown, name)
					} else {
						queries[fmt.Sprintf("%s:%d: %s", name, p.Fset.Position(expression.Pos()).Line, shortened(text))] = text
					}
					return false
				})
			}
		}
	}
	for _, name := range unknown {
		require.Contains(t, composed, name, "a text that is composed has no form here")
		queries[name] = composed[name]
	}
	queries["scope"] = composed["scope"]
	require.GreaterOrEqual(t, len(queries), 9)
	return queries
}

func shortened(text string) string {
	return strings.Join(strings.Fields(text), " ")[:min(60, len(text))]
}

// values are values of the placeholders.
var values = strings.NewReplacer(
	"{job_id}", "'job'", "{start_at}", "'2026-11-01T00:00:00Z'", "{end_at}", "'2026-12-01T00:00:00Z'", "{one_event}", "'e1'", "{after_id}", "''",
	"{one_id}", "'0190f3c0-0000-7000-8000-00000000000a'", "{uuid_0}", "'0190f3c0-0000-7000-8000-00000000000a'", "{uuid_1}", "'x'",
	"{name_2}", "'e1'", "{name_3}", "'e2'", "{name_4}", "'e1'", "{ids}", "'0190f3c0-0000-7000-8000-00000000000a'", "{first_digit}", "31", "{digits}", "2",
	"{data_interval_start}", "toDateTime64('2026-11-01 00:00:00', 6, 'UTC')", "{data_interval_end}", "toDateTime64('2026-12-01 00:00:00', 6, 'UTC')",
	"{rows}", "timestamp >= toDateTime('2026-11-01T00:00:00Z') AND timestamp < toDateTime('2026-12-01T00:00:00Z')",
	"{asked}", "created_at >= toDateTime('2026-11-01T00:00:00Z')", "{sent}", "event IN ('e1') AND NOT event IN ('e2')",
)

func requireParser(t *testing.T) {
	t.Helper()
	if os.Getenv("HOGQL_PARSER") == "" {
		t.Skip("needs HOGQL_PARSER, the folder of npm's @posthog/hogql-parser")
	}
}

// parse parses queries with PostHog's own parser.
func parse(t *testing.T, queries []string) (trees []map[string]any) {
	t.Helper()
	requireParser(t)
	const script = `
const load = require(process.env.HOGQL_PARSER + '/dist/index.cjs');
let text = '';
process.stdin.on('data', d => text += d).on('end', async () => {
  const parser = await (load.default || load)();
  console.log(JSON.stringify(JSON.parse(text).map(q => JSON.parse(parser.parseSelect(q, true)))));
});`
	input, err := json.Marshal(queries)
	require.NoError(t, err)
	cmd := exec.Command("node", "-e", script)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, &trees))
	return trees
}

// names are the names that HogQL knows.
type names struct {
	functions       map[string][2]int
	tables, columns []string
}

func readNames(t *testing.T) (n names) {
	t.Helper()
	text, err := os.ReadFile("testdata/hogql.txt")
	require.NoError(t, err)
	n.functions = map[string][2]int{}
	for line := range strings.Lines(string(text)) {
		switch fields := strings.Fields(line); fields[0] {
		case "function":
			least, err := strconv.Atoi(fields[2])
			require.NoError(t, err)
			most := 1 << 30
			if fields[3] != "-" {
				most, err = strconv.Atoi(fields[3])
				require.NoError(t, err)
			}
			n.functions[fields[1]] = [2]int{least, most}
		case "table":
			n.tables = append(n.tables, fields[1])
		case "column":
			n.columns = append(n.columns, fields[1])
		}
	}
	return n
}

// check returns why the service would refuse a parsed query, or nil.
func (n names) check(tree map[string]any) error {
	if tree["error"] == true {
		return fmt.Errorf("%v: %v", tree["type"], tree["message"])
	}
	aliases := map[string]bool{}
	walk(tree, func(node map[string]any) error {
		if alias, ok := node["alias"].(string); ok && node["node"] == "Alias" {
			aliases[alias] = true
		}
		return nil
	})
	return walk(tree, func(node map[string]any) error {
		switch node["node"] {
		case "Call":
			args, name := node["args"].([]any), node["name"].(string)
			limits, ok := n.functions[name]
			if !ok {
				return fmt.Errorf("no function %s", name)
			}
			if len(args) < limits[0] || len(args) > limits[1] {
				return fmt.Errorf("%s takes %v arguments, not %d", name, limits, len(args))
			}
		case "JoinExpr":
			if table := node["table"].(map[string]any); table["node"] == "Field" {
				chain := fmt.Sprint(table["chain"].([]any)...)
				if delete(node, "table"); !slices.Contains(n.tables, chain) {
					return fmt.Errorf("no table %s", chain)
				}
			}
		case "Placeholder":
			delete(node, "expr")
		case "Field":
			if column := fmt.Sprint(node["chain"].([]any)[0]); !slices.Contains(n.columns, column) && !aliases[column] {
				return fmt.Errorf("no column %s", column)
			}
		}
		return nil
	})
}

// walk visits the nodes of a tree, the outer ones first.
func walk(value any, visit func(map[string]any) error) error {
	switch v := value.(type) {
	case map[string]any:
		if v["node"] != nil {
			if err := visit(v); err != nil {
				return err
			}
		}
		for _, inner := range v {
			if err := walk(inner, visit); err != nil {
				return err
			}
		}
	case []any:
		for _, inner := range v {
			if err := walk(inner, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// Every query is parsed by PostHog's parser, and has only names and numbers of arguments that HogQL knows.
func TestQueriesAreHogQL(t *testing.T) {
	requireParser(t)
	queries, known := sentQueries(t), readNames(t)
	var texts, titles []string
	for title, text := range queries {
		titles, texts = append(titles, title), append(texts, text)
	}
	for i, tree := range parse(t, texts) {
		assert.NoError(t, known.check(tree), titles[i])
		t.Log(titles[i])
	}
}

// A misspelt name, and a wrong number of arguments, fail the check.
func TestTheCheckOfHogQLFindsFaults(t *testing.T) {
	good := "SELECT toDate(toTimeZone(timestamp, 'UTC')) AS utc_day, uniqExact(uuid) AS uuids FROM events WHERE timestamp >= toDateTime({start_at}) GROUP BY utc_day"
	faults := [][3]string{
		{"uniqExact(", "uniqExcat(", "no function uniqExcat"},
		{"(uuid)", "(uid)", "no column uid"},
		{"FROM events", "FROM event", "no table event"},
		{"uniqExact(uuid)", "substring(uuid)", "substring takes [3 3] arguments, not 1"},
		{"GROUP BY", "GROUP OF", "SyntaxError"},
	}
	texts := []string{good}
	for _, fault := range faults {
		bad := strings.Replace(good, fault[0], fault[1], 1)
		require.NotEqual(t, good, bad)
		texts = append(texts, bad)
	}
	known := readNames(t)
	for i, tree := range parse(t, texts) {
		if err := known.check(tree); i == 0 {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, faults[i-1][2])
		}
	}
}

// Every query runs word for word in ClickHouse, on a view with a timestamp in another zone than UTC. HogQL's toDateTime reads a
// text with a zone, as ClickHouse does with this setting.
func TestQueriesRunInClickHouse(t *testing.T) {
	e := newEngine(t)
	e.run("CREATE DATABASE IF NOT EXISTS queries")
	e.run(`CREATE OR REPLACE TABLE queries.stored (uuid UUID, event String, distinct_id String, properties JSON, timestamp DateTime64(6, 'UTC'),
		created_at DateTime64(6, 'UTC') DEFAULT timestamp)
		ENGINE = MergeTree ORDER BY timestamp`)
	e.run("CREATE OR REPLACE VIEW queries.events AS SELECT * REPLACE (toTimeZone(timestamp, 'America/New_York') AS timestamp) FROM queries.stored")
	e.run(`INSERT INTO queries.stored (uuid, event, distinct_id, properties, timestamp) SELECT generateUUIDv4(), 'e' || toString(number % 3), 'x', '{"$import_job_id": "job"}',
		toDateTime64('2026-11-02 03:00:00', 6, 'UTC') + INTERVAL number HOUR FROM numbers(48)`)
	for title, text := range sentQueries(t) {
		rows, err := e.ask("SELECT * FROM (" + strings.Replace(values.Replace(text), "FROM events", "FROM queries.events", 1) + ")" +
			" SETTINGS cast_string_to_date_time_mode = 'best_effort', date_time_input_format = 'best_effort'")
		require.NoError(t, err, title)
		t.Log(title, len(rows))
		if strings.Contains(text, "utc_day") && !strings.Contains(text, "{ids}") {
			assert.Equal(t, "2026-11-02", fmt.Sprint(rows[0][0])[:10], "days are days in UTC, not in the zone of the column: %s", title)
		}
	}
}
