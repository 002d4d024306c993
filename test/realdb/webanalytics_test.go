package realdb

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/channel"
	"github.com/hogapi/hogapi/internal/testevents"
)

// origin is a way by which sessions come, with the channel that PostHog's documentation gives it.
type origin struct {
	channel    string
	properties map[string]any
}

var origins = []origin{
	{"Direct", map[string]any{"$referring_domain": "$direct"}}, {"Direct", map[string]any{"$referring_domain": "$direct", "utm_source": "(Direct)", "utm_medium": "null"}},
	{"Organic Search", map[string]any{"$referring_domain": "google.de"}}, {"Organic Search", map[string]any{"$referring_domain": "www.google.co.uk"}},
	{"Paid Search", map[string]any{"$referring_domain": "$direct", "utm_source": "Google", "utm_medium": "CPC"}},
	{"Paid Search", map[string]any{"$referring_domain": "a.b.bing.com", "gclid": ""}}, {"Paid Search", map[string]any{"$referring_domain": "$direct", "gad_source": 1}},
	{"Paid Social", map[string]any{"$referring_domain": "$direct", "fbclid": "x", "utm_medium": "paid_feed"}}, {"Paid Unknown", map[string]any{"utm_medium": "cpc", "utm_source": "letters"}},
	{"Paid Shopping", map[string]any{"utm_medium": "ppc", "utm_campaign": "Our Shop"}}, {"Paid Video", map[string]any{"gad_source": "2", "utm_campaign": "a\nVideo"}},
	{"Organic Social", map[string]any{"$referring_domain": "l.facebook.com"}}, {"Organic Social", map[string]any{"$referring_domain": "$direct", "fbclid": "x"}},
	{"Cross Network", map[string]any{"utm_campaign": "x-Cross-Network", "gclid": "x"}}, {"Organic Shopping", map[string]any{"utm_campaign": "eshop", "utm_source": "x"}},
	{"Referral", map[string]any{"utm_campaign": "bishops", "$referring_domain": "church.example.com"}}, {"Referral", map[string]any{"$referring_domain": ""}},
	{"Email", map[string]any{"utm_medium": "E-Mail"}}, {"SMS", map[string]any{"utm_source": "sms"}}, {"Push", map[string]any{"utm_medium": "web-push"}},
	{"Affiliate", map[string]any{"utm_medium": "partnership"}}, {"Display", map[string]any{"utm_medium": "banner"}}, {"Organic Video", map[string]any{"$referring_domain": "m.youtube.com"}},
	{"Unknown", map[string]any{"$referring_domain": nil, "gclid": nil}}, {"Unknown", map[string]any{}},
}

// happened is an event of a generated history.
type happened struct {
	id           uuid.UUID
	name, person string
	at           time.Time
	session      string // empty: none
	url, country string
	origin       origin
}

func (h happened) line() string {
	p := map[string]any{"n": 1}
	maps.Copy(p, h.origin.properties)
	for k, v := range map[string]string{"$session_id": h.session, "$current_url": h.url, "$geoip_country_code": h.country} {
		if v != "" {
			p[k] = v
		}
	}
	text, err := json.Marshal(map[string]any{"uuid": h.id, "event": h.name, "distinct_id": h.person, "timestamp": h.at.Format(time.RFC3339Nano), "properties": p})
	if err != nil {
		panic(err)
	}
	return string(text) + "\n"
}

// v7 is a session id of a time.
func v7(r *rand.Rand, at time.Time) string {
	id := uuid.UUID{6: 0x70 | byte(r.IntN(16)), 8: 0x80 | byte(r.IntN(64))}
	for i, ms := 5, at.UnixMilli(); i >= 0; i, ms = i-1, ms>>8 {
		id[i] = byte(ms)
	}
	for i := 9; i < len(id); i++ {
		id[i] = byte(r.Uint32())
	}
	return id.String()
}

