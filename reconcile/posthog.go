package reconcile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/bridge"
	"github.com/hogapi/hogapi/internal/queries"
)

// The texts of the queries. {rows}, {asked} and {sent} are conditions, see [conditions].
const (
	utcDay  = "substring(toString(toTimeZone(timestamp, 'UTC')), 1, 10)"
	utcHour = "substring(toString(toTimeZone(timestamp, 'UTC')), 1, 13)"

	// Copies that are not merged yet, and rows that were taken in twice, are ordinary and count once, so the sums group by key.
	digitsOfOne = "replaceAll(toString(one_uuid), '-', '')"
	sums        = "count() AS all_keys,\n  " +
		"sum(reinterpretAsUInt64(reverse(unhex(substring(" + digitsOfOne + ", 17, 8))))) AS high_sum,\n  " +
		"sum(reinterpretAsUInt64(reverse(unhex(substring(" + digitsOfOne + ", 25, 8))))) AS low_sum,\n  " +
		textSum + " AS text_sum\nFROM (SELECT "
	textSum = "sum(reinterpretAsUInt64(reverse(substring(MD5(concat(" + digitsOfOne + ", '|', one_event, '|', one_person)), 1, 4))))"
	keys    = " AS utc_unit, uuid AS one_uuid, event AS one_event, distinct_id AS one_person\n  " +
		"FROM events\n  WHERE {rows}\n  GROUP BY utc_unit, one_uuid, one_event, one_person)\n"

	digestDays   = "SELECT utc_unit AS bucket, " + sums + utcDay + keys + "GROUP BY bucket ORDER BY bucket DESC LIMIT 50000"
	digestHours  = "SELECT utc_unit AS bucket, " + sums + utcHour + keys + "GROUP BY bucket ORDER BY bucket DESC LIMIT 50000"
	digestSlices = "SELECT concat(utc_unit, ' ', substring(" + digitsOfOne + ", 31, 2)) AS bucket, " + sums + utcHour + keys +
		"GROUP BY bucket ORDER BY bucket DESC LIMIT 50000"

	listKeys = "SELECT toString(uuid) AS uuid_text, event AS one_event, distinct_id AS one_person, " + utcHour +
		" AS utc_unit, toString(toTimeZone(min(created_at), 'UTC')) AS arrived\n" +
		"FROM events\nWHERE {rows}\nGROUP BY uuid_text, one_event, one_person, utc_unit LIMIT 50000"

	countDays = "SELECT " + utcDay + " AS utc_day, count() AS copies\nFROM events\nWHERE {rows}\nGROUP BY utc_day ORDER BY utc_day LIMIT 50000"
	leftOut   = "SELECT utc_unit AS bucket, countIf(of_asked = 0) AS never_asked, countIf(of_asked > 0 AND of_sent = 0) AS filtered\n" +
		"FROM (SELECT " + utcDay + " AS utc_unit, uuid AS one_uuid, event AS one_event, distinct_id AS one_person,\n  " +
		"countIf({asked}) AS of_asked, countIf({sent}) AS of_sent\n  FROM events\n  WHERE {rows}\n  " +
		"GROUP BY utc_unit, one_uuid, one_event, one_person)\n" +
		"GROUP BY bucket ORDER BY bucket LIMIT 50000"
)

// PostHogOptions are the options of [PostHog].
type PostHogOptions struct {
	// QueriesPerHour bounds the queries in any hour. The service's limit for an API key is 2,400. The default is 1,200,
	// so that others keep half. All comparisons of this side, and earlier ones in the same Options.Dir, share it, and
	// so do two sides with one key. A query that the client repeats because its answer was lost counts once.
	QueriesPerHour int
}

// PostHogSide is a PostHog project.
type PostHogSide struct {
	project string
	asker   *queries.Asker
	perHour int
	pace    pace
	noTexts bool  // the server does not have MD5
	unfit   error // of a client that NewClient has not made: of every query
}

// PostHog returns the project of a client as a side. It is a [Service], and can be the destination too: after a move
// between projects or regions. Copies of a key on one day count once: the service merges them at some point (in its
// newer events table, only copies with the same time). So a project has [Doubled] rows only on different days.
//
// It asks by HogQL queries, which run at once and are never answered from a cache. An answer that may be cut, comes from a
// cache or does not match its query is [ErrCannotTell]. While the service is busy, it waits.
//
// POST /query/, scope query:read.
func PostHog(client *hogapi.Client, o *PostHogOptions) *PostHogSide {
	const half = 1_200
	s := &PostHogSide{asker: &queries.Asker{}, perHour: half}
	if asker, err := bridge.Asker(client, "hogapi reconcile"); err != nil {
		s.unfit = err
	} else {
		s.project, s.asker = client.Project(), asker
	}
	if o != nil && o.QueriesPerHour > 0 {
		s.perHour = o.QueriesPerHour
	}
	return s
}

