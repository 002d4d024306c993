package generic_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats/generic"
)

// Tables of totals are refused with the reason, also where the map invents the person, but not a table with persons.
func TestTotals(t *testing.T) {
	t.Parallel()
	invented, err := generic.Format(&generic.Options{Map: []string{"event=const:visit", "person=const:nobody", "time=date"}, Zone: time.UTC})
	require.NoError(t, err)
	for _, tt := range []struct {
		columns []string
		want    string
	}{
		{[]string{"date", "visitors", "pageviews", "bounces", "visits", "visit_duration"}, "as Plausible exports them"},
		{[]string{"date", "operating_system", "visitors", "visits", "visit_duration", "bounces"}, "as Plausible exports them"},
		{[]string{"date", "visitors", "pageviews", "hostname", "page"}, "ClickHouse table events_v2"},
		{[]string{"date", "label", "nb_visits"}, "Live.getLastVisitsDetails"},
		{[]string{"date", "visitor_id", "num_events", "num_minutes"}, "the format pendo"},
		{[]string{"date", "Sessions", "totalUsers"}, "the format ga4"},
		{[]string{"date", "Pathname", "Pageviews", "Uniques"}, "would have to be invented"},
	} {
		require.ErrorContains(t, invented.CheckColumns(tt.columns), tt.want)
	}
	require.NoError(t, invented.CheckColumns([]string{"date", "page", "visits"}))
	persons, err := generic.Format(&generic.Options{Map: []string{"event=const:visit", "person=user", "time=date"}, Zone: time.UTC})
	require.NoError(t, err)
	assert.NoError(t, persons.CheckColumns([]string{"date", "user", "visitors", "visits"}))
}