// generated returns the events of visits: of one event, of exactly 10 seconds, over midnight and the end of a month, and with ids
// that break PostHog's rules. The last are counted by the rule.
func generated(seed uint64, most int) (events []happened, broken map[string]int64) {
	r := rand.New(rand.NewPCG(seed, 31))
	broken = map[string]int64{}
	first := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	of := func(share float64) bool { return r.Float64() < share }
	for len(events) < most {
		begin := first.Add(time.Duration(r.Int64N(int64(118 * 24 * time.Hour)))).Truncate(time.Millisecond)
		switch day := begin.Truncate(24 * time.Hour); {
		case of(0.05):
			begin = day.Add(24*time.Hour - 20*time.Second)
		case of(0.05):
			begin = time.Date(2025, begin.Month()+1, 1, 0, 0, 0, 0, time.UTC).Add(-7 * time.Second)
		}
		session, person := v7(r, begin), fmt.Sprint("device-", r.IntN(3000))
		var visit []happened
		add := func(name string, after time.Duration) {
			h := happened{id: uuid.UUID{6: 0x40, 8: 0x80}, name: name, person: person, at: begin.Add(after), session: session, origin: origin{"Unknown", nil}}
			for i := range 6 {
				h.id[i], h.id[10+i] = byte(r.Uint32()), byte(r.Uint32())
			}
			if name == "$pageview" || of(0.3) && name != "$screen" {
				h.url = fmt.Sprintf("https://shop.example/page/%d?x=/%d#y", r.IntN(30), r.IntN(9))
			}
			if of(0.7) {
				h.country = []string{"DE", "FR", "US", "BR"}[r.IntN(4)]
			}
			if len(visit) == 0 || of(0.3) {
				h.origin = origins[r.IntN(len(origins))]
			}
			visit = append(visit, h)
		}
		switch n := r.IntN(20); {
		case n < 5:
			add("$pageview", 0)
		case n < 7:
			add([]string{"$pageview", "$screen"}[r.IntN(2)], 0)
			add("order", 10*time.Second-time.Duration(r.IntN(2))*time.Millisecond)
		case n < 8:
			add([]string{"$autocapture", "order"}[r.IntN(2)], 0)
		default:
			after := time.Duration(0)
			for range 1 + r.IntN(12) {
				add([]string{"$pageview", "$pageview", "$screen", "$autocapture", "order", "$pageleave"}[r.IntN(6)], after)
				after += time.Duration(1+r.IntN(400_000)) * time.Millisecond / time.Duration(1+r.IntN(50))
				after = after.Truncate(time.Millisecond) + time.Millisecond
			}
		}
		last := &visit[len(visit)-1]
		inSession := func(id string) {
			for i := range visit {
				visit[i].session = id
			}
		}
		switch n := r.IntN(200); {
		case n < 6:
			inSession("")
		case n < 8:
			inSession([]string{"session-1", "0193b0a5-6f6c-4000-8000-000000000001", "{" + session + "}", session + " "}[r.IntN(4)])
			broken[formats.OutsideNotV7] += int64(len(visit))
		case n < 9:
			inSession(v7(r, begin.Add(time.Millisecond)))
			broken[formats.OutsideEarly]++
		case n < 10 && len(visit) > 1:
			last.at = begin.Add(24*time.Hour + time.Duration(r.IntN(5))*time.Hour)
			broken[formats.OutsideLate]++
		case n < 11:
			inSession(v7(r, begin.AddDate(0, 2, 0)))
			broken[formats.OutsideEarly] += int64(len(visit))
		case n < 14: // the same id in other forms
			visit[0].session = strings.ToUpper(session)
			last.session = strings.ReplaceAll(session, "-", "")
		}
		events = append(events, visit...)
	}
	r.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	return events, broken
}

// facts are numbers by month, kind and name.
type facts map[string]int64

func (f facts) add(month, kind, name string, n int64) {
	if n != 0 {
		f[month+" "+kind+" "+name] += n
	}
}

