package hogapi_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/uuidsum"
)

// rolledUp is a receipt with the rows of its days as months, as a table of too many rows has them.
func rolledUp(r hogapi.Receipt) hogapi.Receipt {
	at, days := map[[2]string]int{}, r.Days
	r.Days = nil
	for _, d := range days {
		d.Day = d.Day[:len("2006-01")]
		key := [2]string{d.Day, d.Event}
		if _, there := at[key]; !there {
			at[key] = len(r.Days)
			r.Days = append(r.Days, hogapi.DayCount{Day: d.Day, Event: d.Event})
		}
		row := &r.Days[at[key]]
		row.Acknowledged += d.Acknowledged
		row.Rejected += d.Rejected
		row.Unsure += d.Unsure
		var sum, more uuidsum.Sum
		if err := errors.Join(sum.UnmarshalText([]byte(row.Digest)), more.UnmarshalText([]byte(d.Digest))); err != nil {
			panic(err)
		}
		sum.Add(more)
		row.Digest = sum.String()
	}
	return r
}

// A receipt of months is compared by months: what has moved within one is where it should be, and what is lost is named all the same.
func TestVerifyByMonths(t *testing.T) {
	t.Parallel()
	const n = 200 // on days 19 hours apart, over 6 months
	receipt := rolledUp(receiptOf(t, spread(n)))
	require.Less(t, len(receipt.Days), 25)
	server := hogapitest.New()
	client := server.Client(t)
	importInto(t, client, with(spread(n), func(i int64, ev *hogapi.Event) error {
		switch i {
		case 60, 150:
			return hogapi.Skip("lost")
		case 90: // within its month
			ev.Timestamp = time.Date(ev.Timestamp.Year(), ev.Timestamp.Month(), 15, 12, 0, 0, 0, time.UTC)
		case 120: // into another one
			ev.Timestamp = ev.Timestamp.AddDate(0, -1, 0)
		}
		return nil
	}))
	v := looksOver(t, server, receipt, hogapi.VerifyOptions{Source: spread(n)})
	assert.Equal(t, hogapi.ArrivalMissing, v.State, "%v", v)
	assert.Len(t, v.Cells, len(receipt.Days))
	for _, c := range v.Cells {
		assert.Len(t, c.Day, len("2006-01"))
	}
	assert.Equal(t, sortedIDs(uuidOf(60), uuidOf(150)), v.MissingIDs)
	assert.Equal(t, []uuid.UUID{uuidOf(120)}, v.MovedIDs)
	assert.Empty(t, v.Outside)
	assert.Zero(t, v.ForeignEvents)

	importInto(t, client, v.Missing(spread(n)))
	v, err := client.Verify(t.Context(), receipt, &hogapi.VerifyOptions{Source: spread(n), EveryUUID: true})
	require.NoError(t, err)
	assert.Zero(t, v.MissingEvents)

	whole := hogapitest.New().Client(t)
	v, err = whole.Verify(t.Context(), rolledUp(importInto(t, whole, spread(n))), nil)
	require.NoError(t, err)
	assert.True(t, v.Complete(), "%v", v)
	assert.EqualValues(t, n, v.Seen)
}

// A file without uuids has others under another name. Where only the events of its first name are there, the receipt of the second is not complete, though the counts are right.
func TestVerifyTellsEventsOfEqualCountsApart(t *testing.T) {
	t.Parallel()
	first := writeFile(t, "a.jsonl", strings.Repeat(`{"event":"e","distinct_id":"d","timestamp":"2024-03-01T10:00:00Z"}`+"\n", 500))
	second := first + ".renamed"
	server := hogapitest.New()
	importInto(t, server.Client(t), hogapi.JSONLinesFile(first))
	require.NoError(t, os.Rename(first, second))
	source := hogapi.JSONLinesFile(second)
	receipt := receiptOf(t, source)

	v, err := server.Client(t, later(30*time.Hour)).Verify(t.Context(), receipt, nil)
	require.NoError(t, err)
	assert.False(t, v.Complete(), "%v", v)
	assert.Equal(t, hogapi.ArrivalUnknown, v.State)
	v = looksOver(t, server, receipt, hogapi.VerifyOptions{Source: source})
	assert.False(t, v.Complete(), "%v", v)
	assert.Equal(t, hogapi.ArrivalMissing, v.State)
	assert.Len(t, v.MissingIDs, 500)
	assert.EqualValues(t, 500, v.ForeignEvents)
}
