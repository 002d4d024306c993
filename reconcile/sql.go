package reconcile

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Table is a table of events as a batch export writes it.
type Table struct {
	// Name is the table, such as events or analytics.events, as SQL has it. It becomes a part of the queries.
	Name string
	// TeamID is the id of the project: only its rows are read. It is required.
	TeamID int64
	// UUID, Event, DistinctID, Timestamp and Team are the columns, or expressions in their place. The defaults are the
	// export's names: uuid, event, distinct_id, timestamp and team_id.
	UUID, Event, DistinctID, Timestamp, Team string
	// Timeout bounds one query. The default is 10 minutes.
	Timeout time.Duration
}

// Dialect has the expressions that SQL engines write differently, each with %s for its argument.
type Dialect struct {
	Name string
	// Digits turns a uuid into its 32 hexadecimal digits in lower case.
	Digits string
	// Hour turns a timestamp into the hour in UTC as text, such as 2026-11-26 13.
	Hour string
	// Number turns eight hexadecimal digits into the number that they stand for.
	Number string
	// MD5 turns a text into the 32 hexadecimal digits of its MD5, in lower case.
	MD5 string
	// Time turns the text of a time in UTC, such as 2026-11-26 13:00:00, into a constant to compare timestamps with.
	Time string
	// Dedupe is a statement that removes the further rows of each key and day, with %[1]s for the table, %[2]s for the
	// digits of the uuid, %[3]s to %[5]s for the columns of the event, the distinct id and the timestamp, and %[6]s for the
	// condition of the rows to look at: rows of the project with a whole key. Empty: not known.
	Dedupe string
	// Quoted puts the default names of columns in quotes: for Redshift, where timestamp is a reserved word, and for
	// Snowflake, where the service names tables and columns in lower case, in quotes.
	Quoted bool
	// Untried says that no test has run the dialect.
	Untried bool

	tooMuch *regexp.Regexp // errors of time and memory
	noZone  string         // the name of the type of times without a zone, which Hour reads wrongly
}

// The dialects. Write others in the same way.
var (
	// Postgres is tried with version 15. Its timestamps have a zone; for a column without one, in UTC, set
	// Table.Timestamp to "timestamp AT TIME ZONE 'UTC'".
	Postgres = Dialect{
		Name:   "Postgres",
		Digits: `replace(replace(lower(CAST(%s AS text)), '-', ''), '\x', '')`,
		Hour:   "to_char(%s AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24')",
		Number: "(CAST(CAST('x' || %s AS bit(32)) AS bigint) & 4294967295)",
		MD5:    "md5(%s)",
		Time:   "TIMESTAMPTZ '%s+00'",
		Dedupe: "DELETE FROM %[1]s WHERE (tableoid, ctid) IN (SELECT tableoid, ctid FROM (\n" +
			"  SELECT tableoid, ctid, row_number() OVER (PARTITION BY %[2]s,\n" +
			"    %[3]s, %[4]s, CAST(%[5]s AT TIME ZONE 'UTC' AS date)) AS number\n" +
			"  FROM %[1]s WHERE %[6]s) numbered WHERE number > 1);",
		tooMuch: regexp.MustCompile(`57014|53200|statement timeout|out of memory|temporary file size exceeds|53400`),
		noZone:  "TIMESTAMP",
	}
	// ClickHouse is tried with version 26.
	ClickHouse = Dialect{
		Name:   "ClickHouse",
		Digits: "lower(replaceAll(toString(%s), '-', ''))",
		Hour:   "substring(toString(toTimeZone(%s, 'UTC')), 1, 13)",
		Number: "reinterpretAsUInt64(reverse(unhex(%s)))",
		MD5:    "lower(hex(MD5(%s)))",
		Time:   "toDateTime64('%s', 6, 'UTC')",
		Dedupe: "CREATE TABLE %[1]s_once AS %[1]s;\nINSERT INTO %[1]s_once SELECT * FROM %[1]s WHERE %[6]s\n" +
			"  LIMIT 1 BY %[2]s, %[3]s, %[4]s, toDate(toTimeZone(%[5]s, 'UTC'));\n" +
			"INSERT INTO %[1]s_once SELECT * FROM %[1]s WHERE NOT ifNull(%[6]s, 0);\nEXCHANGE TABLES %[1]s AND %[1]s_once;",
		tooMuch: regexp.MustCompile(`(?i)MEMORY_LIMIT_EXCEEDED|TIMEOUT_EXCEEDED|TOO_MANY_ROWS|TOO_MANY_BYTES|memory limit`),
	}
	// Redshift is an example of another dialect, by its manual. It was not tried.
	Redshift = Dialect{
		Name:    "Redshift",
		Digits:  "REPLACE(LOWER(CAST(%s AS VARCHAR)), '-', '')",
		Hour:    "TO_CHAR(%s AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24')",
		Number:  "STRTOL(%s, 16)",
		MD5:     "MD5(%s)",
		Time:    "CAST('%s+00' AS TIMESTAMPTZ)",
		Quoted:  true,
		Untried: true,
		tooMuch: regexp.MustCompile(`(?i)statement timeout|out of memory|disk full|query_timeout`),
		noZone:  "TIMESTAMP",
	}
)

