package ledger

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/uuidsum"
)

var noon = time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)

func id(n uint64) (b [16]byte) {
	binary.BigEndian.PutUint64(b[8:], n)
	return b
}

// one returns an event that is a record of its own.
func one(place int) Event {
	return Event{Position: at(place), ID: id(uint64(place)), Name: "a", Time: noon, Held: 1, Begins: true, Ends: true}
}

func at(place int) event.Position { return event.Position{Key: "f", Offset: int64(place)} }

func TestNothingIsCommittedAcrossAGap(t *testing.T) {
	t.Parallel()
	l := New()
	for place := range 4 {
		l.Take(one(place + 1))
	}
	l.Acknowledge([]uint64{1, 3}, time.Unix(1, 0))
	n, _ := l.Front()
	require.Zero(t, n)
	l.Acknowledge([]uint64{0}, time.Unix(1, 0))
	n, _ = l.Front()
	require.Equal(t, 2, n)
	l.Acknowledge([]uint64{2}, time.Unix(1, 0))
	n, _ = l.Front()
	require.Equal(t, 4, n)
	require.Equal(t, 3, l.Commit(3))
	require.Equal(t, at(3), l.Position())
	require.Equal(t, Counts{Acknowledged: 3}, l.Counts())
	require.Equal(t, Live{Read: 4, Acknowledged: 4, InFlight: 1}, l.Live())
	require.Equal(t, 1, l.Settled())
}

func TestRecordsAreCommittedAsAWhole(t *testing.T) {
	t.Parallel()
	l := New()
	l.Take(Event{Position: at(1), Begins: true})
	l.Reject(Event{Position: at(1)}, "bad")
	l.Acknowledge([]uint64{0}, time.Unix(1, 0))
	n, rejects := l.Front()
	require.Zero(t, n, "more of the record may come")
	require.Empty(t, rejects)
	l.Take(Event{Position: at(2), Begins: true}) // ends the previous record
	n, rejects = l.Front()
	require.Equal(t, 2, n)
	require.Equal(t, []int{1}, rejects)
	require.Zero(t, l.WholeBefore(1), "the reject's record began before it")
	l.Commit(2)
	require.Equal(t, at(1), l.Position())
	l.End()
	l.Acknowledge([]uint64{2}, time.Unix(1, 0))
	n, _ = l.Front()
	require.Equal(t, 1, n)
}

// Until the service has accepted an event, a refusal may come from another server.
func TestRefusalsAreInDoubtUntilSomethingIsAccepted(t *testing.T) {
	t.Parallel()
	l := New()
	l.Take(one(1))
	l.Take(one(2))
	l.RejectSent(0, "answer_400", 5)
	n, _ := l.Front()
	require.Zero(t, n)
	l.Acknowledge([]uint64{1}, time.Unix(1, 0))
	n, rejects := l.Front()
	require.Equal(t, 2, n)
	require.Equal(t, []int{0}, rejects)
	require.Equal(t, 7, l.Commit(2), "what was held for the reject too")

	l = New()
	l.Take(one(1))
	l.RejectSent(0, "answer_400", 0)
	n, _ = l.Front()
	require.Equal(t, 1, n, "no event is left that it may accept")
}

func TestConcludeCountsWhatWasAcceptedBehindAGap(t *testing.T) {
	t.Parallel()
	l := New("odd")
	for place := range 5 {
		e := one(place + 1)
		e.Warnings, e.Begins, e.Ends = 1, place != 2, place != 1 // the second and the third are one record
		l.Take(e)
	}
	l.Skip(one(6), "on purpose")
	l.Acknowledge([]uint64{0, 3}, time.Unix(1, 0))
	l.Commit(1)
	l.Sent([]uint64{2})
	l.RejectSent(4, "answer_400", 0)
	state, open := l.Conclude()
	require.Equal(t, at(1), state.Position, "a resumed run begins before the gap")
	require.EqualValues(t, 2, state.Totals.Acknowledged)
	require.EqualValues(t, 1, state.Totals.Skipped)
	require.EqualValues(t, 2, state.Totals.Warnings["odd"])
	require.Equal(t, []event.UnsettledEvent{{UUID: id(2), Position: at(2)}, {UUID: id(3), Position: at(3), Number: 1, Sent: true}, {UUID: id(5), Position: at(5), Sent: true}}, open, "a reject that nobody was given is not settled")
}