// Name names the project.
func (s *PostHogSide) Name() string { return "PostHog project " + s.project }

// QueriesPerHour is how often [Compare] may ask in an hour.
func (s *PostHogSide) QueriesPerHour() int { return s.perHour }

// limit bounds the bytes of further queries; 0 means no limit.
func (s *PostHogSide) limit(bytes int64) {
	if s.asker.MaxRead = bytes; bytes > 0 {
		read, _ := s.asker.Read()
		s.asker.MaxRead += read
	}
}

// Count implements [Side].
func (s *PostHogSide) Count(ctx context.Context, selected Selection) ([]DayCount, error) {
	return query(ctx, s, countDays, selected, func(c row) (d DayCount, err error) {
		d.Day = c.unit(&err, 0)
		d.Rows = c.int(&err, 1)
		return d, err
	}, 2)
}

// Digest implements [Side].
func (s *PostHogSide) Digest(ctx context.Context, selected Selection, by Bucket) ([]Digest, error) {
	text := map[Bucket]string{ByDay: digestDays, ByHour: digestHours, BySlice: digestSlices}[by]
	if s.noTexts {
		text = strings.Replace(text, textSum, "0", 1)
	}
	digests, err := query(ctx, s, text, selected, func(c row) (d Digest, err error) {
		bucket := c.text(&err, 0)
		if at := strings.LastIndexByte(bucket, ' '); by == BySlice && at > 0 {
			bucket, d.Slice = bucket[:at], bucket[at+1:]
		}
		d.At = parseUnit(&err, bucket)
		d.Keys = c.int(&err, 1)
		d.Rows = d.Keys // copies say nothing
		d.High, d.Low, d.Text = c.uint(&err, 2), c.uint(&err, 3), c.uint(&err, 4)
		d.NoText = s.noTexts
		return d, err
	}, 5)
	if !s.noTexts && queries.Lacks(err, "MD5") { // a server of before about August 2026
		s.noTexts = true
		return s.Digest(ctx, selected, by)
	}
	return digests, err
}

// List implements [Side].
func (s *PostHogSide) List(ctx context.Context, selected Selection, limit int) ([]Row, error) {
	if selected.Doubled {
		return nil, nil
	}
	rows, err := query(ctx, s, listKeys, selected, func(c row) (r Row, err error) {
		r.UUID = c.uuid(&err, 0)
		r.Event, r.DistinctID = c.text(&err, 1), c.text(&err, 2)
		r.Hour, r.Rows = c.unit(&err, 3), 1
		r.CreatedAt = c.time(&err, 4)
		return r, err
	}, 5)
	if err == nil && len(rows) >= limit {
		return nil, ErrTooMuch
	}
	return rows, err
}

// LeftOut implements [Service].
func (s *PostHogSide) LeftOut(ctx context.Context, selected Selection) ([]LeftOut, error) {
	return query(ctx, s, leftOut, selected, func(c row) (l LeftOut, err error) {
		l.Day = c.unit(&err, 0)
		l.NeverAsked, l.Filtered = c.int(&err, 1), c.int(&err, 2)
		return l, err
	}, 3)
}

// query carries out one query now. While the service is busy, it waits.
func query[T any](
	ctx context.Context, s *PostHogSide, text string, selected Selection, read func(row) (T, error), columns int,
) ([]T, error) {
	if s.unfit != nil {
		return nil, s.unfit
	}
	q := compose(text, selected)
	size := queries.Size{Rows: selected.rows, PerRow: 16 + 8 + 20 + 36} // uuid, time, name and distinct id
	for column, bytes := range map[string]int64{"created_at": 8, "properties": 1_000} {
		if strings.Contains(q.HogQL, column) {
			size.PerRow += bytes
		}
	}
	rows, err := queries.AskFor[row](ctx, s.asker, q, queries.MaxRows, size)
	if err != nil {
		return nil, asSideError(ctx, err)
	}
	list := make([]T, len(rows))
	for i, r := range rows {
		err := r.check(columns)
		if err == nil {
			list[i], err = read(r)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: row %d of the answer: %w", ErrCannotTell, i, err)
		}
	}
	return list, nil
}

