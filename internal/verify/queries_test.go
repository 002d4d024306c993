package verify

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/queries"
)

var (
	errRefused = errors.New("refused")
	inMarch    = Window{From: time.Date(1999, 3, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(1999, 4, 1, 0, 0, 0, 0, time.UTC)}
)

type service struct {
	counts func(q queries.Query) ([]CountRow, error)
	uuids  func() ([]UUIDRow, error)
}

func (s service) asker() *queries.Asker {
	return &queries.Asker{Server: &queries.Server{}, Send: func(_ context.Context, body any, answer queries.Decoder) (r queries.Reply) {
		q := body.(map[string]any)["query"].(queries.Query)
		switch a := answer.(type) {
		case *queries.Answer[CountRow]:
			a.Rows, r.Err = s.counts(q)
		case *queries.Answer[UUIDRow]:
			a.Rows, r.Err = s.uuids()
		}
		switch {
		case errors.Is(r.Err, errRefused):
			r.Status, r.IsRefused = 400, true
		case errors.Is(r.Err, errTooMuch):
			r.Status = 504
		}
		return r
	}}
}

func TestOlderServersAreAskedAnotherWay(t *testing.T) {
	t.Parallel()
	var texts []string
	j := Queries{ID: "i", Asker: service{counts: func(q queries.Query) ([]CountRow, error) {
		texts = append(texts, q.HogQL)
		if strings.Contains(q.HogQL, dayOfEvent) {
			return nil, errRefused
		}
		return nil, nil
	}}.asker()}
	for range 2 {
		_, err := j.Count(t.Context(), Scope{Window: inMarch, OfImport: true})
		require.NoError(t, err)
	}
	require.Len(t, texts, 3, "it is remembered")
	assert.Contains(t, texts[2], startOfDay)

	j.Asker, j.noSums = service{counts: func(queries.Query) ([]CountRow, error) { texts = append(texts, "refused"); return nil, errRefused }}.asker(), true
	_, err := j.Count(t.Context(), Scope{Window: inMarch, OfImport: true})
	require.ErrorIs(t, err, errRefused)
	assert.Len(t, texts, 4, "there is no third way")
}

// If a server refuses sums of uuids, later queries only count. If sums cost too much, queries first
// use smaller windows, and then count single days.
func TestSumsAreNotNeeded(t *testing.T) {
	t.Parallel()
	firstDay := Window{From: inMarch.From, Until: inMarch.From.AddDate(0, 0, 1)}
	for name, tt := range map[string]struct {
		fail  error
		w     Window
		want  error
		asked int // with two counts
	}{
		"refused":            {errRefused, inMarch, nil, 4},
		"too much":           {errTooMuch, inMarch, errTooMuch, 2},
		"too much for a day": {errTooMuch, firstDay, nil, 4},
		"another error":      {errOther, firstDay, errOther, 2},
	} {
		asked := 0
		j := Queries{ID: "i", Asker: service{counts: func(q queries.Query) ([]CountRow, error) {
			if asked++; strings.Contains(q.HogQL, "reinterpretAsUInt64") {
				return nil, tt.fail
			}
			return []CountRow{{Day: inMarch.From, Event: "e"}}, nil
		}}.asker()}
		for range 2 {
			rows, err := j.Count(t.Context(), Scope{Window: tt.w, OfImport: true})
			require.ErrorIs(t, err, tt.want, name)
			assert.Equal(t, tt.want == nil, len(rows) == 1, name)
		}
		assert.Equal(t, tt.asked, asked, name)
	}
	broken := Queries{ID: "i", Asker: service{counts: func(queries.Query) ([]CountRow, error) { return nil, errRefused }}.asker()}
	_, err := broken.Count(t.Context(), Scope{Window: inMarch, OfImport: true})
	require.ErrorIs(t, err, errRefused)
}

// Duplicate rows, and rows outside the query, are an error.
func TestCountsOfAnotherQuestion(t *testing.T) {
	t.Parallel()
	row := func(day int) CountRow { return CountRow{Day: inMarch.From.AddDate(0, 0, day), Event: "e"} }
	for _, rows := range [][]CountRow{{row(0), row(0)}, {row(-1)}, {row(31)}} {
		j := Queries{ID: "i", Asker: service{counts: func(queries.Query) ([]CountRow, error) { return rows, nil }}.asker()}
		got, err := j.Count(t.Context(), Scope{Window: inMarch, OfImport: true})
		require.ErrorContains(t, err, "outside the query, or a row twice")
		assert.Empty(t, got)
	}
}

// A scope adds conditions after the window; each value is a placeholder.
func TestScopes(t *testing.T) {
	t.Parallel()
	j := &Queries{ID: "i"}
	ids := []uuid.UUID{{1}, {2}}
	for want, s := range map[string]Scope{
		"": {},
		" AND properties.$import_job_id = {job_id}":                                                               {OfImport: true},
		" AND event IN ({name_2}, {name_3}) AND properties.$import_job_id = {job_id}":                             {Names: []string{"a", "it's"}, OfImport: true},
		" AND substring(replaceAll(toString(uuid), '-', ''), {slice_at}, {slice_digits}) IN ({name_4}, {name_5})": {Slices: []string{"0a", "ff"}},
	} {
		s.Window = inMarch
		for _, text := range []string{countAll, sumAll, hashDays, sumSlices, listAll, findUUIDs} {
			q := j.scoped(text, s)
			assert.Equal(t, strings.Replace(text, bounds, bounds+want, 1), q.HogQL)
			assert.Equal(t, "1999-03-01T00:00:00Z", q.Values["start_at"])
		}
	}
	q := j.scoped(listAll, Scope{Window: inMarch, Slices: []string{"0a"}})
	assert.Equal(t, []any{31, 2, "0a"}, []any{q.Values["slice_at"], q.Values["slice_digits"], q.Values["name_4"]})
	j.Asker = &queries.Asker{Server: &queries.Server{}, Send: func(_ context.Context, body any, answer queries.Decoder) queries.Reply {
		q := body.(map[string]any)["query"].(queries.Query)
		assert.Contains(t, q.HogQL, "toString(uuid) IN ({name_2}, {name_3})")
		return queries.Reply{Err: answer.Decode(t.Context(), []byte(`{"results":[["`+ids[1].String()+`","1999-03-05","e"]]}`))}
	}}
	found, err := j.Find(t.Context(), ids, Scope{Window: inMarch})
	require.NoError(t, err)
	assert.Equal(t, []FoundRow{{ids[1], inMarch.From.AddDate(0, 0, 4), "e"}}, found)
}

// The text with names is one that realdb's TestQueriesAreHogQL parses.
func TestCountEvents(t *testing.T) {
	t.Parallel()
	from := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	const all = "SELECT count() AS copies FROM events WHERE timestamp >= toDateTime({start_at}) AND timestamp < toDateTime({end_at})"
	assert.Equal(t, all, CountEvents(from, from.Add(time.Hour), nil, []string{}).HogQL)
	q := CountEvents(from, from.Add(time.Hour), []string{"a", "it's"}, []string{"b"})
	assert.Equal(t, all+" AND event IN ({name_2}, {name_3}) AND NOT event IN ({name_4})", q.HogQL)
	assert.Equal(t, map[string]any{
		"start_at": "2024-03-01T00:00:00Z", "end_at": "2024-03-01T01:00:00Z", "name_2": "a", "name_3": "it's", "name_4": "b",
	}, q.Values)
	assert.Equal(t, all+" AND NOT event IN ({name_2})", CountEvents(from, from, nil, []string{"b"}).HogQL)
}

// Without limits, all possible event times are selected. Times are sent in UTC with their
// fractions.
func TestSelectEvents(t *testing.T) {
	t.Parallel()
	all := SelectEvents("i", time.Time{}, time.Time{})
	assert.Equal(t, map[string]any{"job_id": "i", "start_at": "1900-01-01T00:00:00Z", "end_at": "2300-01-01T00:00:00Z"}, all.Values)
	from := time.Date(2024, 3, 1, 1, 0, 0, 5000, time.FixedZone("", 3600))
	some := SelectEvents("i", from, from.AddDate(0, 1, 0))
	assert.Equal(t, map[string]any{"job_id": "i", "start_at": "2024-03-01T00:00:00.000005Z", "end_at": "2024-04-01T00:00:00.000005Z"}, some.Values)
}