func TestReasonsAreBounded(t *testing.T) {
	t.Parallel()
	l := New()
	const n = 3 * maxReasons
	for i := range n {
		l.Skip(one(i+1), fmt.Sprint("reason ", i))
	}
	l.Commit(n)
	skips := l.State().Totals.Skips
	require.Len(t, skips, maxReasons+1)
	require.EqualValues(t, n-maxReasons, skips[Other])
}

// modelEvent is an event in the model.
type modelEvent struct {
	Event

	state state
}

// Random programs against a model with plain lists. Sometimes the ledger is saved and a new one
// continues.
func TestLedgerAgainstAModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 0))
		l := New("first", "second")
		var all []modelEvent // since the last resumption: window[0] is all[committed]
		committed, base := 0, 0
		place := 0
		for range 200 {
			switch k := random.IntN(10); {
			case k < 4:
				place++
				for i, n := 0, 1+random.IntN(3); i < n; i++ {
					e := modelEvent{Event: Event{
						Position: at(place), ID: id(uint64(len(all))), Name: string(rune('a' + random.IntN(3))), Time: noon.AddDate(0, 0, random.IntN(3)),
						Warnings: uint32(random.IntN(4)), Held: random.IntN(100), Begins: i == 0, Ends: i == n-1,
					}}
					switch random.IntN(4) {
					case 0:
						e.state = rejected
						l.Reject(e.Event, "bad")
					case 1:
						e.state = skipped
						l.Skip(e.Event, "left out")
					default:
						require.EqualValues(t, len(all)-base, l.Take(e.Event))
					}
					all = append(all, e)
				}
			case k < 8 && len(all) > committed:
				i := committed + random.IntN(len(all)-committed)
				if e := &all[i]; e.state == pending {
					if random.IntN(3) == 0 {
						e.state = rejectedByService
						l.RejectSent(uint64(i-base), "answer_400", 0)
					} else {
						e.state = acknowledged
						l.Acknowledge([]uint64{uint64(i - base)}, time.Unix(1, 0))
					}
				}
			case k == 8:
				n, rejects := l.Front()
				for _, r := range rejects {
					state := all[committed+r].state
					require.True(t, state == rejected || state == rejectedByService, "seed %d", seed)
				}
				held := 0
				for _, e := range all[committed : committed+n] {
					require.NotEqual(t, pending, e.state)
					held += e.Held
				}
				if n > 0 {
					require.True(t, all[committed+n-1].Ends, "seed %d: a part of a record", seed)
				}
				require.Equal(t, held, l.Commit(n))
				committed += n
				requireCounts(t, l.State(), all[:committed])
			default: // a later run continues from the saved state
				text, err := json.Marshal(l.State())
				require.NoError(t, err)
				var saved State
				require.NoError(t, json.Unmarshal(text, &saved))
				saved.Ahead = new(int64)
				l, err = Resume(saved, "first", "second")
				require.NoError(t, err)
				all, base, place = all[:committed], committed, int(saved.Position.Offset)
				requireCounts(t, l.State(), all)
			}
		}
	}
}

