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