// asSideError says how a comparison continues after an error.
func asSideError(ctx context.Context, err error) error {
	switch kind := queries.KindOf(err); {
	case ctx.Err() != nil:
	case kind == queries.TooMuch:
		return fmt.Errorf("%w: %w", ErrTooMuch, err)
	case kind == queries.Doubtful, kind == queries.Busy && !errors.Is(err, hogapi.ErrRateLimited):
		return fmt.Errorf("%w: %w", ErrCannotTell, err)
	}
	return err
}

// compose puts the conditions of a selection into the text of a query, with their values.
func compose(text string, selected Selection) queries.Query {
	c := conditions{queries.Query{Values: map[string]any{}}}
	rows := c.parts(selected.Parts)
	if len(selected.UUIDs) > 0 {
		texts := make([]string, len(selected.UUIDs))
		for i, id := range selected.UUIDs {
			texts[i] = id.String()
		}
		rows += " AND toString(uuid) IN (" + c.Add("uuid", texts...) + ")"
	}
	isLeftOut := strings.Contains(text, "{sent}")
	if sent := c.exports(selected.Exports, true); sent != all && !isLeftOut {
		rows += " AND " + sent
	}
	replaced := []string{"{rows}", rows}
	if isLeftOut {
		replaced = append(replaced, "{asked}", c.exports(selected.Exports, false), "{sent}", c.exports(selected.Exports, true))
	}
	c.HogQL = strings.NewReplacer(replaced...).Replace(text)
	return c.Query
}

// conditions writes conditions of a query. Each value is a placeholder.
type conditions struct{ queries.Query }

func (c conditions) between(from, to time.Time) string {
	return "timestamp >= toDateTime(" + c.Add("start", from.UTC().Format(time.RFC3339)) +
		") AND timestamp < toDateTime(" + c.Add("end", to.UTC().Format(time.RFC3339)) + ")"
}

func (c conditions) parts(parts []Part) string {
	var either []string
	for _, p := range joined(parts) {
		text := c.between(p.From, p.To)
		if n := len(p.Suffix); n > 0 {
			const digits = 32
			text += fmt.Sprintf(" AND substring(replaceAll(toString(uuid), '-', ''), %d, %d) = %s", digits-n+1, n, c.Add("suffix", p.Suffix))
		}
		either = append(either, text)
	}
	return anyOf(either)
}

// all is the condition that all rows fulfil.
const all = "1 = 1"

// exports is the condition for the rows that one of the exports asks for, or also sends.
func (c conditions) exports(exports []Export, isSent bool) string {
	var either []string
	for _, e := range exports {
		var both []string
		if !e.Since.IsZero() {
			asks := []string{"created_at >= toDateTime(" + c.Add("since", e.Since.UTC().Format(time.RFC3339)) + ")"}
			for _, b := range e.Backfills {
				asks = append(asks, c.between(b.From, b.To))
			}
			both = append(both, anyOf(asks))
		}
		if isSent && len(e.Include) > 0 {
			both = append(both, "event IN ("+c.Add("name", e.Include...)+")")
		}
		if isSent && len(e.Exclude) > 0 {
			both = append(both, "NOT event IN ("+c.Add("name", e.Exclude...)+")")
		}
		if isSent && e.Where != "" {
			both = append(both, "("+e.Where+")")
		}
		if len(both) == 0 {
			return all
		}
		either = append(either, strings.Join(both, " AND "))
	}
	if len(either) == 0 {
		return all
	}
	return anyOf(either)
}

func anyOf(either []string) string {
	if len(either) == 1 {
		return "(" + either[0] + ")"
	}
	return "((" + strings.Join(either, ") OR (") + "))"
}

// joined joins neighbours.
func joined(parts []Part) (fewer []Part) {
	for _, p := range parts {
		if last := len(fewer) - 1; last >= 0 && fewer[last].Suffix == p.Suffix && fewer[last].To.Equal(p.From) {
			fewer[last].To = p.To
			continue
		}
		fewer = append(fewer, p)
	}
	return fewer
}

// UnmarshalJSON reads a row as a list of columns.
func (r *row) UnmarshalJSON(b []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(b))
	decoder.UseNumber()
	return decoder.Decode((*[]any)(r))
}
