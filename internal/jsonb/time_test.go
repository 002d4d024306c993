package jsonb_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// RFC 3339 allows lower case and leap seconds, which time.Parse refuses.
func TestParseTimeOfRFC3339(t *testing.T) {
	for text, want := range map[string]string{
		"2024-05-01t12:30:00z":           "2024-05-01T12:30:00Z",
		"2024-05-01t12:30:00+02:00":      "2024-05-01T10:30:00Z",
		"2016-12-31T23:59:60Z":           "2017-01-01T00:00:00Z",
		"2016-12-31T15:59:60.25-08:00":   "2017-01-01T00:00:00.25Z",
		"1990-12-31T23:59:60.999999999z": "1991-01-01T00:00:00.999999999Z",
	} {
		got, err := jsonb.ParseTime([]byte(text))
		require.NoError(t, err, text)
		assert.Equal(t, want, got.Format(time.RFC3339Nano), text)
	}
}

func TestParseTimeRefuses(t *testing.T) {
	for _, text := range []string{
		"", "2024", "2024-05-01", "2024-05-01T12:30:00", "2024-05-01 12:30:00Z", "2024-05-01T12:30Z",
		"2024-05-01T12:30:60Z", "2016-12-31T23:59:61Z", "2016-12-31T23:59:60+01:00", "2024-05-01_12:30:00Z", "2024-05-01T24:00:00Z", "2024-05-01T12:60:00Z", "2024-13-01T00:00:00Z", "2024-00-01T00:00:00Z",
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
	var e jsonb.Encoder
	text, dst := []byte("2012-08-15T05:55:00.123-07:00"), make([]byte, 0, 64)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		at, _ := jsonb.ParseTime(text)
		dst = e.AppendTime(dst[:0], at)
	}))
	assert.Equal(t, "2012-08-15T12:55:00.123Z", string(dst))
}

// TestAppendTime compares with the standard library; dates recur, and times differ by a nanosecond.
func TestAppendTime(t *testing.T) {
	var e jsonb.Encoder
	zone := time.FixedZone("", -7*60*60)
	for _, day := range []string{"0000-01-01", "0000-12-31", "1899-12-31", "1969-12-31", "1970-01-01", "2000-02-29", "2024-12-31", "9998-12-31", "1970-01-01"} {
		midnight, err := time.Parse(time.DateOnly, day)
		require.NoError(t, err)
		for _, after := range []time.Duration{
			0, 1, 999_999_999, time.Second, time.Minute - 1, time.Hour, 13*time.Hour + 14*time.Minute + 15*time.Second + 16*time.Millisecond,
			24*time.Hour - 1, 24 * time.Hour, 24*time.Hour - 100, 48*time.Hour - time.Second,
		} {
			at := midnight.Add(after)
			want := at.Format(time.RFC3339Nano)
			assert.Equal(t, want, string(e.AppendTime(nil, at)))
			assert.Equal(t, want, string(e.AppendTime(nil, at.In(zone))))
		}
	}
}

// TestParseTimeOfEveryDay covers a year for each leap year rule.
func TestParseTimeOfEveryDay(t *testing.T) {
	const aroundCenturies = 5
	for at := time.Date(0, 1, 1, 12, 30, 15, 0, time.UTC); at.Year() < 10_000; at = at.AddDate(0, 0, 1) {
		if at.Year()%100 == aroundCenturies {
			at = at.AddDate(100-2*aroundCenturies, 0, 0)
		}
		got, err := jsonb.ParseTime([]byte(at.Format(time.RFC3339)))
		require.NoError(t, err)
		if !at.Equal(got) {
			require.Equal(t, at, got)
		}
	}
}

// RFC 3339 has no offsets with seconds, such as local mean times have.
func TestTimeValuesInZonesWithSeconds(t *testing.T) {
	at := time.Date(1880, 1, 1, 12, 0, 0, 0, time.FixedZone("LMT", 19*60+32))
	var e jsonb.Encoder
	for _, value := range []any{at, &at, []time.Time{at}, map[string]time.Time{"at": at}} {
		out, err := e.AppendValue(nil, value)
		require.NoError(t, err)
		assert.Contains(t, string(out), `"1880-01-01T11:40:28Z"`, "%T", value)
	}
}
