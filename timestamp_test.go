package hogapi

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTimestampForms(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	for _, tc := range []struct {
		name string
		ts   Timestamp
		json string
	}{
		{"date", Date(2024, time.March, 1), `"2024-03-01"`},
		{"date out of range is normalised", Date(2024, time.February, 30), `"2024-03-01"`},
		{"instant in UTC", At(time.Date(2024, 3, 1, 1, 0, 0, 0, berlin)), `"2024-03-01T00:00:00Z"`},
		{"instant keeps its fraction", At(time.Date(2024, 3, 1, 0, 0, 0, 120_000_000, time.UTC)), `"2024-03-01T00:00:00.12Z"`},
		{"beginning", Beginning, `null`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b, err := json.Marshal(tc.ts)
			require.NoError(t, err)
			assert.Equal(t, tc.json, string(b))
			var back Timestamp
			require.NoError(t, json.Unmarshal(b, &back))
			assert.True(t, back == tc.ts, "%v came back as %v", tc.ts, back)
		})
	}
}

func TestTimestampUnset(t *testing.T) {
	assert.True(t, Timestamp{}.IsZero())
	assert.True(t, At(time.Time{}).IsZero(), "a zero time is no instant")
	_, err := json.Marshal(Timestamp{})
	require.Error(t, err)
	_, err = json.Marshal(Date(12024, 1, 1))
	require.Error(t, err)
	b, err := json.Marshal(BackfillRange{})
	require.NoError(t, err)
	assert.Equal(t, `{}`, string(b))
	var ts Timestamp
	require.Error(t, json.Unmarshal([]byte(`"yesterday"`), &ts))
	require.Error(t, json.Unmarshal([]byte(`7`), &ts))
}

func TestBackfillRangeJSON(t *testing.T) {
	r := BackfillRange{Start: Beginning, End: Date(2024, 3, 1)}
	b, err := json.Marshal(r)
	require.NoError(t, err)
	assert.Equal(t, `{"start_at":null,"end_at":"2024-03-01"}`, string(b))
	var back BackfillRange
	require.NoError(t, json.Unmarshal(b, &back))
	assert.Equal(t, r, back)
}

func TestBackfillRangeCheck(t *testing.T) {
	day, hour := Date(2024, 3, 1), At(time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC))
	later := At(hour.Time().Add(time.Hour))
	for _, tc := range []struct {
		name  string
		r     BackfillRange
		field string // empty: good
	}{
		{"dates", BackfillRange{day, Date(2024, 3, 2)}, ""},
		{"instants", BackfillRange{hour, later}, ""},
		{"from the beginning", BackfillRange{Beginning, day}, ""},
		{"no start", BackfillRange{End: day}, "Start"},
		{"no end", BackfillRange{Start: day}, "End"},
		{"beginning as end", BackfillRange{day, Beginning}, "End"},
		{"mixed", BackfillRange{Date(2024, 2, 1), hour}, "End"},
		{"empty", BackfillRange{day, day}, "End"},
		{"reversed", BackfillRange{later, hour}, "End"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.r.check(OpBackfillsCreate)
			if tc.field == "" {
				require.NoError(t, err)
				return
			}
			var input *InputError
			require.ErrorAs(t, err, &input)
			assert.Equal(t, tc.field, input.Field)
		})
	}
}