// modelled counts the sessions of events by the rules of PostHog's documentation, as simply as can be.
func modelled(events []happened) (facts, map[string]map[string]bool) {
	f, visitors, sessions := facts{}, map[string]map[string]bool{}, map[uuid.UUID][]happened{}
	for _, h := range events {
		month := h.at.Format("2006-01")
		f.add(month, "events", "", 1)
		id, err := uuid.Parse(h.session)
		if err != nil || id.Version() != 7 || strings.ContainsAny(h.session, "{ ") {
			continue
		}
		f.add(month, "in session", "", 1)
		if h.name == "$pageview" || h.name == "$screen" {
			f.add(month, "views", "", 1)
			if visitors[month] == nil {
				visitors[month] = map[string]bool{}
			}
			visitors[month][h.person] = true
		}
		sessions[id] = append(sessions[id], h)
	}
	for id, all := range sessions {
		slices.SortFunc(all, func(a, b happened) int { return a.at.Compare(b.at) })
		start, end := all[0].at, all[len(all)-1].at
		f.add("", "all sessions", "", 1)
		sec, nsec := id.Time().UnixTime()
		made, month := time.Unix(sec, nsec).UTC(), time.Date(start.Year(), start.Month(), 1, 0, 0, 0, 0, time.UTC)
		if made.Before(month.AddDate(0, 0, -3)) || made.After(month.AddDate(0, 1, 3)) {
			f.add("", "hidden", "", 1)
			continue
		}
		views, acts, others := []happened{}, 0, []happened{}
		for _, h := range all {
			switch h.name {
			case "$pageview", "$screen":
				views, acts = append(views, h), acts+1
			case "$autocapture":
				acts++
				fallthrough
			default:
				others = append(others, h)
			}
		}
		if len(views) == 0 {
			continue
		}
		m, seconds := start.Format("2006-01"), end.Unix()-start.Unix()
		f.add(m, "sessions", "", 1)
		f.add(m, "seconds", "", seconds)
		if acts == 1 && seconds < 10 {
			f.add(m, "bounces", "", 1)
		}
		f.add(m, "channel", views[0].origin.channel, 1)
		if i := slices.IndexFunc(all, func(h happened) bool { return h.country != "" }); i >= 0 {
			f.add(m, "country", all[i].country, 1)
		}
		hasURL := func(h happened) bool { return h.url != "" }
		path := func(h happened) string {
			u, err := url.Parse(h.url)
			if err != nil {
				panic(err)
			}
			return u.Path
		}
		inOrder := append(slices.Clone(views), others...)
		if i := slices.IndexFunc(inOrder, hasURL); i >= 0 {
			f.add(m, "entry", path(inOrder[i]), 1)
		}
		inOrder = append(slices.Clone(others), views...)
		slices.Reverse(inOrder)
		if i := slices.IndexFunc(inOrder, hasURL); i >= 0 {
			f.add(m, "exit", path(inOrder[i]), 1)
		}
	}
	return f, visitors
}

// predicted are the facts of a check.
func predicted(r *formats.WebReport) facts {
	f := facts{}
	f.add("", "all sessions", "", r.Sessions)
	f.add("", "hidden", "", r.Hidden)
	for _, m := range r.Months {
		for kind, n := range map[string]int64{"events": m.Events, "in session": m.InSession, "views": m.Views, "sessions": m.Sessions, "bounces": m.Bounces, "seconds": m.Seconds} {
			f.add(m.Month, kind, "", n)
		}
		for kind, counts := range map[string]map[string]int64{"channel": m.Channels, "country": m.Countries, "entry": m.Entries, "exit": m.Exits} {
			for name, n := range counts {
				f.add(m.Month, kind, name, n)
			}
		}
	}
	return f
}

// quoted is a text in SQL.
func quoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// lookups are SQL functions of a source or a medium that give its channel, or NULL.
func lookups() (paidSource, organicSource, paidMedium, organicMedium func(string) string) {
	made := func(kind string, of func(channel.Definition) string) func(string) string {
		var names, values []string
		for _, d := range channel.Definitions() {
			if d.Kind == kind && of(d) != "" {
				names, values = append(names, quoted(d.Name)), append(values, quoted(of(d)))
			}
		}
		return func(x string) string {
			return fmt.Sprintf("nullIf(transform(ifNull(%s, ''), [%s], [%s], ''), '')", x, strings.Join(names, ","), strings.Join(values, ","))
		}
	}
	paid, organic := func(d channel.Definition) string { return d.Paid }, func(d channel.Definition) string { return d.Organic }
	ofDomain := func(f func(string) string) func(string) string {
		return func(x string) string {
			return "coalesce(" + f(x) + ", " + f("cutToFirstSignificantSubdomain(ifNull("+x+", ''))") + ")"
		}
	}
	return ofDomain(made("source", paid)), ofDomain(made("source", organic)), made("medium", paid), made("medium", organic)
}

