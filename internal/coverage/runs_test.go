package coverage

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/watch"
)

// run has times in minutes after noon.
type run struct {
	name     byte
	hour     int
	backfill *uuid.UUID
	created  int
	ended    int // 0: under way
}

func idOf(name byte) uuid.UUID { return uuid.UUID{name} }

func minute(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

func factsOf(r run) Facts {
	status := "Running"
	if r.ended > 0 {
		status = "Completed"
	}
	return Facts{
		ID: idOf(r.name), Backfill: r.backfill, Interval: hours(r.hour, r.hour+1),
		Created: minute(r.created), Ended: minute(r.ended), Mark: watch.NewMark(status),
	}
}

// followed covers three hours, requested at noon.
func followed(before Baseline) *Runs[run] {
	s := NewRuns(before, noon, factsOf, func(r run) bool { return r.ended > 0 })
	s.Whole = new(hours(0, 3))
	return s
}

func names(s *Runs[run]) (names string) {
	for _, r := range s.Sorted() {
		names += string(r.name)
	}
	return names
}

func TestRunsOfARecord(t *testing.T) {
	s, mine, other := followed(Baseline{Since: noon}), idOf('X'), idOf('Y')
	require.True(t, s.IsRecord(mine, minute(0), hours(0, 3)))
	s.Found(mine, minute(0), hours(0, 3))
	for _, r := range []run{{'c', 2, &mine, 2, 3}, {'o', 1, &other, 1, 2}, {'n', 1, nil, 1, 2}, {'a', 0, &mine, 0, 1}} {
		require.True(t, s.Read(r))
	}
	assert.Equal(t, "ac", names(s), "only those that name it count")
	assert.Equal(t, []Span{hours(0, 1), hours(2, 3)}, s.own())
}

func TestRunsWithoutARecord(t *testing.T) {
	s := followed(Baseline{Since: minute(-5), Known: []uuid.UUID{idOf('k')}, OfRuns: true})
	stranger := idOf('Y')
	for _, r := range []run{{'z', 5, nil, 1, 2}, {'b', 1, &stranger, 1, 2}, {'a', 0, nil, 0, 0}, {'k', 0, nil, -1, 1}} {
		require.True(t, s.Read(r))
	}
	require.False(t, s.Read(run{'o', 2, nil, -6, 1}), "older than what was there before")
	assert.Equal(t, "ab", names(s), "every new run of the range counts")
	assert.True(t, s.AnyUnderWay())
}

func TestTheNewestRunOfAnIntervalCounts(t *testing.T) {
	s := followed(Baseline{Since: noon, OfRuns: true})
	s.Changed = false
	for _, tc := range []struct {
		run     run
		names   string
		changed bool
	}{
		{run{'a', 0, nil, 5, 0}, "a", true},
		{run{'a', 0, nil, 5, 0}, "a", false},
		{run{'a', 0, nil, 5, 6}, "a", true},
		{run{'o', 0, nil, 4, 5}, "a", false},
		{run{'b', 0, nil, 7, 8}, "b", true},
	} {
		s.Changed = false
		s.Read(tc.run)
		assert.Equal(t, tc.names, names(s))
		assert.Equal(t, tc.changed, s.Changed, "%v", tc.run)
	}
}

// The next look starts at the oldest run that is not over, and slightly before the newest run.
func TestWhereTheNextLookBegins(t *testing.T) {
	s := followed(Baseline{Since: noon, OfRuns: true})
	s.DoneReading()
	assert.Equal(t, noon, s.since, "nothing is known yet")
	for _, r := range []run{{'b', 1, nil, 50, 51}, {'a', 0, nil, 20, 0}} {
		s.Read(r)
	}
	s.DoneReading()
	assert.Equal(t, minute(20), s.since)
	s.Read(run{'a', 0, nil, 20, 52})
	s.DoneReading()
	assert.Equal(t, minute(50).Add(-ClocksApart), s.since)
	assert.False(t, s.Read(run{'c', 2, nil, 48, 52}))
}

func TestRunsOfOthersThatWereJoined(t *testing.T) {
	s, mine := followed(Baseline{Since: noon}), idOf('X')
	assert.True(t, s.Join(run{'j', 0, nil, -9, 0}), "it is read again")
	assert.False(t, s.Join(run{'j', 0, nil, -9, 1}), "it is over")
	assert.False(t, s.Join(run{'f', 7, nil, -9, 0}), "of no part of the range")
	s.Found(mine, noon, hours(0, 3))
	s.Read(run{'b', 1, &mine, 1, 2})
	opening, ended := hours(0, 3), minute(30)
	for _, r := range []run{
		{'b', 1, nil, 5, 6},   // has a run of its own
		{'e', 2, nil, -20, 0}, // still under way
		{'l', 2, nil, 31, 0},  // began later
		{'z', 4, nil, 5, 6},   // elsewhere
	} {
		assert.Equal(t, r.name == 'e', s.Fill(r, opening, noon, ended), "%c", r.name)
	}
	assert.Equal(t, "jbe", names(s))
}

func TestRunsThatEndedBeforeAreNotJoined(t *testing.T) {
	s := NewRuns(Baseline{}, noon, factsOf, func(run) bool { return true })
	s.Found(idOf('X'), noon, hours(0, 3))
	s.Fill(run{'o', 0, nil, -20, -10}, hours(0, 3), noon, minute(30))
	assert.Empty(t, names(s))
	s.Fill(run{'a', 0, nil, -20, 10}, hours(0, 3), noon, minute(30))
	assert.Equal(t, "a", names(s))
}

func TestIntervalsAreBounded(t *testing.T) {
	s := followed(Baseline{OfRuns: true})
	s.Most = 1
	assert.True(t, s.Read(run{'a', 0, nil, 0, 1}))
	assert.False(t, s.IsFull())
	assert.True(t, s.Read(run{'b', 1, nil, 0, 1}))
	assert.True(t, s.IsFull())
	assert.False(t, s.Read(run{'c', 2, nil, 0, 1}))
	assert.Equal(t, "ab", names(s))
}

// For an unpaused export, only the service knows the end of the range.
func TestRecordOfTheRange(t *testing.T) {
	s := followed(Baseline{Since: noon, Known: []uuid.UUID{idOf('k')}})
	assert.False(t, s.IsRecord(idOf('k'), noon, hours(0, 3)))
	assert.False(t, s.IsRecord(idOf('X'), minute(-1), hours(0, 3)))
	assert.False(t, s.IsRecord(idOf('X'), noon, hours(0, 2)))
	s.OpenEnd = true
	assert.True(t, s.IsRecord(idOf('X'), noon, hours(0, 2)))
	assert.False(t, s.IsRecord(idOf('X'), noon, hours(1, 3)))
}

func TestBaseline(t *testing.T) {
	key := func(r run) (uuid.UUID, time.Time) {
		return idOf(r.name), minute(0).Add(time.Duration(r.created) * time.Second)
	}
	page := []run{{name: 'a', created: 100}, {name: 'b', created: 41}, {name: 'c', created: 39}}
	second := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }
	assert.Zero(t, BaselineOf(nil, true, key))
	assert.Equal(t, Baseline{Since: second(40), Known: []uuid.UUID{idOf('a'), idOf('b')}}, BaselineOf(page, true, key))
	assert.Equal(t, Baseline{Since: second(41), Known: []uuid.UUID{idOf('a'), idOf('b')}}, BaselineOf(page[:2], false, key), "more of the same minute follow")
}

// Clocks of the service's machines differ: a run that seems slightly older than the request is
// read.
func TestClocksThatAreApart(t *testing.T) {
	s := NewRuns(Baseline{}, noon, factsOf, func(run) bool { return false })
	assert.Equal(t, noon.Add(-ClocksApart), s.since)
	assert.Equal(t, noon.Add(-ClocksApart), s.from)
}
