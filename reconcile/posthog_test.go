package reconcile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// transport carries requests out by a function.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answered(r *http.Request, status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}
}

// project is a project of the fake with the rows of a world's side.
func project(t *testing.T, rows []stored, change func(next http.RoundTripper) http.RoundTripper) *PostHogSide {
	t.Helper()
	zone, err := time.LoadLocation("America/New_York")
	require.NoError(t, err)
	server := hogapitest.New(hogapitest.WithTimezone(zone), hogapitest.WithClock(func() time.Time { return modelEnd }))
	p := server.Project(hogapitest.DefaultProject)
	for _, r := range rows {
		p.AddEvent(hogapitest.StoredEvent{UUID: r.id, Event: r.event, DistinctID: r.who, Time: r.at, CreatedAt: r.created, Properties: json.RawMessage(`{"plan":"paid"}`)})
	}
	next := server.Transport()
	if change != nil {
		next = change(next)
	}
	client, err := hogapi.NewClient(append(server.ClientOptions(hogapitest.DefaultProject), hogapi.WithHTTPClient(&http.Client{Transport: next}))...)
	require.NoError(t, err)
	return PostHog(client, nil)
}

// A project of the fake gives the same report as the same rows in memory, on both sides. Its zone is not UTC.
func TestProjectsOfTheFake(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		w := newWorld(seed)
		o := w.options()
		w.service.most, w.there.most = 0, 0
		o.Exports[0].Where = "properties.plan = 'paid'"
		o.Exports[0].Exclude = []string{"nothing"}
		w.service.wheres = map[string]func(stored) bool{o.Exports[0].Where: func(stored) bool { return true }}
		want := compare(t, w.service, w.there, o)
		require.Equal(t, w.findings(), shown(want))
		service := project(t, w.service.rows, nil)
		got := compare(t, service, w.there, o)
		require.Empty(t, got.Unknown)
		require.Equal(t, shown(want), shown(got), "seed %d", seed)

		// Copies that are not merged are ordinary in a project, as the destination too.
		there := project(t, w.there.rows, nil)
		w.there.rows = slices.CompactFunc(slices.SortedFunc(slices.Values(w.there.rows), func(a, b stored) int {
			return cmp.Or(cmp.Compare(a.id.String(), b.id.String()), a.at.Compare(b.at), cmp.Compare(a.event, b.event))
		}), func(a, b stored) bool { return a.id == b.id && a.event == b.event && a.at.Equal(b.at) })
		want = compare(t, w.service, w.there, o)
		got = compare(t, service, there, o)
		require.Empty(t, got.Unknown)
		assert.Equal(t, shown(want), shown(got), "seed %d", seed)
		for i := range want.Days {
			assert.Equal(t, want.Days[i].Counts, got.Days[i].Counts, "seed %d, %s", seed, want.Days[i].Day)
		}
		assert.Equal(t, want.Verdict, got.Verdict)
	}
}

// results changes the results of an answer.
func results(change func(list []any) []any) func(text string) string {
	return func(text string) string {
		var body map[string]any
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if d.Decode(&body) != nil {
			return text
		}
		body["results"] = change(body["results"].([]any))
		changed, err := json.Marshal(body)
		if err != nil {
			return text
		}
		return string(changed)
	}
}

