package ledger

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func date(text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return at
}

func TestRowsAreByDayAndName(t *testing.T) {
	t.Parallel()
	c := NewCounter()
	c.Count("b", date("2024-02-29T23:59:59Z"))
	c.Count("b", date("2024-03-01T01:00:00+02:00")) // the same day in UTC
	c.Count("a", date("2024-03-01T00:00:00Z"))
	c.Count("", time.Time{})
	c.Count("old", date("0001-01-02T00:00:00Z"))
	c.Count("late", date("9999-12-31T23:59:59Z"))
	c.Count("beyond", date("9999-12-31T23:59:59Z").Add(time.Second))
	require.Equal(t, []Row{
		{"", "", Tally{Acknowledged: 1}}, {"", "beyond", Tally{Acknowledged: 1}}, {"0001-01-02", "old", Tally{Acknowledged: 1}},
		{"2024-02-29", "b", Tally{Acknowledged: 2}}, {"2024-03-01", "a", Tally{Acknowledged: 1}}, {"9999-12-31", "late", Tally{Acknowledged: 1}},
	}, c.Rows())
}

// A full table becomes coarser: no count is lost, and rows found earlier still count.
func TestAFullTableRollsUp(t *testing.T) {
	t.Parallel()
	table := newTable(4)
	first := table.find("a", date("2024-01-01T00:00:00Z"))
	first.Acknowledged++
	for i, day := range []string{"2024-01-02", "2024-01-03", "2024-02-01"} {
		table.find("a", date(day+"T00:00:00Z")).Rejected += int64(i)
	}
	require.Equal(t, []Row{{"2024-01-01", "a", Tally{Acknowledged: 1}}, {"2024-01-03", "a", Tally{Rejected: 1}}, {"2024-02-01", "a", Tally{Rejected: 2}}}, table.list())

	table.find("b", date("2024-02-02T00:00:00Z")).Acknowledged++
	require.Equal(t, []Row{{"2024-01", "a", Tally{Acknowledged: 1, Rejected: 1}}, {"2024-02", "a", Tally{Rejected: 2}}, {"2024-02", "b", Tally{Acknowledged: 1}}}, table.list())
	first.current().Acknowledged++

	table.find("b", date("2024-03-02T00:00:00Z")).Acknowledged++
	table.find("b", date("2024-04-02T00:00:00Z")).Acknowledged++
	require.Equal(t, []Row{{"", "a", Tally{Acknowledged: 2, Rejected: 3}}, {"", "b", Tally{Acknowledged: 3}}}, table.list())
	first.current().Acknowledged++

	for i := range 4 {
		table.find(fmt.Sprint("c", i), noon).Acknowledged++
	}
	require.Equal(t, []Row{{"", "a", Tally{Acknowledged: 3, Rejected: 3}}, {"", "b", Tally{Acknowledged: 3}}, {"", "c0", Tally{Acknowledged: 1}}, {"", "c1", Tally{Acknowledged: 1}}, {Other, Other, Tally{Acknowledged: 2}}}, table.list())
}

func TestAFullTableIsSavedWhole(t *testing.T) {
	t.Parallel()
	table := newTable(mostRows)
	for i := range 3 * mostRows {
		r := table.find(fmt.Sprintf("name %d", i%(mostRows+50)), noon.AddDate(0, 0, i))
		r.Acknowledged++
		r.Rejected += int64(i % 3)
	}
	text, err := json.Marshal(table.save())
	require.NoError(t, err)
	var saved savedTable
	require.NoError(t, json.Unmarshal(text, &saved))
	restored, err := saved.restore(mostRows)
	require.NoError(t, err)
	require.Equal(t, table.list(), restored.list())
	require.Len(t, restored.list(), mostRows+1)
	require.Less(t, len(text), 400_000, "bytes of a save")

	_, err = saved.restore(mostRows - 1)
	require.ErrorIs(t, err, errBadTable)
}

func TestDigest(t *testing.T) {
	t.Parallel()
	var forward, backward, twice Digest
	for i := range uint64(100) {
		forward.add([16]byte{0: 0xff, 8: 0xff, 15: byte(i)})
		backward.add([16]byte{0: 0xff, 8: 0xff, 15: byte(99 - i)})
		twice.add([16]byte{0: 0xff, 8: 0xff, 15: byte(i)})
	}
	require.Equal(t, forward, backward)
	twice.add([16]byte{15: 1})
	require.NotEqual(t, forward, twice)
	// 100 × 0xff00…ff00… + (0 + 1 + … + 99), modulo 2^128
	require.Equal(t, "9c00000000000063"+"9c00000000001356", forward.String())
	var read Digest
	require.NoError(t, read.UnmarshalText([]byte(forward.String())))
	require.Equal(t, forward, read)
	require.Error(t, read.UnmarshalText([]byte("9c")))
	require.Error(t, read.UnmarshalText([]byte("zz000000000000000000000000000000")))
}

func BenchmarkSaveFullTable(b *testing.B) {
	l := New[int, string]()
	for i := range mostRows {
		e := one(i + 1)
		e.Name, e.Time = fmt.Sprintf("event number %d", i%20), noon.AddDate(0, 0, i/20)
		l.Acknowledge([]uint64{l.Take(e)}, time.Unix(1, 0))
	}
	l.Commit(mostRows)
	for b.Loop() {
		text, err := json.Marshal(l.State())
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(text)), "B/save")
	}
}

// The first and last second with a day, and the seconds next to them.
func TestEdgesOfTheDays(t *testing.T) {
	t.Parallel()
	require.Zero(t, dayOf(time.Unix(firstSecond+1, 0)))
	require.EqualValues(t, noPeriod, dayOf(time.Unix(firstSecond, 0)), "the zero time")
	require.EqualValues(t, noPeriod, dayOf(time.Unix(firstSecond-1, 0)))
	require.EqualValues(t, (lastSecond-firstSecond)/secondsOfDay, dayOf(time.Unix(lastSecond, 0)))
	require.EqualValues(t, noPeriod, dayOf(time.Unix(lastSecond+1, 0)))
}

// A row with only events under way is not saved: a receipt counts settled events only.
func TestRowsWithoutCountsAreNotSaved(t *testing.T) {
	t.Parallel()
	l := New[int, string]()
	l.Take(one(1))
	require.Empty(t, l.State().Rows())
}