const shop = `match(campaign, '(^|[^a-df-z])shop|shopping')`

// channelSQL is the channel of the columns source, medium, campaign, domain, gad (all may be NULL), has_gclid and has_fbclid.
func channelSQL() string {
	paidSource, organicSource, paidMedium, organicMedium := lookups()
	return `multiIf(
	match(campaign, 'cross-network'), 'Cross Network',
	medium IN ('cpc', 'cpm', 'cpv', 'cpa', 'ppc', 'retargeting') OR startsWith(medium, 'paid') OR has_gclid OR gad IS NOT NULL,
		coalesce(` + paidSource("source") + `, if(` + shop + `, 'Paid Shopping', NULL), ` + paidMedium("medium") + `, ` + paidSource("domain") + `,
			multiIf(gad = '1', 'Paid Search', match(campaign, 'video'), 'Paid Video', has_fbclid, 'Paid Social', 'Paid Unknown')),
	domain = '$direct' AND medium IS NULL AND (source IS NULL OR source IN ('(direct)', 'direct', '$direct')) AND NOT has_fbclid, 'Direct',
	coalesce(` + organicSource("source") + `, if(` + shop + `, 'Organic Shopping', NULL), ` + organicMedium("medium") + `, ` + organicSource("domain") + `,
		multiIf(match(campaign, 'video'), 'Organic Video', match(medium, 'push$'), 'Push', has_fbclid, 'Organic Social', domain = '$direct', 'Direct',
			domain IS NOT NULL, 'Referral', 'Unknown')))`
}

// sessionsSQL makes the sessions of a table of events, as PostHog's materialized view does. Its timestamps are in UTC.
const sessionsSQL = `CREATE OR REPLACE TABLE %[1]s.sessions ENGINE = MergeTree ORDER BY id AS
WITH toUInt128(accurateCastOrNull(JSONExtractString(properties, '$session_id'), 'UUID')) AS session,
	JSONExtract(properties, 'Tuple(` + "`$current_url` Nullable(String), `$geoip_country_code` Nullable(String), `$referring_domain` Nullable(String), " +
	"utm_source Nullable(String), utm_medium Nullable(String), utm_campaign Nullable(String), gclid Nullable(String), fbclid Nullable(String), gad_source Nullable(String)" + `)') AS p,
	event IN ('$pageview', '$screen') AS is_view,
	if(is_view, timestamp, addYears(timestamp, 1)) AS first_rank, if(is_view, timestamp, addYears(timestamp, -1)) AS last_rank
SELECT assumeNotNull(session) AS id, min(timestamp) AS start, max(timestamp) AS end,
	argMin(tupleElement(p, 1), first_rank) AS entry, argMax(tupleElement(p, 1), last_rank) AS exit, argMin(tupleElement(p, 2), timestamp) AS country,
	argMin(tuple(tupleElement(p, 4), tupleElement(p, 5), tupleElement(p, 6), tupleElement(p, 3), tupleElement(p, 7) IS NOT NULL, tupleElement(p, 8) IS NOT NULL,
		tupleElement(p, 9)), first_rank) AS touch,
	uniqExactIf(uuid, is_view) AS views, uniqExactIf(uuid, is_view OR event = '$autocapture') AS acts
FROM %[1]s.events FINAL WHERE bitAnd(bitShiftRight(session, 76), 15) = 7 GROUP BY id`

