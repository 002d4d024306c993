package mixpanel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/formattest"
	"github.com/hogapi/hogapi/formats/mixpanel"
)

func loadZone(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	require.NoError(t, err)
	return zone
}

// The clocks of New York show 01:30 twice on 2022-11-06 and never show 02:30 on 2022-03-13.
func TestLocalTime(t *testing.T) {
	t.Parallel()
	unix := func(text string) int64 {
		at, err := time.Parse(time.DateTime, text)
		require.NoError(t, err)
		return at.Unix()
	}
	for name, c := range map[string]struct {
		local, arrived, want string
	}{
		"winter":               {"2022-01-10 12:00:00", "", "2022-01-10 17:00:00"},
		"summer":               {"2022-07-10 12:00:00", "", "2022-07-10 16:00:00"},
		"before the gap":       {"2022-03-13 01:59:59", "", "2022-03-13 06:59:59"},
		"after the gap":        {"2022-03-13 03:00:00", "", "2022-03-13 07:00:00"},
		"twice":                {"2022-11-06 01:30:00", "", "2022-11-06 05:30:00"},
		"twice, live first":    {"2022-11-06 01:30:00", "2022-11-06 05:30:10", "2022-11-06 05:30:00"},
		"twice, live second":   {"2022-11-06 01:30:00", "2022-11-06 06:30:10", "2022-11-06 06:30:00"},
		"twice, a day late":    {"2022-11-06 01:30:00", "2022-11-07 06:30:10", "2022-11-06 05:30:00"},
		"before it is twice":   {"2022-11-06 00:59:59", "", "2022-11-06 04:59:59"},
		"after it was twice":   {"2022-11-06 02:00:00", "", "2022-11-06 07:00:00"},
		"on the day of change": {"2022-11-06 12:00:00", "", "2022-11-06 17:00:00"},
	} {
		record := fmt.Sprintf(`{"event":"e","properties":{"time":%d.25,"distinct_id":"u"`, unix(c.local))
		if c.arrived != "" {
			record += fmt.Sprintf(`,"mp_processing_time_ms":%d`, unix(c.arrived)*1000)
		}
		ev := convert(t, &mixpanel.Options{Zone: loadZone(t, "America/New_York")}, record+"}}")
		assert.Equal(t, c.want+".25", ev.Timestamp.Format(time.DateTime+".99"), name)
	}
	format := mixpanel.Format(&mixpanel.Options{Zone: loadZone(t, "America/New_York")})
	_, err := format.Convert(fmt.Appendf(nil, `{"event":"e","properties":{"time":%d,"distinct_id":"u"}}`, unix("2022-03-13 02:30:00")))
	require.ErrorContains(t, err, "time: the clocks of America/New_York skip 2022-03-13 02:30:00")
}

func TestCheckZone(t *testing.T) {
	t.Parallel()
	record := func(at, arrived int64, more string) []byte {
		return fmt.Appendf(nil, `{"event":"e","properties":{"time":%d,"distinct_id":"u","$mp_api_timestamp_ms":%d000%s}}`, at, arrived, more)
	}
	const summer, winter = 1_652_850_348, 1_642_850_348
	local := [][]byte{
		record(summer-7*3600, summer+2, ""), record(summer-7*3600, summer+30, ""), record(winter-8*3600, winter+1, ""),
		record(summer-7*3600, summer+5*24*3600, ""),   // imported
		record(summer-100, summer, `,"$import":true`), // imported as well
		record(summer-7*3600, summer+400, ""),         // late
		[]byte(`{"event":`),
		[]byte(`{"event":"e","properties":{"time":12}}`), // says nothing
	}
	test, err := mixpanel.CheckZone(t.Context(), formattest.Write(t, local))
	require.NoError(t, err)
	assert.EqualValues(t, []int64{8, 3}, []int64{test.Records, test.Live})
	assert.Equal(t, map[time.Duration]int64{-7 * time.Hour: 2, -8 * time.Hour: 1}, test.Offsets)
	assert.True(t, test.IsLocal())
	assert.InDelta(t, 1, test.Share(loadZone(t, "America/Los_Angeles")), 0)
	assert.InDelta(t, 2.0/3, test.Share(time.FixedZone("", -7*3600)), 0.001)
	assert.Zero(t, test.Share(nil))
	assert.Equal(t, "3 of 8 records are live events. Their time is ahead of UTC by -7h0m0s (2), -8h0m0s (1). "+
		"The export is in local time: set Options.Zone to the time zone of the project, "+
		"which its settings in Mixpanel show, and check it with Share", test.String())

	test, err = mixpanel.CheckZone(t.Context(), formattest.Write(t, [][]byte{record(summer, summer+1, ""), record(summer, summer-2, "")}))
	require.NoError(t, err)
	assert.False(t, test.IsLocal())
	assert.Equal(t, "2 of 2 records are live events. Their time is ahead of UTC by 0s (2). The export is in UTC", test.String())

	test, err = mixpanel.CheckZone(t.Context(), formattest.Write(t, local[7:8]))
	require.NoError(t, err)
	assert.False(t, test.IsLocal())
	assert.Contains(t, test.String(), "none of 1 records shows the time zone")

	// A live event needs a minute at most. Half of the events do not make the export a local one.
	var half mixpanel.ZoneTest
	half.Add(record(summer, summer+60, ""))
	half.Add(record(summer, summer+61, ""))
	half.Add(fmt.Appendf(nil, `{"event":"e","properties":{"time":%d,"distinct_id":"u","mp_processing_time_ms":%d000}}`, summer-3600, summer))
	assert.EqualValues(t, 2, half.Live)
	assert.False(t, half.IsLocal())
	for hours := range int64(5) {
		half.Add(record(summer-(hours+2)*3600, summer, ""))
	}
	assert.True(t, half.IsLocal())
	assert.Contains(t, half.String(), "by -6h0m0s (1), -5h0m0s (1), -4h0m0s (1), -3h0m0s (1) and 3 more offsets")

	var devices mixpanel.ZoneTest
	devices.Add([]byte(`{"event":"e","properties":{"time":12,"distinct_id":"$device:d"}}`))
	assert.EqualValues(t, 1, devices.Devices)
	assert.Contains(t, devices.String(), `. 1 records have a distinct_id that begins with "$device:": set Options.DevicePrefix`)

	_, err = mixpanel.CheckZone(t.Context(), "testdata/missing.jsonl")
	assert.ErrorContains(t, err, "mixpanel: zone test: ")
}

// The test runs as part of a check too.
var _ formats.RecordTest = (*mixpanel.ZoneTest)(nil)
