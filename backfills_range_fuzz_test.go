package hogapi

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzTimestamp: a bound that is read is written as it was, up to its zone and form.
func FuzzTimestamp(f *testing.F) {
	for _, text := range []string{`null`, `"2024-05-01"`, `"2024-05-01T10:00:00.5+02:00"`, `"0001-01-01T00:00:00Z"`, `"0001-01-01"`, `"9999-12-31T23:59:59-01:00"`, `""`, `7`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var ts, again Timestamp
		if json.Unmarshal(text, &ts) != nil {
			return
		}
		var plain string
		require.NoError(t, json.Unmarshal(text, &plain))
		date, dateErr := time.Parse(time.DateOnly, plain)
		at, atErr := time.Parse(time.RFC3339, plain)
		require.Equal(t, dateErr != nil && atErr != nil, ts.IsBeginning())
		require.Equal(t, dateErr == nil, ts.IsDate())
		require.True(t, ts.Time().Equal(date) || ts.Time().Equal(at))
		written, err := json.Marshal(ts)
		if err != nil {
			require.True(t, ts.IsZero() || ts.Time().Year() < 0 || ts.Time().Year() > 9999, "%v", err)
			return
		}
		require.NoError(t, json.Unmarshal(written, &again))
		require.Equal(t, ts, again)
	})
}
