package loosetime

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzTime converts each form to the strict form and compares.
func FuzzTime(f *testing.F) {
	for _, text := range []string{
		"", "2024-05-01", "2024-05-01T10:00:00Z", "2024-05-01 10:00:00", "2024-05-01T10:00:00.123456", "2024-05-01 10:00:00.5+02:00", "2024-02-30", "soon", "0000-01-01",
		"2024-03-01T01:02:03.5Z", "2024-03-01T02:02:03.500000+01:00", "2024-03-01T01:02:03.5", "2024-03-01 01:02:03.500", "2024-03-01 01:02:03.5+00:00", "2024-13-01",
		"2024-05-01T10:00:00,5Z", "9999-12-31T23:59:59-23:59", "2024-05-01T24:00:00", "2024-5-1", "2024-05-01T10:00", "2024-05-01T1:00:00Z", "0000-01-01  0:00:00Z",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		quoted, err := json.Marshal(text)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(quoted, &text), "as JSON can hold it")
		var got Time
		gotErr := json.Unmarshal(quoted, &got)
		want, wantErr := oracle(text)
		require.Equal(t, wantErr == nil, gotErr == nil, "%v, %v", wantErr, gotErr)
		if gotErr == nil {
			require.True(t, want.Equal(got.Time), "%v, %v", want, got)
			require.Equal(t, time.UTC, got.Location())
		}
	})
}

func TestTimesThatAreNoTexts(t *testing.T) {
	got := Time{time.Now()}
	require.NoError(t, json.Unmarshal([]byte("null"), &got))
	require.True(t, got.IsZero())
	require.Error(t, json.Unmarshal([]byte("7"), &got))
}

func oracle(text string) (time.Time, error) {
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
