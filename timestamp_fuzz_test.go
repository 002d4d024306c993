package hogapi

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzLooseTime compares with one reading of all forms after putting the text into the strict one.
func FuzzLooseTime(f *testing.F) {
	for _, text := range []string{
		"", "2024-05-01", "2024-05-01T10:00:00Z", "2024-05-01 10:00:00", "2024-05-01T10:00:00.123456", "2024-05-01 10:00:00.5+02:00", "2024-02-30", "soon", "0000-01-01",
		"2024-05-01T10:00:00,5Z", "9999-12-31T23:59:59-23:59", "2024-05-01T24:00:00", "2024-5-1", "2024-05-01T10:00", "2024-05-01T1:00:00Z",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		quoted, err := json.Marshal(text)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(quoted, &text), "as JSON can hold it")
		var got looseTime
		gotErr := json.Unmarshal(quoted, &got)
		want, wantErr := oracleLooseTime(text)
		require.Equal(t, wantErr == nil, gotErr == nil, "%v, %v", wantErr, gotErr)
		if gotErr == nil {
			require.True(t, want.Equal(got.Time), "%v, %v", want, got)
			require.Equal(t, time.UTC, got.Location())
		}
	})
}

func oracleLooseTime(text string) (time.Time, error) {
	strict := []byte(text)
	const date = len("2006-01-02")
	switch {
	case text == "":
		return time.Time{}, nil
	case len(text) == date:
		strict = append(strict, "T00:00:00Z"...)
	case len(text) > date && text[date] == ' ':
		strict[date] = 'T'
		fallthrough
	default:
		if end := strict[len(strict)-1]; end != 'Z' && (len(strict) < 6 || strict[len(strict)-6] != '+' && strict[len(strict)-6] != '-') {
			strict = append(strict, 'Z')
		}
	}
	return time.Parse(time.RFC3339, string(strict))
}

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
