package jsonb_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/jsonb"
)

func TestParseTime(t *testing.T) {
	for text, want := range map[string]string{
		"2012-08-15T05:55:00-07:00":           "2012-08-15T12:55:00Z",
		"2024-02-29T00:00:00Z":                "2024-02-29T00:00:00Z",
		"2000-02-29T23:59:59.9+00:00":         "2000-02-29T23:59:59.9Z",
		"2024-12-31T23:59:59.123456789-23:59": "2025-01-01T23:58:59.123456789Z",
		"2024-05-01T12:30:00.000000000Z":      "2024-05-01T12:30:00Z",
		"2024-05-01T12:30:00.100Z":            "2024-05-01T12:30:00.1Z",
		"2024-05-01T12:30:00.000000001+05:45": "2024-05-01T06:45:00.000000001Z",
		"1969-12-31T23:59:59.5-00:00":         "1969-12-31T23:59:59.5Z",
		"0000-01-01T00:00:00Z":                "0000-01-01T00:00:00Z",
		"9999-12-31T23:59:59.999999999Z":      "9999-12-31T23:59:59.999999999Z",
	} {
		got, err := jsonb.ParseTime([]byte(text))
		require.NoError(t, err, text)
		oracle, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		assert.True(t, oracle.Equal(got), text)
		assert.Equal(t, time.UTC, got.Location())
		assert.Equal(t, "x"+want, string(jsonb.AppendTime([]byte("x"), oracle)))
	}
}

func TestParseTimeRefuses(t *testing.T) {
	for _, text := range []string{
		"", "2024", "2024-05-01", "2024-05-01T12:30:00", "2024-05-01 12:30:00Z", "2024-05-01t12:30:00Z", "2024-05-01T12:30:00z", "2024-05-01T12:30Z",
		"2024-05-01T12:30:60Z", "2016-12-31T23:59:60Z", "2024-05-01T24:00:00Z", "2024-05-01T12:60:00Z", "2024-13-01T00:00:00Z", "2024-00-01T00:00:00Z",
		"2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2024-04-31T00:00:00Z", "2024-01-00T00:00:00Z", "2024-01-32T00:00:00Z",
		"2024-05-01T12:30:00.Z", "2024-05-01T12:30:00,5Z", "2024-05-01T12:30:00.1234567891Z", "2024-05-01T12:30:00.5", "2024-05-01T12:30:00.-5Z",
		"2024-05-01T12:30:00+24:00", "2024-05-01T12:30:00+05:60", "2024-05-01T12:30:00+0500", "2024-05-01T12:30:00+05", "2024-05-01T12:30:00+5:00",
		"2024-05-01T12:30:00Z ", " 2024-05-01T12:30:00Z", "2024-05-01T12:30:00ZZ", "+024-05-01T12:30:00Z", "-024-05-01T12:30:00Z", "12024-05-01T12:30:00Z",
		"2024/05/01T12:30:00Z", "2024-05-01T12.30.00Z", "2024-5-01T12:30:00ZZ", "0000-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "2024-05-0xT12:30:00Z",
	} {
		_, err := jsonb.ParseTime([]byte(text))
		assert.Error(t, err, text)
	}
}

func TestTimeAllocates(t *testing.T) {
	text, dst := []byte("2012-08-15T05:55:00.123-07:00"), make([]byte, 0, 64)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		at, _ := jsonb.ParseTime(text)
		dst = jsonb.AppendTime(dst[:0], at)
	}))
	assert.Equal(t, "2012-08-15T12:55:00.123Z", string(dst))
}
