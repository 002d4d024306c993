package generic

import (
	"fmt"
	"slices"
	"strings"
)

// totalsOf are groups of columns that only tables of totals have, in small letters, with advice on the right table. A
// table has totals if it has a column of each list of a group.
var totalsOf = []struct {
	tool    string
	columns [][]string
	todo    string
}{
	{"Plausible", [][]string{
		{"visitors"},
		{"visits", "pageviews", "bounces", "bounce_rate", "visit_duration", "total_visit_duration", "exits", "entrances", "scroll_depth"},
	}, "The export of Plausible has nothing else. A self-hosted Plausible has single events in its ClickHouse table events_v2: " +
		"export its rows"},
	{"Matomo", [][]string{{"nb_visits", "nb_uniq_visitors"}},
		"Export the visits with Live.getLastVisitsDetails, and read them with the format matomo"},
	{"Pendo", [][]string{{"num_events", "numevents"}, {"num_minutes", "numminutes"}},
		"Export single events, and read them with the format pendo"},
	{"Google Analytics", [][]string{
		{"sessions"}, {"users", "total_users", "totalusers", "active_users", "activeusers", "new_users", "newusers"},
	}, "Reports have nothing else. Read single events, of the export to BigQuery, with the format ga4"},
	{"Fathom or another tool", [][]string{{"pageviews"}, {"uniques", "unique_visitors", "visits", "unique visitors"}},
		"Ask the tool for an export of single events; if it keeps none, keep its totals as a table next to PostHog"},
}

// totals is the error of a table of totals, or nil.
func totals(columns []string) error {
	has := func(names []string) bool {
		return slices.ContainsFunc(columns, func(column string) bool { return slices.Contains(names, strings.ToLower(column)) })
	}
	for _, t := range totalsOf {
		if !slices.ContainsFunc(t.columns, func(names []string) bool { return !has(names) }) {
			return fmt.Errorf("the file has totals, as %s exports them, and no events: who did what and when is not in it, "+
				"and would have to be invented. %s", t.tool, t.todo)
		}
	}
	return nil
}
