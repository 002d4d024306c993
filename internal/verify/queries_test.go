package verify

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	errBusy    = errors.New("busy")
	errRefused = errors.New("refused")
	inMarch    = Window{From: time.Date(1999, 3, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(1999, 4, 1, 0, 0, 0, 0, time.UTC)}
)

type service struct {
	counts func(q Query) ([]CountRow, error)
	uuids  func(after string) ([]UUIDRow, error)
	wait   time.Duration
}

func (s service) Counts(_ context.Context, q Query, _ string) ([]CountRow, error) { return s.counts(q) }

func (s service) UUIDs(_ context.Context, q Query, _ string) ([]UUIDRow, error) {
	return s.uuids(q.Values["after_id"].(string))
}

func (s service) Fault(err error) Fault {
	return Fault{IsBusy: errors.Is(err, errBusy), IsRefused: errors.Is(err, errRefused), IsTooMuch: errors.Is(err, errTooMuch), RetryAfter: s.wait}
}

func TestABusyServiceIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		busy int
		wait time.Duration
		took time.Duration
		err  error
	}{
		"ten seconds, doubling":    {3, 0, 70 * time.Second, nil},
		"as long as it asks":       {2, time.Minute, 2 * time.Minute, nil},
		"for an hour":              {1, time.Hour, time.Hour, nil},
		"not for longer than that": {1, time.Hour + 1, 0, errBusy},
		"not forever":              {99, 0, (10 + 20 + 40 + 80 + 160 + 5*300) * time.Second, errBusy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := 0
				j := Queries{ID: "i", Service: service{wait: tt.wait, counts: func(Query) ([]CountRow, error) {
					if n++; n <= tt.busy {
						return nil, errBusy
					}
					return nil, nil
				}}}
				begin := time.Now()
				_, err := j.Count(t.Context(), inMarch)
				require.ErrorIs(t, err, tt.err)
				assert.Equal(t, tt.took, time.Since(begin))
			})
		})
	}
}

func TestOlderServersAreAskedAnotherWay(t *testing.T) {
	t.Parallel()
	var texts []string
	j := Queries{ID: "i", Service: service{counts: func(q Query) ([]CountRow, error) {
		texts = append(texts, q.HogQL)
		if strings.Contains(q.HogQL, dayOfEvent) {
			return nil, errRefused
		}
		return nil, nil
	}}}
	for range 2 {
		_, err := j.Count(t.Context(), inMarch)
		require.NoError(t, err)
	}
	require.Len(t, texts, 3, "it is remembered")
	assert.Contains(t, texts[2], startOfDay)

	j.Service, j.noSums = service{counts: func(Query) ([]CountRow, error) { texts = append(texts, "refused"); return nil, errRefused }}, true
	_, err := j.Count(t.Context(), inMarch)
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
		j := Queries{ID: "i", Service: service{counts: func(q Query) ([]CountRow, error) {
			if asked++; strings.Contains(q.HogQL, "reinterpretAsUInt64") {
				return nil, tt.fail
			}
			return []CountRow{{Day: inMarch.From, Event: "e"}}, nil
		}}}
		for range 2 {
			rows, err := j.Count(t.Context(), tt.w)
			require.ErrorIs(t, err, tt.want, name)
			assert.Equal(t, tt.want == nil, len(rows) == 1, name)
		}
		assert.Equal(t, tt.asked, asked, name)
	}
	broken := Queries{ID: "i", Service: service{counts: func(Query) ([]CountRow, error) { return nil, errRefused }}}
	_, err := broken.Count(t.Context(), inMarch)
	require.ErrorIs(t, err, errRefused)
}

// Duplicate rows, and rows outside the query, are an error.
func TestCountsOfAnotherQuestion(t *testing.T) {
	t.Parallel()
	row := func(day int) CountRow { return CountRow{Day: inMarch.From.AddDate(0, 0, day), Event: "e"} }
	for _, rows := range [][]CountRow{{row(0), row(0)}, {row(-1)}, {row(31)}} {
		j := Queries{ID: "i", Service: service{counts: func(Query) ([]CountRow, error) { return rows, nil }}}
		got, err := j.Count(t.Context(), inMarch)
		require.ErrorContains(t, err, "outside the query, or a row twice")
		assert.Empty(t, got)
	}
}

func TestFindAsksOfTheImportOrOfAll(t *testing.T) {
	t.Parallel()
	for ofImport, want := range map[bool]int{true: 1, false: 0} {
		j := Queries{ID: "i", Service: service{counts: func(q Query) ([]CountRow, error) {
			assert.Equal(t, want, strings.Count(q.HogQL, "{job_id}"))
			assert.Len(t, q.Values, 3+want)
			return nil, nil
		}}}
		_, err := j.Find(t.Context(), uuid.UUID{1}, ofImport, inMarch)
		require.NoError(t, err)
	}
}

func TestListReadsPageAfterPage(t *testing.T) {
	t.Parallel()
	all := make([]UUIDRow, MostUUIDs+5)
	for i := range all {
		all[i].ID = uuid.UUID{0: byte(i >> 8), 1: byte(i), 15: 1}
	}
	pages := 0
	j := Queries{ID: "i", Service: service{uuids: func(after string) ([]UUIDRow, error) {
		if pages++; after == "" {
			return all[:MostUUIDs], nil
		}
		assert.Equal(t, all[MostUUIDs-1].ID.String(), after)
		return all[MostUUIDs:], nil
	}}}
	n := 0
	for id, err := range j.List(t.Context(), "e", inMarch) {
		require.NoError(t, err)
		require.Equal(t, all[n].ID, id)
		n++
	}
	assert.Equal(t, len(all), n)
	assert.Equal(t, 2, pages)

	for _, rows := range [][]UUIDRow{{all[2], all[1]}, {all[1], all[1]}} {
		j.Service = service{uuids: func(string) ([]UUIDRow, error) { return rows, nil }}
		var last error
		for _, err := range j.List(t.Context(), "e", inMarch) {
			last = err
		}
		require.ErrorContains(t, last, "out of order")
	}
}

func TestWholeAnswers(t *testing.T) {
	t.Parallel()
	a := Answer[CountRow]{Rows: make([]CountRow, 3)}
	rows, err := a.Whole(4)
	require.NoError(t, err)
	assert.Len(t, rows, 3)
	_, err = a.Whole(3)
	require.ErrorIs(t, err, ErrFull)
	a.HasMore = true
	_, err = a.Whole(4)
	require.NoError(t, err, "a full page has a next one")
	_, err = a.Whole(5)
	require.ErrorIs(t, err, ErrFull, "more exist than this page, which is not full")
	a.IsCached = true
	_, err = a.Whole(4)
	require.ErrorIs(t, err, errCached)
}

func TestQueryForms(t *testing.T) {
	t.Parallel()
	q := Query{"SELECT {a}, {b}", map[string]any{"a": `it's \ {b}`, "b": 5}}
	assert.Equal(t, `SELECT 'it\'s \\ {b}', '5'`, q.String(), "a value is not read for placeholders")
	text, err := json.Marshal(q)
	require.NoError(t, err)
	assert.JSONEq(t, `{"kind":"HogQLQuery","query":"SELECT {a}, {b}","values":{"a":"it's \\ {b}","b":5}}`, string(text))
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
