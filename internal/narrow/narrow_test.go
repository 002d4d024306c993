package narrow_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hogapi/hogapi/internal/narrow"
)

// A time of any length is divided between two days, until each part is within one.
func TestMiddle(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	at := func(year, hours int) time.Time { return time.Date(year, 1, 1, hours, 0, 0, 0, time.UTC) }
	for _, of := range [][2]time.Time{{at(2024, 0), at(2024, 24)}, {at(2024, 5), at(2024, 24)}} {
		_, ok := narrow.Middle(of[0], of[1], day)
		assert.False(t, ok, of)
	}
	for _, of := range [][2]time.Time{{at(2024, 0), at(2024, 48)}, {at(2024, 23), at(2024, 25)}, {at(1900, 0), at(2300, 0)}} {
		middle, ok := narrow.Middle(of[0], of[1], day)
		assert.True(t, ok, of)
		assert.True(t, of[0].Before(middle) && middle.Before(of[1]) && middle.Equal(middle.Truncate(day)), "%s: %s", of, middle)
	}
}
