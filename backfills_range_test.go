package hogapi

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/ops"
)

func TestTimestampUnset(t *testing.T) {
	assert.True(t, Timestamp{}.IsZero())
	assert.True(t, At(time.Time{}).IsZero(), "a zero time is no instant")
	_, err := json.Marshal(Timestamp{})
	require.Error(t, err)
	_, err = json.Marshal(Date(2024, time.February, 30))
	require.ErrorContains(t, err, "the calendar has no 2024-02-30")
	_, err = json.Marshal(Date(12024, 1, 1))
	require.Error(t, err)
	b, err := json.Marshal(BackfillRange{})
	require.NoError(t, err)
	assert.Equal(t, `{}`, string(b))
	var ts Timestamp
	require.Error(t, json.Unmarshal([]byte(`"yesterday"`), &ts))
	require.Error(t, json.Unmarshal([]byte(`7`), &ts))
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
		{"from the beginning", BackfillRange{Beginning(), day}, ""},
		{"no start", BackfillRange{End: day}, "Start"},
		{"no end", BackfillRange{Start: day}, "End"},
		{"beginning as end", BackfillRange{day, Beginning()}, "End"},
		{"mixed", BackfillRange{Date(2024, 2, 1), hour}, "End"},
		{"a start that no calendar has", BackfillRange{Date(2025, 13, 45), day}, "Start"},
		{"an end that no calendar has", BackfillRange{day, Date(2025, time.February, 30)}, "End"},
		{"empty", BackfillRange{day, day}, "End"},
		{"reversed", BackfillRange{later, hour}, "End"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := refused(ops.BackfillsCreate, tc.r.check())
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

func TestBackfillRangeOfAnExport(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	utc := func(month time.Month, day, hour, minute int) time.Time {
		return time.Date(2024, month, day, hour, minute, 0, 0, time.UTC)
	}
	local := func(month time.Month, day, hour int) time.Time {
		return time.Date(2024, month, day, hour, 0, 0, 0, berlin)
	}
	daily := BatchExport{Interval: IntervalDay, Timezone: "UTC"}
	dailyBerlin := BatchExport{Interval: IntervalDay, Timezone: "Europe/Berlin"}
	weekly := BatchExport{Interval: IntervalWeek, Timezone: "UTC"}
	mondays := BatchExport{Interval: IntervalWeek, Timezone: "Europe/Berlin", OffsetDay: new(1), OffsetHour: new(5)}
	hourly := BatchExport{Interval: IntervalHour, Timezone: "UTC"}
	for _, tc := range []struct {
		name     string
		export   BatchExport
		from, to time.Time
		want     string // the JSON
		field    string // or what is wrong
	}{
		{"a month of days", daily, utc(3, 1, 0, 0), utc(4, 1, 0, 0), `{"start_at":"2024-03-01","end_at":"2024-04-01"}`, ""},
		{"days in their zone, over the change of clocks", dailyBerlin, local(3, 1, 0), local(4, 1, 0), `{"start_at":"2024-03-01","end_at":"2024-04-01"}`, ""},
		{"the same instants in UTC", dailyBerlin, local(3, 1, 0).UTC(), local(4, 1, 0).UTC(), `{"start_at":"2024-03-01","end_at":"2024-04-01"}`, ""},
		{"midnight elsewhere", dailyBerlin, utc(3, 1, 0, 0), utc(3, 2, 0, 0), "", "from"},
		{"days with a rest", daily, utc(3, 1, 0, 0), utc(3, 2, 12, 0), "", "to"},
		{"weeks from Sunday", weekly, utc(3, 3, 0, 0), utc(3, 17, 0, 0), `{"start_at":"2024-03-03","end_at":"2024-03-17"}`, ""},
		{"weeks from another day", weekly, utc(3, 4, 0, 0), utc(3, 11, 0, 0), "", "from"},
		{"weeks with a rest", weekly, utc(3, 3, 0, 0), utc(3, 11, 0, 0), "", "to"},
		{"weeks with offsets", mondays, local(3, 4, 5), local(3, 11, 5), `{"start_at":"2024-03-04","end_at":"2024-03-11"}`, ""},
		{"weeks without their hour", mondays, local(3, 4, 0), local(3, 11, 0), "", "from"},
		{"hours", hourly, utc(3, 1, 0, 0), utc(3, 2, 0, 0), `{"start_at":"2024-03-01T00:00:00Z","end_at":"2024-03-02T00:00:00Z"}`, ""},
		{"hours of another zone", hourly, local(3, 1, 0), local(3, 1, 1), `{"start_at":"2024-02-29T23:00:00Z","end_at":"2024-03-01T00:00:00Z"}`, ""},
		{"hours with a rest", hourly, utc(3, 1, 0, 0), utc(3, 1, 1, 30), "", "to"},
		{"hours that are not the schedule's", hourly, utc(3, 1, 21, 10), utc(3, 1, 23, 10), "", "from"},
		{"minutes that are not the schedule's", BatchExport{Interval: IntervalEvery5Minutes}, utc(3, 1, 0, 2), utc(3, 1, 0, 12), "", "from"},
		{"less than an hour", hourly, utc(3, 1, 0, 0), utc(3, 1, 0, 30), "", "to"},
		{"five minutes", BatchExport{Interval: IntervalEvery5Minutes}, utc(3, 1, 0, 0), utc(3, 1, 0, 35), `{"start_at":"2024-03-01T00:00:00Z","end_at":"2024-03-01T00:35:00Z"}`, ""},
		{"minutes to come", BatchExport{Interval: "every 30 minutes"}, utc(3, 1, 0, 0), utc(3, 1, 0, 45), "", "to"},
		{"days of an old server", BatchExport{Interval: IntervalDay}, utc(3, 1, 0, 0), utc(3, 3, 0, 0), `{"start_at":"2024-03-01T00:00:00Z","end_at":"2024-03-03T00:00:00Z"}`, ""},
		{"weeks of an old server with a rest", BatchExport{Interval: IntervalWeek}, utc(3, 1, 0, 0), utc(3, 9, 0, 0), "", "to"},
		{"an interval nobody knows", BatchExport{Interval: "fortnight"}, utc(3, 1, 0, 0), utc(3, 15, 0, 0), "", "Interval"},
		{"a zone nobody knows", BatchExport{Interval: IntervalDay, Timezone: "Mars/Olympus"}, utc(3, 1, 0, 0), utc(3, 2, 0, 0), "", "Timezone"},
		{"no start", daily, time.Time{}, utc(3, 1, 0, 0), "", "from"},
		{"no end", daily, utc(3, 1, 0, 0), time.Time{}, "", "to"},
		{"empty", daily, utc(3, 1, 0, 0), utc(3, 1, 0, 0), "", "to"},
		{"reversed", hourly, utc(3, 2, 0, 0), utc(3, 1, 0, 0), "", "to"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := tc.export.BackfillRange(tc.from, tc.to)
			if tc.field != "" {
				requireInputError(t, err, tc.field)
				assert.Equal(t, BackfillRange{}, r)
				return
			}
			require.NoError(t, err)
			b, err := json.Marshal(r)
			require.NoError(t, err)
			assert.Equal(t, tc.want, string(b))
			require.Nil(t, r.check())
		})
	}
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
