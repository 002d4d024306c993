package ledger

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/uuidsum"
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
	table := newTable(maxRows)
	for i := range 3 * maxRows {
		r := table.find(fmt.Sprintf("name %d", i%(maxRows+50)), noon.AddDate(0, 0, i))
		r.Acknowledged++
		r.Rejected += int64(i % 3)
	}
	text, err := json.Marshal(table.save())
	require.NoError(t, err)
	var saved savedTable
	require.NoError(t, json.Unmarshal(text, &saved))
	restored, err := saved.restore(maxRows)
	require.NoError(t, err)
	require.Equal(t, table.list(), restored.list())
	require.Len(t, restored.list(), maxRows+1)
	require.Less(t, len(text), 400_000, "bytes of a save")

	_, err = saved.restore(maxRows - 1)
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
	l := New()
	l.Take(one(1))
	require.Empty(t, l.State().Rows())
}

func afterDays(n int) time.Time { return time.Date(2024, 1, 1+n, 12, 0, 0, 0, time.UTC) }

func total(rows []Row) (n int64) {
	for _, r := range rows {
		n += r.Acknowledged + r.Rejected
	}
	return n
}

// A saved table has all counts, also after a roll-up, and counting continues from it.
func TestTableIsSaved(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	whole := &Counter{newTable(50)}
	resumed := &Counter{newTable(50)}
	for i := range 2000 {
		name, at := fmt.Sprint("name ", random.IntN(1+i/20)), afterDays(random.IntN(1+i/10))
		whole.Count(name, at)
		resumed.Count(name, at)
		if random.IntN(20) == 0 {
			raw, err := json.Marshal(resumed.table.save())
			require.NoError(t, err)
			var saved savedTable
			require.NoError(t, json.Unmarshal(raw, &saved))
			table, err := saved.restore(50)
			require.NoError(t, err)
			resumed = &Counter{table}
		}
		if i%50 == 0 {
			require.Equal(t, whole.Rows(), resumed.Rows(), "after %d", i)
		}
	}
	assert.Equal(t, byName, whole.table.grain)
	assert.EqualValues(t, 2000, total(resumed.Rows()))
}

// Events taken before a roll-up are counted in the row that replaced theirs.
func TestEventsInFlightDuringARollUp(t *testing.T) {
	l := New()
	var seqs []uint64
	const n = maxRows + 20
	for i := range n {
		e := Event{Position: at(i + 1), ID: [16]byte{11: 1, 15: 2}, Name: "a", Time: afterDays(i), Begins: true, Ends: true}
		if i%10 == 9 {
			l.Reject(e, "bad")
		} else {
			seqs = append(seqs, l.Take(e))
		}
	}
	l.Acknowledge(seqs, time.Unix(1, 0))
	front, _ := l.Front()
	require.Equal(t, n, front)
	l.Commit(front)
	rows := l.State().Rows()
	assert.Less(t, len(rows), 400, "months")
	assert.EqualValues(t, n, total(rows))
	assert.Equal(t, "2024-01", rows[0].Period)
	assert.EqualValues(t, 31, rows[0].Acknowledged+rows[0].Rejected)
	assert.True(t, rows[0].Sent.HasHash() && rows[0].Sent.IsSame(uuidsum.Sum{N: 28, High: 28, Low: 56}), "%v", rows[0].Sent)
}

// A state that this package did not save is refused.
func TestTableThatWasNotSaved(t *testing.T) {
	for _, text := range []string{
		`{"grain":3,"rows":[],"names":[]}`,
		`{"grain":0,"rows":[[0,1,1,0]],"names":[]}`,
		`{"grain":0,"rows":[[-1,1,1,0]],"names":["a"]}`,
		`{"grain":0,"rows":[[0,-2,1,0]],"names":["a"]}`,
		`{"grain":0,"rows":[[0,3652059,1,0]],"names":["a"]}`,
		`{"grain":0,"rows":[[0,4294967297,1,0],[0,1,1,0]],"names":["a"]}`,
		`{"grain":0,"rows":[[0,1,-1,0]],"names":["a"]}`,
		`{"grain":0,"rows":[[0,1,1,0],[0,1,1,0]],"names":["a"]}`,
		`{"grain":0,"rows":[[0,1,1,0,0,2]],"names":["a"]}`,
		`{"grain":2,"rows":[[0,5,1,0]],"names":["a"]}`,
		`{"grain":0,"rows":[],"names":[],"other":[-1,0]}`,
		`{"grain":0,"rows":[` + strings.TrimSuffix(strings.Repeat(`[0,1,1,0],`, maxRows+1), ",") + `],"names":["a"]}`,
	} {
		var s savedTable
		err := json.Unmarshal([]byte(text), &s)
		if err == nil {
			_, err = s.restore(maxRows)
		}
		assert.Error(t, err, text[:min(len(text), 80)])
	}
}