func requireCounts(t *testing.T, s State, all []modelEvent) {
	t.Helper()
	want := Totals{Rejects: map[event.Reason]int64{}, Skips: map[string]int64{}, Warnings: map[event.Warning]int64{}}
	rows := map[Row]Row{}
	for _, e := range all {
		want.Read++
		if want.First.IsZero() {
			want.First = e.Position
		}
		want.Last = e.Position
		for i, name := range []event.Warning{"first", "second"} {
			if e.Warnings&(1<<i) != 0 {
				want.Warnings[name]++
			}
		}
		key := Row{Period: e.Time.Format(time.DateOnly), Name: e.Name}
		r := rows[key]
		switch e.state {
		case acknowledged:
			want.Acknowledged++
			r.Acknowledged++
			r.Sent.Add(uuidsum.Of(e.ID))
			want.Digest.add(e.ID)
			if want.Oldest.IsZero() || e.Time.Before(want.Oldest) {
				want.Oldest = e.Time
			}
			if e.Time.After(want.Newest) {
				want.Newest = e.Time
			}
		case skipped:
			want.Skipped++
			want.Skips["left out"]++
			continue
		case rejectedByService:
			want.Rejected++
			r.Rejected++
			want.Rejects["answer_400"]++
		default:
			want.Rejected++
			r.Rejected++
			want.Rejects["bad"]++
		}
		rows[key] = r
	}
	want.LastAcknowledged = s.Totals.LastAcknowledged
	require.Equal(t, want, s.Totals)
	require.Equal(t, want.Last, s.Position)
	got := map[Row]Row{}
	for _, r := range s.Rows() {
		got[Row{Period: r.Period, Name: r.Name}] = Row{Tally: r.Tally}
	}
	require.Equal(t, rows, got)
}

func TestStatesThatDoNotAddUpAreRefused(t *testing.T) {
	t.Parallel()
	l := New()
	l.Take(one(1))
	l.Acknowledge([]uint64{0}, time.Unix(1, 0))
	l.Commit(1)
	text, err := json.Marshal(l.State())
	require.NoError(t, err)
	for name, change := range map[string]func(totals, table map[string]any){
		"read":       func(totals, _ map[string]any) { totals["read"] = 2 },
		"a negative": func(totals, _ map[string]any) { totals["acknowledged"], totals["rejected"] = -1, 2 },
		"digest":     func(totals, _ map[string]any) { totals["digest"] = "12" },
		"grain":      func(_, table map[string]any) { table["grain"] = 3 },
	} {
		var state map[string]any
		require.NoError(t, json.Unmarshal(text, &state))
		change(state["totals"].(map[string]any), state["table"].(map[string]any))
		changed, err := json.Marshal(state)
		require.NoError(t, err)
		require.Error(t, json.Unmarshal(changed, new(State)), name)
	}
	require.NoError(t, json.Unmarshal(text, new(State)))
}

// Events rejected or skipped on admission are settled at once, and records are found at any
// position of the window.
func TestRejectedAndSkippedAreSettled(t *testing.T) {
	t.Parallel()
	l := New()
	for place := range 3 {
		l.Take(one(place + 1))
	}
	l.Reject(one(4), "bad")
	l.Skip(one(5), "internal")
	require.Equal(t, 2, l.Settled())
	l.Acknowledge([]uint64{0, 1, 2}, time.Unix(1, 0))
	require.Equal(t, 5, l.Settled())
	l.Commit(2)
	require.Equal(t, 3, l.Settled())
	require.Equal(t, 2, l.WholeBefore(2), "counted from the front, not from the start")
	l.Commit(3)
	require.Zero(t, l.Settled())
	require.Equal(t, Counts{Acknowledged: 3, Rejected: 1, Skipped: 1}, l.Counts())
}

