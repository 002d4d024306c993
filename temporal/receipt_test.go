package hogtemporal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/ledger"
)

// The receipts of two shards add up to that of one import of both files.
func TestReceiptsAddUp(t *testing.T) {
	dir := t.TempDir()
	line := func(i int, name, person string) string {
		at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * 7 * time.Hour)
		return fmt.Sprintf(`{"event":%q,"distinct_id":%q,"timestamp":%q,"properties":{"n":%d}}`, name, person, at.Format(time.RFC3339), i)
	}
	var paths []string
	for s := range 2 {
		var b strings.Builder
		for i := range 300 {
			person := "ann"
			if i == 7 {
				person = "" // a reject
			}
			b.WriteString(line(300*s+i, fmt.Sprint("kind ", i%3), person) + "\n")
		}
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("%d.jsonl", s)))
		require.NoError(t, os.WriteFile(paths[s], []byte(b.String()), 0o600))
	}
	run := func(paths ...string) hogapi.Receipt {
		ignore := hogapi.RejectFunc(func(context.Context, hogapi.Reject) error { return nil })
		r, err := history.Import(t.Context(), hogapitest.New().Client(t), history.JSONLines(paths...),
			&history.Options{ID: "sum", Rate: hogapi.RateUnlimited, Rejects: ignore})
		require.NoError(t, err)
		return r
	}
	whole := run(paths...)
	sum := add(add(hogapi.Receipt{ID: "sum"}, run(paths[0])), run(paths[1]))
	assert.WithinDuration(t, whole.LastAcknowledged, sum.LastAcknowledged, time.Minute)
	sum.LastAcknowledged, sum.Source = whole.LastAcknowledged, whole.Source
	delete(whole.Warnings, event.WarningWideBatch) // it counts batches
	delete(sum.Warnings, event.WarningWideBatch)
	assert.Equal(t, whole, sum)
}

// An import is finished when all of its shards are, in any order.
func TestReceiptOfUnfinishedShards(t *testing.T) {
	for _, shards := range [][]bool{{true, true}, {false, true}, {true, false}, {false, true, true}, {true, false, true}} {
		total, want := hogapi.Receipt{ID: "sum"}, true
		for _, finished := range shards {
			total, want = add(total, hogapi.Receipt{ID: "sum", Finished: finished}), want && finished
		}
		assert.Equal(t, want, total.Finished, "%v", shards)
	}
}

func TestDaysAreRolledUp(t *testing.T) {
	table := func(days, names int) (rows []event.DayCount) {
		for d := range days {
			for n := range names {
				day := time.Date(2024, 1, 1+d, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
				rows = append(rows, event.DayCount{Day: day, Event: fmt.Sprintf("name %06d", n), Acknowledged: 1})
			}
		}
		return rows
	}
	total := func(rows []event.DayCount) (sum int64) {
		for _, r := range rows {
			sum += r.Acknowledged
		}
		return sum
	}
	few := addDays(table(10, 2), table(20, 2))
	assert.Len(t, few, 40)
	months := addDays(few, table(365, 5))
	assert.Len(t, months, 12*5)
	assert.Equal(t, "2024-01", months[0].Day)
	assert.EqualValues(t, 60+365*5, total(months))
	names := addDays(months, table(365, 200))
	assert.Len(t, names, 200)
	assert.Empty(t, names[0].Day)
	others := addDays(names, table(1, 5000))
	assert.Len(t, others, maxRows)
	assert.Equal(t, "other", others[maxRows-1].Event)
	assert.EqualValues(t, total(names)+5000, total(others))
	again := addDays(others, table(1, 1))
	assert.Len(t, again, maxRows)
	assert.EqualValues(t, total(others)+1, total(again))

	rejects := []event.DayCount{{Rejected: 3}}
	assert.Len(t, addDays(table(2, 1), rejects), 3, "rejects without a time roll nothing up")
}

// A table has the finest period that all its rows have. A row of rejects without a time has no period.
func TestPeriods(t *testing.T) {
	for _, tt := range []struct {
		rows []event.DayCount
		want int
	}{
		{nil, len("2006-01-02")},
		{[]event.DayCount{{Day: "2024-01-02", Acknowledged: 1}, {Rejected: 7}}, len("2006-01-02")},
		{[]event.DayCount{{Day: "2024-01-02", Acknowledged: 1}, {Day: "2024-01", Rejected: 7}}, len("2006-01")},
		{[]event.DayCount{{Day: "2024-01-02", Acknowledged: 1}, {Acknowledged: 1, Unconfirmed: 1}}, 0},
		{[]event.DayCount{{Day: "2024-01-02", Acknowledged: 1}, {Unconfirmed: 1}}, 0},
		{[]event.DayCount{{Day: "2024-01-02", Acknowledged: 1}, {Day: ledger.Other, Event: ledger.Other}}, 0},
	} {
		assert.Equal(t, tt.want, periodOf(tt.rows), "%v", tt.rows)
	}

	sum := sumDays([]event.DayCount{
		{Day: "2024-01-02", Event: "e", Acknowledged: 1, Rejected: 2, Unconfirmed: 3}, {Day: "2024-01-03", Event: "e", Acknowledged: 10, Rejected: 20, Unconfirmed: 30},
		{Day: ledger.Other, Event: ledger.Other, Acknowledged: 5}, {Day: "2024-01-02", Event: "f", Acknowledged: 4},
	}, len("2006-01"))
	require.Len(t, sum, 3)
	assert.EqualValues(t, []int64{11, 22, 33}, []int64{sum[0].Acknowledged, sum[0].Rejected, sum[0].Unconfirmed})
	assert.Equal(t, ledger.Other, sum[2].Day)

	table := make([]event.DayCount, maxRows)
	for i := range table {
		table[i] = event.DayCount{Day: "2024-01-02", Event: fmt.Sprintf("%05d", i), Acknowledged: 1}
	}
	assert.Len(t, addDays(table, nil), maxRows)
	assert.Equal(t, "2024-01-02", addDays(table, nil)[0].Day)
}

// A shard without acknowledged events has no times.
func TestShardsWithoutEvents(t *testing.T) {
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	total := add(add(hogapi.Receipt{ID: "sum"}, hogapi.Receipt{Acknowledged: 1, Oldest: at, Newest: at}), hogapi.Receipt{Rejected: 1})
	assert.Equal(t, at, total.Oldest)
	assert.Equal(t, at, total.Newest)
}
