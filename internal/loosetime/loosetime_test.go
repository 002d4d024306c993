package loosetime

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTime(t *testing.T) {
	want := time.Date(2024, 3, 1, 1, 2, 3, 500_000_000, time.UTC)
	for text, want := range map[string]time.Time{
		`"2024-03-01T01:02:03.5Z"`:           want,
		`"2024-03-01T02:02:03.500000+01:00"`: want,
		`"2024-03-01T01:02:03.5"`:            want,
		`"2024-03-01 01:02:03.500"`:          want,
		`"2024-03-01 01:02:03.5+00:00"`:      want,
		`"2024-03-01"`:                       time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC),
		`""`:                                 {},
		`null`:                               {},
	} {
		var got Time
		require.NoError(t, json.Unmarshal([]byte(text), &got), text)
		assert.True(t, want.Equal(got.Time), text)
	}
	for _, text := range []string{`"soon"`, `7`, `"2024-13-01"`} {
		require.Error(t, json.Unmarshal([]byte(text), new(Time)), text)
	}
}
