package ledger

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/uuidsum"
)

var firstOf2024 = time.Date(2024, 1, 1, 12, 0, 0, 0, time.UTC)

func afterDays(n int) time.Time { return firstOf2024.AddDate(0, 0, n) }

// fill counts one event a day for each name.
func (c *Counter) fill(days int, names ...string) {
	for day := range days {
		for _, name := range names {
			c.Count(name, afterDays(day))
		}
	}
}

func total(rows []Row) (n int64) {
	for _, r := range rows {
		n += r.Acknowledged + r.Rejected
	}
	return n
}

// A full table rolls up to months, then to names; only names that still do not fit share a row. No
// event is lost from the counts.
func TestTableRollsUp(t *testing.T) {
	c := &Counter{newTable(100)}
	c.fill(50, "a", "b")
	require.Len(t, c.Rows(), 100)
	assert.Equal(t, Row{"2024-01-01", "a", Tally{Acknowledged: 1}}, c.Rows()[0])

	c.fill(60, "a", "b")
	assert.Equal(t, []Row{{"2024-01", "a", Tally{Acknowledged: 62}}, {"2024-01", "b", Tally{Acknowledged: 62}}, {"2024-02", "a", Tally{Acknowledged: 48}}, {"2024-02", "b", Tally{Acknowledged: 48}}}, c.Rows())

	for month := range 60 {
		c.Count("a", firstOf2024.AddDate(0, month, 0))
		c.Count("b", firstOf2024.AddDate(0, month, 0))
	}
	assert.Equal(t, []Row{{"", "a", Tally{Acknowledged: 170}}, {"", "b", Tally{Acknowledged: 170}}}, c.Rows())

	for i := range 200 {
		c.Count(fmt.Sprint("name ", i), afterDays(i))
	}
	rows := c.Rows()
	require.Len(t, rows, 101)
	assert.Equal(t, Row{Other, Other, Tally{Acknowledged: 102}}, rows[100])
	assert.EqualValues(t, 540, total(rows))
}

// Many names of one day roll up at once.
func TestTableOfManyNames(t *testing.T) {
	c := &Counter{newTable(10)}
	for i := range 15 {
		c.Count(fmt.Sprint("name ", i), firstOf2024)
	}
	rows := c.Rows()
	require.Len(t, rows, 11)
	assert.Equal(t, Row{Other, Other, Tally{Acknowledged: 5}}, rows[10])
}

// Times without a valid day are counted without a period.
func TestTableOfStrangeTimes(t *testing.T) {
	c := &Counter{newTable(100)}
	for _, at := range []time.Time{{}, time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)} {
		c.Count("strange", at)
	}
	c.Count("old", time.Date(1899, 12, 31, 23, 59, 59, 0, time.UTC))
	c.Count("last", time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))
	c.Count("zone", time.Date(2024, 1, 1, 1, 0, 0, 0, time.FixedZone("", 2*3600)))
	assert.Equal(t, []Row{{"", "strange", Tally{Acknowledged: 3}}, {"1899-12-31", "old", Tally{Acknowledged: 1}}, {"2023-12-31", "zone", Tally{Acknowledged: 1}}, {"9999-12-31", "last", Tally{Acknowledged: 1}}}, c.Rows())
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
	l := New[int, string]()
	var seqs []uint64
	const n = mostRows + 20
	for i := range n {
		e := Event[int]{Position: i + 1, ID: [16]byte{11: 1, 15: 2}, Name: "a", Time: afterDays(i), Begins: true, Ends: true}
		if i%10 == 9 {
			l.Reject(e, "bad", "reject")
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
	assert.Equal(t, uuidsum.Sum{N: 28, High: 28, Low: 56}, rows[0].Sent)
}

// The state of a full table has a fixed size, so saving does not get slower during an import.
func TestStateIsBounded(t *testing.T) {
	l := New[int, string]()
	const names = 40
	l.books.table = newTable(mostRows)
	for day := range mostRows / names {
		for name := range names {
			seq := l.Take(Event[int]{Position: 1, ID: uuid.New(), Name: fmt.Sprintf("an event of the product %02d", name), Time: afterDays(day), Ends: true})
			l.Acknowledge([]uint64{seq}, time.Unix(1, 0))
			l.Commit(1)
		}
	}
	state := l.State()
	require.Len(t, state.Rows(), mostRows)
	raw, err := json.Marshal(state)
	require.NoError(t, err)
	t.Logf("%d bytes", len(raw))
	assert.Less(t, len(raw), 450_000)
	var again State[int]
	require.NoError(t, json.Unmarshal(raw, &again))
	assert.Equal(t, state.Rows(), again.Rows())
	restored, err := Resume[int, string](again)
	require.NoError(t, err)
	assert.Equal(t, state.Rows(), restored.State().Rows())
}

// A state that this package did not save is refused.
func TestTableThatWasNotSaved(t *testing.T) {
	for _, text := range []string{
		`{"grain":3,"rows":[],"names":[]}`,
		`{"grain":0,"rows":[[0,1,1,0]],"names":[]}`,
		`{"grain":0,"rows":[[-1,1,1,0]],"names":["a"]}`,
		`{"grain":0,"rows":[[0,-2,1,0]],"names":["a"]}`,
		`{"grain":0,"rows":[[0,4000000,1,0]],"names":["a"]}`,
		`{"grain":0,"rows":[[0,4294967297,1,0],[0,1,1,0]],"names":["a"]}`,
		`{"grain":0,"rows":[[0,1,-1,0]],"names":["a"]}`,
		`{"grain":0,"rows":[[0,1,1,0],[0,1,1,0]],"names":["a"]}`,
		`{"grain":2,"rows":[[0,5,1,0]],"names":["a"]}`,
		`{"grain":0,"rows":[],"names":[],"other":[-1,0]}`,
		`{"grain":0,"rows":[` + strings.TrimSuffix(strings.Repeat(`[0,1,1,0],`, mostRows+1), ",") + `],"names":["a"]}`,
	} {
		var s savedTable
		err := json.Unmarshal([]byte(text), &s)
		if err == nil {
			_, err = s.restore(mostRows)
		}
		assert.Error(t, err, text[:min(len(text), 80)])
	}
}
