package cli

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A sample has as many events of each day, as far as there are so many. Days of a wrong clock have the weight
// that they have in the files.
func TestSharesOfDays(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		counts map[int64]int64
		most   int64
		want   map[int64]share
	}{
		"equal days":       {map[int64]int64{1: 100, 2: 100}, 10, map[int64]share{1: {5, 100}, 2: {5, 100}}},
		"a small day":      {map[int64]int64{1: 2, 2: 100}, 10, map[int64]share{1: {2, 2}, 2: {8, 100}}},
		"all of it":        {map[int64]int64{1: 2, 2: 3}, 10, map[int64]share{1: {2, 2}, 2: {3, 3}}},
		"a wrong clock":    {map[int64]int64{oddDay: 10, 1: 90}, 10, map[int64]share{oddDay: {1, 10}, 1: {9, 90}}},
		"a fourth of it":   {map[int64]int64{oddDay: 25, 1: 75}, 20, map[int64]share{oddDay: {5, 25}, 1: {15, 75}}},
		"one wrong event":  {map[int64]int64{oddDay: 1, 1: 9999}, 10, map[int64]share{oddDay: {1, 1}, 1: {9, 9999}}},
		"wrong days alone": {map[int64]int64{oddDay: 10}, 5, map[int64]share{oddDay: {5, 10}}},
		"as many days":     {map[int64]int64{1: 7, 2: 7, 3: 7}, 3, map[int64]share{1: {1, 7}, 2: {1, 7}, 3: {1, 7}}},
		"more days": {
			map[int64]int64{1: 7, 2: 7, 3: 7, 4: 7, 5: 7, 6: 7, 7: 7, 8: 7, 9: 7, 10: 7}, 3, map[int64]share{1: {1, 7}, 4: {1, 7}, 7: {1, 7}},
		},
	} {
		var total int64
		for _, n := range tt.counts {
			total += n
		}
		assert.Equal(t, tt.want, shares(tt.counts, total, tt.most), name)
	}

	year1980 := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	assert.EqualValues(t, 3652, dayOf(year1980))
	assert.EqualValues(t, 3652, dayOf(year1980.Add(24*time.Hour-1)))
	assert.EqualValues(t, oddDay, dayOf(year1980.Add(-1)))
	assert.EqualValues(t, oddDay, dayOf(time.Now()))
	assert.EqualValues(t, oddDay, dayOf(time.Now().Add(-47*time.Hour)))
	assert.NotEqualValues(t, oddDay, dayOf(time.Now().Add(-49*time.Hour)))

	assert.True(t, (&kept{IsExact: true}).isExact())
	assert.True(t, (&kept{IsExact: true, Links: 1, Input: input{Links: true}}).isExact())
	assert.False(t, (&kept{IsExact: true, Input: input{Links: true}}).isExact(), "how many links there will be is not known")
	assert.False(t, (&kept{Links: 1}).isExact())
}