// shownSQL returns the numbers of web analytics, a row for each fact.
func shownSQL() string {
	return `WITH shown AS (
	WITH arrayMap(x -> lower(nullIf(nullIf(x, ''), 'null')), [touch.1, touch.2, touch.3]) AS low, low[1] AS source, low[2] AS medium, low[3] AS campaign,
		touch.4 AS domain, touch.5 AS has_gclid, touch.6 AS has_fbclid, nullIf(nullIf(touch.7, ''), 'null') AS gad,
		toStartOfMonth(start) AS month, fromUnixTimestamp64Milli(toInt64(bitShiftRight(id, 80)), 'UTC') AS made
	SELECT formatDateTime(start, '%%Y-%%m') AS m, views, acts, country, path(entry) AS first_path, path(exit) AS last_path, dateDiff('second', start, end) AS seconds,
		made < toDateTime64(month, 3, 'UTC') - toIntervalDay(3) OR made > toDateTime64(month + toIntervalMonth(1), 3, 'UTC') + toIntervalDay(3) AS is_hidden,
		` + channelSQL() + ` AS channel
	FROM %[1]s.sessions), web AS (SELECT * FROM shown WHERE NOT is_hidden AND views > 0),
seen AS (SELECT formatDateTime(timestamp, '%%Y-%%m') AS m, event IN ('$pageview', '$screen') AS is_view,
	ifNull(bitAnd(bitShiftRight(toUInt128(accurateCastOrNull(JSONExtractString(properties, '$session_id'), 'UUID')), 76), 15) = 7, 0) AS is_in FROM %[1]s.events FINAL)
SELECT '' AS m, 'all sessions' AS kind, '' AS name, count() AS n FROM shown
UNION ALL SELECT '', 'hidden', '', countIf(is_hidden) FROM shown
UNION ALL SELECT m, 'events', '', count() FROM seen GROUP BY m UNION ALL SELECT m, 'in session', '', countIf(is_in) FROM seen GROUP BY m
UNION ALL SELECT m, 'views', '', countIf(is_in AND is_view) FROM seen GROUP BY m
UNION ALL SELECT m, 'sessions', '', count() FROM web GROUP BY m UNION ALL SELECT m, 'seconds', '', sum(seconds) FROM web GROUP BY m
UNION ALL SELECT m, 'bounces', '', countIf(acts = 1 AND seconds < 10) FROM web GROUP BY m
UNION ALL SELECT m, 'channel', channel, count() FROM web GROUP BY m, channel
UNION ALL SELECT m, 'country', assumeNotNull(country), count() FROM web WHERE country IS NOT NULL GROUP BY m, country
UNION ALL SELECT m, 'entry', assumeNotNull(first_path), count() FROM web WHERE first_path IS NOT NULL GROUP BY m, first_path
UNION ALL SELECT m, 'exit', assumeNotNull(last_path), count() FROM web WHERE last_path IS NOT NULL GROUP BY m, last_path`
}

// outsideSQL counts the events that are not within 24 hours of the time in their session's id.
const outsideSQL = `WITH toUInt128(accurateCastOrNull(JSONExtractString(properties, '$session_id'), 'UUID')) AS id,
	fromUnixTimestamp64Milli(toInt64(bitShiftRight(id, 80)), 'UTC') AS made
SELECT countIf(timestamp < made), countIf(timestamp >= made + toIntervalHour(24)) FROM %s.events FINAL WHERE bitAnd(bitShiftRight(id, 76), 15) = 7`

// numberOf reads a number of an answer, which may be a text.
func numberOf(t *testing.T, v any) int64 {
	t.Helper()
	n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	require.NoError(t, err)
	return int64(math.Round(n))
}

// The prediction of check equals the results of a real ClickHouse for the imported events, and of a simple model.
func TestWebAnalyticsIsPredicted(t *testing.T) {
	newEngine(t)
	for seed := range testevents.Sized[uint64](1, 2, 10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { predictedRightly(t, seed, 100_000) })
	}
}