// Answers of a project that lies: the report is right, or it cannot tell. It is never complete without reason.
func TestProjectsThatLie(t *testing.T) {
	t.Parallel()
	each := func(change func(v any) any) func(string) string {
		return results(func(list []any) []any {
			for _, r := range list {
				columns := r.([]any)
				for i := range columns {
					columns[i] = change(columns[i])
				}
			}
			return list
		})
	}
	for name, tt := range map[string]struct {
		change  func(text string) string
		isRight bool
	}{
		"as it is":          {func(text string) string { return text }, true},
		"texts for numbers": {each(func(v any) any { return fmt.Sprint(v) }), true},
		"uuids in upper case": {each(func(v any) any {
			if text, ok := v.(string); ok && len(text) == 36 {
				return strings.ToUpper(text)
			}
			return v
		}), true},
		"uuids without dashes": {each(func(v any) any {
			if text, ok := v.(string); ok && len(text) == 36 {
				return strings.ReplaceAll(text, "-", "")
			}
			return v
		}), true},
		"from a cache": {func(text string) string { return strings.Replace(text, `"is_cached":false`, `"is_cached":true`, 1) }, false},
		"cut":          {results(func(list []any) []any { return list[:min(2, len(list))] }), false},
		"more exist":   {func(text string) string { return strings.Replace(text, `{`, `{"hasMore":true,`, 1) }, false},
		"empty lists": {results(func(list []any) []any {
			if len(list) > 0 && len(fmt.Sprint(list[0].([]any)[0])) == 36 {
				return []any{}
			}
			return list
		}), false},
		"empty digests": {results(func(list []any) []any {
			if len(list) > 0 && len(list[0].([]any)) == 5 && len(fmt.Sprint(list[0].([]any)[0])) != 36 {
				return []any{}
			}
			return list
		}), false},
		"rows twice": {results(func(list []any) []any { return append(list, list...) }), false},
		"nulls":      {each(func(any) any { return nil }), false},
		"another number of columns": {results(func(list []any) []any {
			for i := range list {
				list[i] = append(list[i].([]any), 1)
			}
			return list
		}), false},
		"fractions": {each(func(v any) any {
			if _, ok := v.(json.Number); ok {
				return 1.5
			}
			return v
		}), false},
		"an error of its own": {func(text string) string { return strings.Replace(text, `"error":null`, `"error":"out of memory"`, 1) }, false},
		"HTML":                {func(string) string { return "<html>" }, false},
		"an hour later": {each(func(v any) any {
			if text, ok := v.(string); ok && len(text) == 13 && text[10] == 'T' {
				at, _ := time.Parse("2006-01-02T15", text)
				return at.Add(time.Hour).Format("2006-01-02T15")
			}
			return v
		}), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // a cached answer is asked for again after some seconds
				for number := range 4 {
					isService, isWhole := number%2 == 0, number/2 == 0
					if isWhole && (name == "an hour later" || name == "empty lists") {
						continue // equal digests: neither hours nor lists are asked for
					}
					w := newWorld(3)
					w.exports = nil
					w.service.rows, w.there.rows, w.want, w.classes = nil, nil, nil, map[Class]bool{}
					for range 60 {
						fates["delivered"](w)
					}
					want := Complete
					if !isWhole {
						fates["missing"](w)
						want = Incomplete
					}
					lying := func(next http.RoundTripper) http.RoundTripper {
						return transport(func(r *http.Request) (*http.Response, error) {
							a, err := next.RoundTrip(r)
							if err != nil {
								return nil, err
							}
							defer a.Body.Close()
							text, err := io.ReadAll(a.Body)
							return answered(r, a.StatusCode, tt.change(string(text))), err
						})
					}
					service, there := project(t, w.service.rows, lying), Side(w.there)
					if !isService {
						service, there = project(t, w.service.rows, nil), project(t, w.there.rows, lying)
					}
					r := compare(t, service, there, &Options{From: w.from.Truncate(time.Hour), To: w.to, listDays: 3, listHours: 1, now: func() time.Time { return modelEnd }})
					if tt.isRight {
						assert.Equal(t, w.findings(), shown(r))
						assert.Equal(t, want, r.Verdict)
						continue
					}
					assert.NotContains(t, []Verdict{Complete, CompleteWithDifferences}, r.Verdict, "%v", r)
					for _, f := range r.Findings {
						if f.Class == Missing {
							assert.Contains(t, w.findings(), shown(&Report{Findings: []Finding{f}})[0], "%v", r)
						}
					}
				}
			})
		})
	}
}

// A mistake of the setup ends the comparison with an error that names it, after one question.
func TestProjectsThatRefuse(t *testing.T) {
	t.Parallel()
	w := newWorld(3)
	for status, body := range map[int]string{
		401: `{"type":"authentication_error","code":"authentication_failed","detail":"Invalid personal API key."}`,
		403: `{"type":"authentication_error","code":"permission_denied","detail":"API key missing required scope 'query:read'"}`,
		404: `{"type":"invalid_request","code":"not_found","detail":"Project not found."}`,
		400: `{"type":"validation_error","code":"hogql_query_error","detail":"Unable to resolve field: plan"}`,
	} {
		asked := 0
		side := project(t, nil, func(http.RoundTripper) http.RoundTripper {
			return transport(func(r *http.Request) (*http.Response, error) { asked++; return answered(r, status, body), nil })
		})
		_, err := Compare(t.Context(), side, w.there, w.options())
		api := new(hogapi.APIError)
		require.ErrorAs(t, err, &api)
		assert.ErrorContains(t, err, "PostHog project")
		assert.Contains(t, err.Error(), api.Detail)
		assert.Equal(t, 1, asked)
	}
	for _, client := range []*hogapi.Client{nil, {}} {
		_, err := Compare(t.Context(), PostHog(client, nil), w.there, w.options())
		require.ErrorAs(t, err, new(*hogapi.InputError))
		assert.ErrorContains(t, err, "a client of NewClient")
	}
}