func TestUnconfirmedEventsAreCountedApart(t *testing.T) {
	l := New()
	noon, answer := date("2024-01-01T12:00:00Z"), time.Unix(100, 0)
	var seqs []uint64
	for i := range 3 {
		seqs = append(seqs, l.Take(Event{Position: at(i + 1), ID: [16]byte{0: byte(i + 1), 11: 1, 12: byte(i), 15: 1}, Name: "a", Time: noon, Held: 10, Begins: true, Ends: true}))
	}
	position, id := l.Find(seqs[0])
	assert.Equal(t, at(1), position)
	assert.Equal(t, [16]byte{0: 1, 11: 1, 15: 1}, id)
	l.Unconfirm(seqs[0], 5)
	n, _ := l.Front()
	require.Zero(t, n, "in doubt, as long as the service has accepted nothing")
	l.Remark(seqs[1], "odd")
	l.Acknowledge(seqs[1:2], answer)
	n, rejects := l.Front()
	require.Equal(t, 2, n)
	require.Equal(t, []int{0}, rejects)
	require.Equal(t, 25, l.Commit(n))
	require.Equal(t, Counts{Acknowledged: 1, Unconfirmed: 1}, l.Counts())

	text, err := json.Marshal(l.State())
	require.NoError(t, err)
	var s State
	require.NoError(t, json.Unmarshal(text, &s))
	assert.Equal(t, int64(2), s.Totals.Read)
	assert.Equal(t, int64(1), s.Totals.Unconfirmed)
	assert.Equal(t, map[event.Warning]int64{"odd": 1}, s.Totals.Warnings)
	assert.Empty(t, s.Totals.Rejects)
	assert.True(t, answer.Equal(s.Totals.LastAcknowledged))
	require.Len(t, s.Rows(), 1)
	row := s.Rows()[0]
	assert.True(t, row.Sent.HasHash() && row.Sent.IsSame(uuidsum.Sum{N: 2, High: 2, Low: 0x0100_0002}), "%v", row.Sent)
	row.Sent = uuidsum.Sum{}
	assert.Equal(t, Row{"2024-01-01", "a", Tally{Acknowledged: 1, Unconfirmed: 1}}, row)
}

func TestRemarkOfAnEventAfterAGapIsCounted(t *testing.T) {
	l := New()
	for i := range 2 {
		l.Take(Event{Position: at(i + 1), Name: "a", Begins: true, Ends: true})
	}
	l.Remark(1, "odd")
	l.Acknowledge([]uint64{1}, time.Unix(1, 0))
	s, open := l.Conclude()
	assert.Len(t, open, 1)
	assert.Equal(t, map[event.Warning]int64{"odd": 1}, s.Totals.Warnings)
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
	books := newBooks(nil)
	books.table = table
	books.count(&entry{state: acknowledged, id: [16]byte{11: 1}, row: table.find("a", date("2024-01-01T00:00:00Z"))}, "")
	assert.Equal(t, Tally{5, 2, 1, uuidsum.Of([16]byte{11: 1})}, table.list()[0].Tally)
	require.NoError(t, json.Unmarshal([]byte(`{"grain":0,"rows":[[0,738885,2,0,0,2,7,8]],"names":["a"]}`), &s)) // without hashes
	table, err = s.restore(10)
	require.NoError(t, err)
	assert.Equal(t, uuidsum.Sum{N: 2, High: 7, Low: 8}, table.list()[0].Sent)
}

// The state of a run that has ended says how many of the next events the service may have. They count as sent again by
// the next run. A state that does not say it leaves only a lower bound, also in the states after it.
func TestEventsAheadOfAState(t *testing.T) {
	l := New()
	for n := range 5 {
		l.Take(Event{Position: at(n + 1), Name: "e", Begins: true, Ends: true})
	}
	l.Sent([]uint64{1, 2})
	l.Acknowledge([]uint64{2, 3}, time.Now()) // after a gap
	for _, tt := range []struct {
		state   State
		resent  int64
		atLeast bool
	}{{l.LastState(), 3, false}, {l.State(), 0, true}} {
		text, err := json.Marshal(tt.state)
		require.NoError(t, err)
		var saved State
		require.NoError(t, json.Unmarshal(text, &saved))
		next, err := Resume(saved)
		require.NoError(t, err)
		next, err = Resume(next.LastState())
		require.NoError(t, err)
		totals := next.State().Totals
		require.Equal(t, tt.resent, totals.Resent)
		require.Equal(t, tt.atLeast, totals.ResentAtLeast)
	}
	final, open := l.Conclude()
	require.EqualValues(t, 2, final.Totals.Acknowledged)
	require.Len(t, open, 3)
	require.Zero(t, l.State().Totals.Read, "what is saved later has no event after the gap")
	l.Acknowledge([]uint64{0, 1, 4}, time.Now())
	n, _ := l.Front()
	require.Zero(t, n)
}