func predictedRightly(t *testing.T, seed uint64, most int) {
	t.Helper()
	e, db := newEngine(t), fmt.Sprint("web_", seed)
	events, broken := generated(seed, most)
	path := filepath.Join(t.TempDir(), "events.jsonl")
	var lines strings.Builder
	for i, h := range events {
		lines.WriteString(h.line())
		if i%100 == 0 { // twice in the file
			lines.WriteString(h.line())
		}
	}
	require.NoError(t, os.WriteFile(path, []byte(lines.String()), 0o600))
	_, web, err := formats.CheckWeb(t.Context(), history.JSONLines(path), &history.Options{ID: "web"}, &formats.WebAnalyticsOptions{})
	require.NoError(t, err)

	e.run("SET max_query_size = 10000000") // it has the list of sources
	e.run("CREATE DATABASE IF NOT EXISTS " + db)
	e.run("CREATE OR REPLACE TABLE " + db + `.events (uuid UUID, event String, distinct_id String, timestamp DateTime64(6, 'UTC'), properties String)
		ENGINE = ReplacingMergeTree ORDER BY (toDate(timestamp), event, cityHash64(distinct_id), cityHash64(uuid))`)
	e.run("INSERT INTO " + db + ".events SELECT uuid, event, distinct_id, parseDateTime64BestEffort(timestamp, 6, 'UTC'), properties FROM file(" +
		quoted(imported(t, path)) + ", 'JSONEachRow', 'uuid UUID, event String, distinct_id String, timestamp String, properties String')")
	e.run(fmt.Sprintf(sessionsSQL, db))
	stored := facts{}
	for _, row := range e.run(fmt.Sprintf(shownSQL(), db)) {
		stored.add(fmt.Sprint(row[0]), fmt.Sprint(row[1]), fmt.Sprint(row[2]), numberOf(t, row[3]))
	}
	model, visitors := modelled(events)
	assert.Equal(t, model, stored, "a simple model, and the database")
	assert.Equal(t, stored, predicted(web), "the database, and the prediction")
	for _, m := range web.Months {
		assert.InDelta(t, len(visitors[m.Month]), m.Visitors, 0.02*float64(len(visitors[m.Month]))+1, m.Month)
	}
	rows := e.run(fmt.Sprintf(outsideSQL, db))
	assert.Equal(t, []int64{broken[formats.OutsideEarly], broken[formats.OutsideLate]}, []int64{numberOf(t, rows[0][0]), numberOf(t, rows[0][1])},
		"no event is outside PostHog's rule, but for those that were made so")
	for _, reason := range []string{formats.OutsideNotV7, formats.OutsideEarly, formats.OutsideLate} {
		assert.Positive(t, broken[reason])
		assert.Equal(t, broken[reason], web.Outside[reason].Count, reason)
	}
	t.Logf("%d events, %d sessions, %d facts", len(events), web.Sessions, len(stored))
}

// imported imports a file into a project, and returns a file of the events that the project has.
func imported(t *testing.T, path string) string {
	t.Helper()
	server := hogapitest.New()
	client := server.Client(t)
	receipt, err := history.Import(t.Context(), client, history.JSONLines(path), &history.Options{ID: "web", Rate: hogapi.RateUnlimited})
	require.NoError(t, err)
	require.Zero(t, receipt.Rejected)
	stored, err := os.Create(filepath.Join(t.TempDir(), "stored.jsonl"))
	require.NoError(t, err)
	w := bufio.NewWriter(stored)
	encoder := json.NewEncoder(w)
	for ev := range server.Ledger().Events() {
		require.NoError(t, encoder.Encode(map[string]any{
			"uuid": ev.UUID, "event": ev.Event, "distinct_id": ev.DistinctID, "timestamp": ev.Time.UTC().Format("2006-01-02T15:04:05.999999Z"), "properties": string(ev.Properties),
		}))
	}
	require.NoError(t, w.Flush())
	require.NoError(t, stored.Close())
	return stored.Name()
}

// The domain that a host belongs to is the one that ClickHouse finds, for the sources that PostHog knows and for odd hosts.
func TestDomainsOfSources(t *testing.T) {
	e := newEngine(t)
	hosts := []string{"a b.google.com", "x.google.com.", "https://m.google.com/a", "a@x.google.com", "u:p@x.google.com", "", "$direct", "google.com:80", "a%20.b.com", "1.2.3.4", "co.uk", "a..b.com"}
	for _, d := range channel.Definitions() {
		if d.Kind == channel.KindSource {
			hosts = append(hosts, d.Name, "x."+d.Name, "www.x."+d.Name)
		}
	}
	var texts []string
	for _, host := range hosts {
		texts = append(texts, quoted(host))
	}
	known := map[string]bool{"": true}
	for _, d := range channel.Definitions() {
		known[d.Name] = true
	}
	ours := func(name string) string { // a name that no source has is as good as none
		if known[name] {
			return name
		}
		return ""
	}
	for i, row := range e.run("SELECT cutToFirstSignificantSubdomain(host) FROM (SELECT arrayJoin([" + strings.Join(texts, ",") + "]) AS host)") {
		assert.Equal(t, ours(fmt.Sprint(row[0])), ours(channel.Domain(hosts[i])), cmp.Or(hosts[i], "nothing"))
	}
}