// A busy project is asked again. A question that takes too long is asked in parts, down to 1/256 of a day.
func TestProjectsThatAreSlow(t *testing.T) {
	t.Parallel()
	w := newWorld(5)
	w.exports, w.from = nil, w.to.Add(-60*time.Hour)
	w.service.rows, w.there.rows, w.want = nil, nil, nil
	for range 40 {
		fates["delivered"](w)
	}
	fates["missing"](w)
	for name, tt := range map[string]struct {
		status   int
		isTooBig func(query string, values map[string]any) bool
		verdict  Verdict
	}{
		"more than a day": {504, func(query string, values map[string]any) bool {
			from, _ := time.Parse(time.RFC3339, fmt.Sprint(values["start_0"]))
			to, _ := time.Parse(time.RFC3339, fmt.Sprint(values["end_1"]))
			return strings.Contains(query, "MD5") && to.Sub(from) > 24*time.Hour
		}, Incomplete},
		"more than 1/256": {512, func(query string, _ map[string]any) bool {
			return strings.Contains(query, "MD5") && !strings.Contains(query, ", 31, 2) = ")
		}, Incomplete},
		"each digest": {504, func(query string, _ map[string]any) bool { return strings.Contains(query, "MD5") }, Undecided},
		"each list":   {504, func(query string, _ map[string]any) bool { return strings.Contains(query, "uuid_text") }, Undecided},
		"all fail":    {500, func(string, map[string]any) bool { return true }, Undecided},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				side := project(t, w.service.rows, func(next http.RoundTripper) http.RoundTripper {
					return transport(func(r *http.Request) (*http.Response, error) {
						text, err := io.ReadAll(r.Body)
						if err != nil {
							return nil, err
						}
						r.Body = io.NopCloser(bytes.NewReader(text))
						var body struct {
							Query struct {
								Query  string
								Values map[string]any
							}
						}
						if err := json.Unmarshal(text, &body); err != nil {
							return nil, err
						}
						if n++; n%5 == 1 {
							return answered(r, 429, `{"type":"throttled_error","code":"throttled","detail":"wait"}`), nil
						}
						if tt.isTooBig(body.Query.Query, body.Query.Values) {
							return answered(r, tt.status, `{"type":"server_error","code":"error","detail":"too slow"}`), nil
						}
						return next.RoundTrip(r)
					})
				})
				o := &Options{From: w.from, To: w.to, now: func() time.Time { return modelEnd }}
				r := compare(t, side, w.there, o)
				assert.Equal(t, tt.verdict, r.Verdict, "%v", r)
			})
		})
	}
}

// MaxBytesRead ends a comparison before the query that would pass it. With the folder, another one continues, and nothing is
// read twice; without it, the next one begins again.
func TestReadsNoMoreThanItMay(t *testing.T) {
	t.Parallel()
	w := newWorld(5)
	w.exports, w.from = nil, w.to.Add(-40*24*time.Hour)
	w.service.rows, w.there.rows, w.want = nil, nil, nil
	for range 400 {
		fates["delivered"](w)
	}
	fates["missing"](w)
	w.service.most, w.there.most = 0, 0
	server := hogapitest.New(hogapitest.WithReadBudget(20_000_000_000, 0), hogapitest.WithClock(func() time.Time { return modelEnd }))
	p := server.Project(hogapitest.DefaultProject)
	for _, r := range w.service.rows {
		p.AddEvent(hogapitest.StoredEvent{UUID: r.id, Event: r.event, DistinctID: r.who, Time: r.at, CreatedAt: r.created})
	}
	run := func(dir string, most int64) (report *Report, read int64, err error) {
		before := p.ReadBytes()
		o := &Options{From: w.from.Truncate(time.Hour), To: w.to, Dir: dir, MaxBytesRead: most, windowRows: 100, now: func() time.Time { return modelEnd }}
		report, err = Compare(t.Context(), PostHog(server.Client(t), nil), w.there, o)
		return report, p.ReadBytes() - before, err
	}
	report, whole, err := run("", 0)
	require.NoError(t, err)
	require.Equal(t, w.findings(), shown(report))
	require.Equal(t, whole, report.BytesRead)

	limit, dir, all, runs := whole/2, t.TempDir(), int64(0), 0
	for report = nil; report == nil; {
		var read int64
		report, read, err = run(dir, limit)
		if runs++; report == nil {
			require.ErrorIs(t, err, ErrMaxBytesRead)
			require.ErrorContains(t, err, "run again with the same Dir to continue")
		}
		require.LessOrEqual(t, read, limit)
		require.Less(t, runs, 10)
		all += read
	}
	require.NoError(t, err)
	assert.Equal(t, w.findings(), shown(report))
	assert.Greater(t, runs, 1)
	assert.Equal(t, whole, all, "nothing is read twice")

	_, first, err := run("", limit)
	require.ErrorIs(t, err, ErrMaxBytesRead)
	_, second, err := run("", limit)
	require.ErrorIs(t, err, ErrMaxBytesRead)
	assert.Equal(t, first, second)
	_, _, err = run("", -1)
	require.ErrorContains(t, err, "MaxBytesRead")
}