// SQLSide is a table of a database.
type SQLSide struct {
	db      *sql.DB
	dialect Dialect
	table   Table
	name    string
	isKnown bool // the table has been looked at
}

// SQL returns a table of a database as a side, over any driver of [database/sql]. It sends only SELECT statements; a user
// that may only read is enough.
//
// Timestamps are compared in UTC, and uuids in any case, with hyphens or without. Rows without a uuid, an event or a distinct
// id are counted as Bad.
func SQL(db *sql.DB, dialect Dialect, table Table) *SQLSide {
	const timeout = 10 * time.Minute
	for column, name := range map[*string]string{
		&table.UUID: "uuid", &table.Event: "event", &table.DistinctID: "distinct_id", &table.Timestamp: "timestamp", &table.Team: "team_id",
	} {
		if dialect.Quoted {
			name = `"` + name + `"`
		}
		*column = cmp.Or(*column, name)
	}
	table.Timeout = cmp.Or(table.Timeout, timeout)
	return &SQLSide{db: db, dialect: dialect, table: table, name: fmt.Sprintf("%s table %s, team %d", dialect.Name, table.Name, table.TeamID)}
}

// Name names the table.
func (s *SQLSide) Name() string { return s.name }

// Dedupe returns the statement that removes doubled rows of the project. Read it, try it on a copy, and run it
// yourself: this package only prints it. It is empty for a dialect without one, or for a table with expressions as
// columns.
func (s *SQLSide) Dedupe() string {
	plain := regexp.MustCompile(`^[\w".]+$`)
	key := []string{s.table.UUID, s.table.Event, s.table.DistinctID, s.table.Timestamp}
	if slices.ContainsFunc(append(key, s.table.Team), func(column string) bool { return !plain.MatchString(column) }) {
		return ""
	}
	ours := fmt.Sprintf("%s = %d AND %s IS NOT NULL", s.table.Team, s.table.TeamID, strings.Join(key, " IS NOT NULL AND "))
	if s.dialect.Dedupe == "" {
		return ""
	}
	return fmt.Sprintf(s.dialect.Dedupe, s.table.Name, s.digits(), s.table.Event, s.table.DistinctID, s.table.Timestamp, ours)
}

// Count implements [Side].
func (s *SQLSide) Count(ctx context.Context, selected Selection) ([]DayCount, error) {
	text := "SELECT " + s.unit(ByDay) + ", COUNT(*) FROM " + s.table.Name + " WHERE " + s.where(selected) + " GROUP BY 1 ORDER BY 1"
	return rowsOfSQL(ctx, s, text, func(c row) (d DayCount, err error) {
		d.Day, d.Rows = c.unit(&err, 0), c.int(&err, 1)
		return d, err
	})
}

// Digest implements [Side].
func (s *SQLSide) Digest(ctx context.Context, selected Selection, by Bucket) ([]Digest, error) {
	slice := "''"
	if by == BySlice {
		slice = "COALESCE(substring(u, 31, 2), '')"
	}
	number := func(digits string) string {
		return "SUM(CASE WHEN " + isGood + " THEN " + fmt.Sprintf(s.dialect.Number, digits) + " ELSE 0 END)"
	}
	text := "SELECT unit, " + slice + " AS slice, SUM(copies), SUM(CASE WHEN " + isGood + " THEN 1 ELSE 0 END), " +
		"SUM(CASE WHEN " + isGood + " THEN 0 ELSE copies END), " +
		number("substring(u, 17, 8)") + ", " + number("substring(u, 25, 8)") + ", " +
		number("substring("+fmt.Sprintf(s.dialect.MD5, "u || '|' || e || '|' || d")+", 1, 8)") +
		" FROM (SELECT " + s.unit(by) + " AS unit, " + s.keys() + ", COUNT(*) AS copies FROM " + s.table.Name + " WHERE " + s.where(selected) +
		" GROUP BY 1, 2, 3, 4) k GROUP BY 1, 2 ORDER BY 1 DESC, 2 DESC"
	return rowsOfSQL(ctx, s, text, func(c row) (d Digest, err error) {
		d.At, d.Slice = c.unit(&err, 0), c.text(&err, 1)
		d.Rows, d.Keys, d.Bad = c.int(&err, 2), c.int(&err, 3), c.int(&err, 4)
		d.High, d.Low, d.Text = c.uint(&err, 5), c.uint(&err, 6), c.uint(&err, 7)
		return d, err
	})
}

// isGood is the condition for a row that can be compared, of the uuid's digits u, the event e and the distinct id d.
const isGood = "length(u) = 32 AND e IS NOT NULL AND d IS NOT NULL"

