package ledger

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/uuidsum"
)

func TestUnconfirmedEventsAreCountedApart(t *testing.T) {
	l := New[int64, string]()
	noon, answer := date("2024-01-01T12:00:00Z"), time.Unix(100, 0)
	var seqs []uint64
	for i := range int64(3) {
		seqs = append(seqs, l.Take(Event[int64]{Position: i + 1, ID: [16]byte{0: byte(i + 1), 11: 1, 12: byte(i), 15: 1}, Name: "a", Time: noon, Held: 10, Begins: true, Ends: true}))
	}
	l.Unconfirm(seqs[0], 5, func(place int64, id [16]byte) string {
		assert.Equal(t, int64(1), place)
		assert.Equal(t, [16]byte{0: 1, 11: 1, 15: 1}, id)
		return "whose fate nobody knows"
	})
	n, _ := l.Front()
	require.Zero(t, n, "in doubt, as long as the service has accepted nothing")
	l.Remark(seqs[1], "odd")
	l.Acknowledge(seqs[1:2], answer)
	n, rejects := l.Front()
	require.Equal(t, 2, n)
	require.Equal(t, []Rejected[string]{{0, "whose fate nobody knows"}}, rejects)
	require.Equal(t, 25, l.Commit(n))
	require.Equal(t, Counts{Acknowledged: 1, Unconfirmed: 1}, l.Counts())

	text, err := json.Marshal(l.State())
	require.NoError(t, err)
	var s State[int64]
	require.NoError(t, json.Unmarshal(text, &s))
	assert.Equal(t, int64(2), s.Totals.Read)
	assert.Equal(t, int64(1), s.Totals.Unconfirmed)
	assert.Equal(t, map[string]int64{"odd": 1}, s.Totals.Warnings)
	assert.Empty(t, s.Totals.Rejects)
	assert.True(t, answer.Equal(s.Totals.LastAcknowledged))
	assert.Equal(t, []Row{{"2024-01-01", "a", Tally{Acknowledged: 1, Unconfirmed: 1, Sent: uuidsum.Sum{N: 2, High: 2, Low: 0x0100_0002}}}}, s.Rows())
}

func TestRemarkOfAnEventAfterAGapIsCounted(t *testing.T) {
	l := New[int64, string]()
	for i := range int64(2) {
		l.Take(Event[int64]{Position: i + 1, Name: "a", Begins: true, Ends: true})
	}
	l.Remark(1, "odd")
	l.Acknowledge([]uint64{1}, time.Unix(1, 0))
	s, open := l.Conclude()
	assert.Len(t, open, 1)
	assert.Equal(t, map[string]int64{"odd": 1}, s.Totals.Warnings)
}

// Older releases saved rows without unconfirmed counts and uuid sums. The later sum is known to
// cover fewer events.
func TestOlderTableIsRead(t *testing.T) {
	var s savedTable
	require.NoError(t, json.Unmarshal([]byte(`{"grain":0,"rows":[[0,738885,4,2]],"names":["a"],"other":[3,1]}`), &s))
	table, err := s.restore(10)
	require.NoError(t, err)
	assert.Equal(t, Tally{Acknowledged: 4, Rejected: 2}, table.list()[0].Tally)
	assert.Equal(t, Tally{Acknowledged: 3, Rejected: 1}, table.list()[1].Tally)
	require.NoError(t, json.Unmarshal([]byte(`{"grain":0,"rows":[[0,738885,4,2,1]],"names":["a"],"other":[3,1,1]}`), &s))
	table, err = s.restore(10)
	require.NoError(t, err)
	books := newBooks[int](nil)
	books.table = table
	books.count(&event[int]{state: acknowledged, id: [16]byte{11: 1}, row: table.find("a", date("2024-01-01T00:00:00Z"))}, "")
	assert.Equal(t, Tally{5, 2, 1, uuidsum.Sum{N: 1, High: 1}}, table.list()[0].Tally)
}
