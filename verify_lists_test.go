package hogapi

import (
	"context"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// marchSource gives the events of receiptOfMarch, and one more that came after the import.
func marchSource() Source {
	return SourceFunc("march", func(context.Context, Position) iter.Seq2[Event, error] {
		return func(yield func(Event, error) bool) {
			for i := range 32 {
				ev := Event{Name: "e", DistinctID: "d", Timestamp: time.Date(1999, 3, min(i+1, 31), 0, 0, 0, 0, time.UTC), UUID: marchID(i), Position: Position{Offset: int64(i + 1)}}
				if !yield(ev, nil) {
					return
				}
			}
		}
	})
}

func marchID(i int) uuid.UUID { return uuid.UUID{0: 0xab, 6: 0x40, 8: 0x80, 15: byte(i + 1)} }

// A list of uuids that is not one names nothing as missing: the cell keeps what its count says, with the reason.
func TestVerifyWrongLists(t *testing.T) {
	t.Parallel()
	text := marchID(0).String()
	for name, tt := range map[string]struct {
		list string // of the first day, which has two events by the receipt
		want string
	}{
		"right":        {`["` + text + `"]`, ""},
		"descending":   {`["` + text + `"],["00000000-0000-4000-8000-000000000001"]`, "out of order"},
		"twice":        {`["` + text + `"],["` + text + `"]`, "out of order"},
		"upper case":   {`["` + strings.ToUpper(text) + `"]`, "row 0"},
		"another form": {`["{` + text + `}"]`, "row 0"},
		"no uuid":      {`["x"]`, "row 0"},
		"null":         {`[null]`, "row 0"},
		"two columns":  {`["` + text + `",1]`, "row 0"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				receipt := receiptOfMarch()
				receipt.Days[0].Acknowledged, receipt.Acknowledged, receipt.Last = 2, 32, Position{Offset: 32}
				source := SourceFunc("march and one", func(ctx context.Context, after Position) iter.Seq2[Event, error] {
					return func(yield func(Event, error) bool) {
						for ev, err := range marchSource().Events(ctx, after) {
							if ev.Position.Offset == 32 {
								ev.Timestamp = time.Date(1999, 3, 1, 0, 0, 0, 0, time.UTC)
							}
							if !yield(ev, err) {
								return
							}
						}
					}
				})
				client, _ := march(t, func(_ int, q asked) (int, string) {
					switch {
					case q.Query.Values["one_id"] != "":
						return 200, `{"results":[]}`
					case q.Query.Values["one_event"] != "" && q.Query.Values["after_id"] == "":
						return 200, `{"results":[` + tt.list + `]}`
					case q.Query.Values["one_event"] == "":
						return 200, strings.ReplaceAll(answerOf(q), ",2,1,", ",1,1,") // no copies that equal uuids could explain
					}
					return 0, ""
				})
				v, err := client.Verify(t.Context(), receipt, &VerifyOptions{Source: source, Wait: true})
				require.NoError(t, err)
				assert.Equal(t, ArrivalMissing, v.State, "%v", v)
				assert.EqualValues(t, 1, v.MissingEvents)
				if tt.want == "" {
					assert.Equal(t, []uuid.UUID{marchID(31)}, v.MissingIDs)
					return
				}
				assert.Empty(t, v.MissingIDs)
				assert.Contains(t, v.Cells[0].Reason, tt.want)
			})
		})
	}
}

// What a source has gained since the import is not missing: its events after the last settled one are not read.
func TestVerifyReadsWhatWasImported(t *testing.T) {
	receipt := receiptOfMarch()
	receipt.Last = Position{Offset: 31}
	n := 0
	for ev, err := range (VerifyOptions{Source: marchSource()}).sent(t.Context(), receipt) {
		require.NoError(t, err)
		assert.Equal(t, marchID(n), ev.ID)
		n++
	}
	assert.Equal(t, 31, n)
}