// List implements [Side].
func (s *SQLSide) List(ctx context.Context, selected Selection, limit int) ([]Row, error) {
	by, doubled := ByHour, ""
	if selected.Doubled {
		by, doubled = ByDay, " AND copies > 1"
	}
	text := "SELECT u, e, d, COALESCE(unit, ''), copies FROM (SELECT " + s.unit(by) + " AS unit, " + s.keys() +
		", COUNT(*) AS copies FROM " + s.table.Name + " WHERE " + s.where(selected) +
		" GROUP BY 1, 2, 3, 4) k WHERE " + isGood + doubled + " LIMIT " + strconv.Itoa(limit)
	rows, err := rowsOfSQL(ctx, s, text, func(c row) (r Row, err error) {
		r.UUID, r.Event, r.DistinctID = c.uuid(&err, 0), c.text(&err, 1), c.text(&err, 2)
		if unit := c.text(&err, 3); unit != "" {
			r.Hour = parseUnit(&err, unit)
		}
		r.Rows = c.int(&err, 4)
		return r, err
	})
	if err == nil && len(rows) >= limit {
		return nil, ErrTooMuch
	}
	return rows, err
}

// unit is the expression of the day or hour of a row.
func (s *SQLSide) unit(by Bucket) string {
	hour := fmt.Sprintf(s.dialect.Hour, s.table.Timestamp)
	if by == ByDay {
		return "substring(" + hour + ", 1, 10)"
	}
	return hour
}

func (s *SQLSide) digits() string { return fmt.Sprintf(s.dialect.Digits, s.table.UUID) }

func (s *SQLSide) keys() string {
	return s.digits() + " AS u, " + s.table.Event + " AS e, " + s.table.DistinctID + " AS d"
}

// where is the condition of a selection. The Table has the only texts of a user.
func (s *SQLSide) where(selected Selection) string {
	var either []string
	for _, p := range joined(selected.Parts) {
		text := s.table.Timestamp + " >= " + s.at(p.From) + " AND " + s.table.Timestamp + " < " + s.at(p.To)
		if n := len(p.Suffix); n > 0 {
			const digits = 32
			text += fmt.Sprintf(" AND substring(%s, %d, %d) = '%s'", s.digits(), digits-n+1, n, p.Suffix)
		}
		either = append(either, text)
	}
	ids := ""
	if len(selected.UUIDs) > 0 {
		either = append(either, s.table.Timestamp+" IS NULL")
		texts := make([]string, len(selected.UUIDs))
		for i, id := range selected.UUIDs {
			texts[i] = "'" + digits(id) + "'"
		}
		ids = " AND " + s.digits() + " IN (" + strings.Join(texts, ", ") + ")"
	}
	return s.table.Team + " = " + strconv.FormatInt(s.table.TeamID, 10) + " AND " + anyOf(either) + ids
}

func (s *SQLSide) at(t time.Time) string {
	return fmt.Sprintf(s.dialect.Time, t.UTC().Format(time.DateTime))
}

// look refuses a table that lacks a column, or has times without a zone.
func (s *SQLSide) look(ctx context.Context) error {
	if s.isKnown {
		return nil
	}
	if s.table.TeamID == 0 || s.table.Name == "" {
		return errors.New("Table.Name or TeamID is missing: give the table and the id of the project whose rows are compared")
	}
	columns := []string{s.table.UUID, s.table.Event, s.table.DistinctID, s.table.Timestamp, s.table.Team}
	text := "SELECT " + strings.Join(columns, ", ") + " FROM " + s.table.Name + " WHERE 1 = 0" //nolint:gosec // the caller names its own table
	rows, err := s.db.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	const ofTime = 3
	if len(types) == len(columns) && s.dialect.noZone != "" && types[ofTime].DatabaseTypeName() == s.dialect.noZone {
		column := s.table.Timestamp
		return fmt.Errorf("%s has no time zone: if its times are UTC, set Table.Timestamp to \"%s AT TIME ZONE 'UTC'\"", column, column)
	}
	s.isKnown = true
	return rows.Err()
}

// rowsOfSQL carries out a query.
func rowsOfSQL[T any](ctx context.Context, s *SQLSide, text string, read func(row) (T, error)) (all []T, err error) {
	within, cancel := context.WithTimeout(ctx, s.table.Timeout)
	defer cancel()
	defer func() {
		isLate := within.Err() != nil && ctx.Err() == nil
		if err != nil && ctx.Err() == nil && (isLate || s.dialect.tooMuch != nil && s.dialect.tooMuch.MatchString(codeOf(err)+err.Error())) {
			err = fmt.Errorf("%w: %w", ErrTooMuch, err)
		}
	}()
	if err := s.look(within); err != nil {
		return nil, err
	}
	rows, err := s.db.QueryContext(within, text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, into := make(row, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		one, err := read(values)
		if err != nil {
			return nil, fmt.Errorf("%w: a row of the answer: %w", ErrCannotTell, err)
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// codeOf is the SQLSTATE of an error, if its driver has it.
func codeOf(err error) string {
	if state, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		return state.SQLState() + " "
	}
	return ""
}
