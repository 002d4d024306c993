package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hogapi/hogapi/cmd/internal/page"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/formats/mixpanel"
)

func days(from time.Time, n int, name string) (list []sample) {
	for i := range n {
		list = append(list, sample{from.AddDate(0, 0, i).Format(time.DateOnly), name, int64(i + 1)})
	}
	return list
}

func TestPeriodsOfAChart(t *testing.T) {
	from := time.Date(2022, 12, 30, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		samples     []sample
		unit        string
		bars        int
		first, last string
	}{
		{days(from, 1, "a"), "day", 1, "2022-12-30", "2022-12-30"},
		{days(from, 62, "a"), "day", 62, "2022-12-30", "2023-03-01"},
		{days(from, 63, "a"), "month", 4, "2022-12", "2023-03"},
		{days(from, 365*12, "a"), "year", 13, "2022", "2034"},
		{[]sample{{"2023-01", "a", 1}, {"2023-03-07", "a", 1}}, "month", 3, "2023-01", "2023-03"},
		{[]sample{{"1900-01-01", "a", 1}, {"2299-12-31", "a", 1}}, "year", 400, "1900", "2299"},
	} {
		chart := newChart(c.samples, largest(c.samples))
		require.NotNil(t, chart)
		assert.Equal(t, c.unit, chart.Unit)
		require.Len(t, chart.Bars, c.bars)
		assert.Equal(t, c.first, chart.Bars[0].Period)
		assert.Equal(t, c.last, chart.Bars[c.bars-1].Period)
	}
	for _, without := range [][]sample{nil, {{"", "a", 1}}, {{"2023-01-01", "a", 1}, {"", "b", 1}}, {{"May 2024", "a", 1}}} {
		assert.Nil(t, newChart(without, largest(without)), "%v has no time", without)
	}
}

// Each bar is as high as its parts, no part is lost, and nothing is outside of the chart.
func TestBarsOfAChart(t *testing.T) {
	var samples []sample
	var all int64
	for i := range 300 {
		n := int64(i*i%977 + 1)
		samples = append(samples, sample{fmt.Sprintf("2023-%02d-%02d", i%12+1, i%28+1), fmt.Sprintf("name %d", i%11), n})
		all += n
	}
	samples = append(samples, sample{"2023-05-05", others, 100}) // a name of a customer
	all += 100
	series := largest(samples)
	require.Len(t, series, maxSeries+1)
	chart := newChart(samples, series)
	var shown, legend int64
	for _, b := range chart.Bars {
		var sum int64
		height := 0.0
		for _, p := range b.Parts {
			sum += p.N
			height += number(t, p.Height)
			assert.GreaterOrEqual(t, number(t, p.Y), 0.0)
			assert.LessOrEqual(t, number(t, p.Y)+number(t, p.Height), 100.01)
		}
		assert.Equal(t, b.Total, sum)
		assert.LessOrEqual(t, height, 100.01)
		assert.LessOrEqual(t, number(t, b.X)+number(t, b.Width), 100.0)
		shown += sum
	}
	for _, s := range series {
		legend += s.Total
	}
	assert.Equal(t, all, shown)
	assert.Equal(t, all, legend)
}

func number(t *testing.T, percent string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(strings.TrimSuffix(percent, "%"), 64)
	require.NoError(t, err)
	return n
}

func TestTheGridHasRoundNumbers(t *testing.T) {
	for _, highest := range []int64{0, 1, 3, 4, 5, 7, 9, 10, 11, 99, 100, 101, 3702, 41_000, 999_999, 1_000_001, 123_456_789, math.MaxInt32 * 100} {
		c := &chart{}
		top := c.grid(highest)
		assert.GreaterOrEqual(t, top, highest)
		assert.Less(t, len(c.Lines), 7, highest)
		assert.GreaterOrEqual(t, len(c.Lines), 2, highest)
		assert.LessOrEqual(t, top, 2*highest+4, highest)
	}
}

func TestLabelsDoNotTouch(t *testing.T) {
	for n := 1; n < 130; n++ {
		c := &chart{}
		c.label(make([]string, n))
		narrow := 0
		for _, l := range c.Labels {
			if !l.Wide {
				narrow++
			}
		}
		assert.LessOrEqual(t, len(c.Labels), 10)
		assert.LessOrEqual(t, narrow, 4)
		assert.Positive(t, narrow)
	}
}

func TestWords(t *testing.T) {
	assert.Equal(t, []string{"0", "999", "1,000", "−12,345", "9,223,372,036,854,775,807"},
		[]string{page.Count(int64(0)), page.Count(int64(999)), page.Count(int64(1000)), page.Count(int64(-12345)), page.Count(int64(math.MaxInt64))})
	assert.Equal(t, []string{"0 %", "< 0.1 %", "5.0 %", "33.3 %", "> 99.9 %", "100 %", "0 %"},
		[]string{page.Share(0, 10), page.Share(1, 100_000), page.Share(5, 100), page.Share(1, 3), page.Share(99_999, 100_000), page.Share(7, 7), page.Share(0, 0)})
	assert.Equal(t, []string{"less than a minute", "3 min", "2 h 30 min", "4 days 4 h"},
		[]string{Duration(0.001), Duration(0.05), Duration(2.5), Duration(100)})
	assert.Equal(t, []int64{0, 7, 99, 100, 1700, 1800, 9_900_000}, []int64{Rounded(0), Rounded(7), Rounded(99), Rounded(104), Rounded(1749), Rounded(1751), Rounded(9_949_999)})
	from := time.Date(2024, 5, 1, 23, 0, 0, 0, time.UTC)
	assert.Equal(t, []string{"1 UTC day", "2 UTC days"}, []string{span(from, from.Add(time.Minute)), span(from, from.Add(2*time.Hour))}, "as many as bars")
	assert.Equal(t, "UTC−7:00", offsetName(-7*time.Hour))
	assert.Equal(t, "UTC+5:30", offsetName(330*time.Minute))
}

func TestReasonsAndWarningsAreSentences(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "1,475 records name no person (no distinct_id, $user_id or $device_id), so PostHog cannot store them. "+
		"For example a.json:3.", SkipText("mixpanel", mixpanel.SkipNoID, 1475, []string{"a.json:3"}))
	assert.Contains(t, SkipText("ga4", mixpanel.SkipNoID, 1, nil), "1 record names no person (no user_id or user_pseudo_id), so")
	assert.Equal(t, "2 records are left out: of a later release.", SkipText("ga4", "of a later release", 2, nil))
	assert.Equal(t, "1 request holds events of more than a day, which PostHog takes more slowly. Nothing is lost. For files that are not in order of time, add --sort.",
		WarningText(event.WarningWideBatch, 1))
	assert.Equal(t, "26 events are sent without their heatmap data.", WarningText(event.WarningStripHeatmaps, 26))
	assert.Equal(t, "788 events have a placeholder such as null in place of a person's id: PostHog counts all of them as one person.",
		WarningText(event.WarningSuspectID, 788))
	assert.Equal(t, "788 events are stored without a person's profile: their id is a placeholder, or too many events have it.",
		WarningText("person_processing_disabled", 788))
	for w := range meanings {
		assert.NotEmpty(t, w.Advice(), "the library has no warning %s", w)
	}
}

func TestTextsOfTheLibraryArePlain(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "is invalid; check the key", Plain("is invalid.; check the key"))
	assert.Equal(t, "since 23 h 45 min, not 24 h", Plain("since 23h45m4.316s, not 24h0m0s"))
	assert.Equal(t, "3 events of user-42", Plain("3 events of user-42"))
}
