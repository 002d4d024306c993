package hogtemporal

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/warnings"
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
		paths = append(paths, writeFile(t, dir, fmt.Sprintf("%d.jsonl", s), b.String()))
	}
	run := func(paths ...string) hogapi.Receipt {
		ignore := hogapi.RejectFunc(func(context.Context, hogapi.Reject) error { return nil })
		r, err := hogapitest.New().Client(t).Import(t.Context(), hogapi.JSONLinesFile(paths...),
			&hogapi.ImportOptions{ID: "sum", Rate: hogapi.Unpaced, Rejects: ignore})
		require.NoError(t, err)
		return r
	}
	whole := run(paths...)
	sum := add(add(hogapi.Receipt{ID: "sum"}, run(paths[0])), run(paths[1]))
	assert.WithinDuration(t, whole.LastAcknowledged, sum.LastAcknowledged, time.Minute)
	sum.LastAcknowledged, sum.Source = whole.LastAcknowledged, whole.Source
	delete(whole.Warnings, warnings.WideBatch) // it counts batches
	delete(sum.Warnings, warnings.WideBatch)
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
	table := func(days, names int) (rows []hogapi.DayCount) {
		for d := range days {
			for n := range names {
				day := time.Date(2024, 1, 1+d, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
				rows = append(rows, hogapi.DayCount{Day: day, Event: fmt.Sprintf("name %06d", n), Acknowledged: 1})
			}
		}
		return rows
	}
	total := func(rows []hogapi.DayCount) (sum int64) {
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
	assert.Len(t, others, mostRows)
	assert.Equal(t, "other", others[mostRows-1].Event)
	assert.EqualValues(t, total(names)+5000, total(others))
	again := addDays(others, table(1, 1))
	assert.Len(t, again, mostRows)
	assert.EqualValues(t, total(others)+1, total(again))

	rejects := []hogapi.DayCount{{Rejected: 3}}
	assert.Len(t, addDays(table(2, 1), rejects), 3, "rejects without a time roll nothing up")
}
