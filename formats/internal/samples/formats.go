package main

import (
	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/ga4"
	"github.com/hogapi/hogapi/formats/generic"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/formats/posthogexport"
	"github.com/hogapi/hogapi/formats/segment"
)

// formats are those of the files that match a pattern; the first one counts.
var formats = []struct {
	files  string
	format hogapi.Format
}{
	{"mixpanel/export*", mixpanel.Format(nil)},
	{"mixpanel/internal*", mixpanel.Format(nil)},
	{"amplitude/export*", amplitude.Format(nil)},
	{"amplitude/*.csv", asTable(amplitude.Format(nil))},
	{"segment/*.jsonl", segment.Format(nil)},
	{"rudderstack/calls.jsonl", segment.Format(nil)},
	{"ga4/*.jsonl", ga4.Format(nil)},
	{"posthog/batch-export-*.jsonl", posthogexport.Format(nil)},
	{"umami/*.csv", generic.Format(&generic.Options{
		Name: "umami", Columns: map[string]string{
			"event_id": generic.UUID, "session_id": generic.DistinctID, "created_at": generic.Timestamp, "event_name": generic.Event,
		}, EventName: "$pageview", TimeLayout: "2006-01-02 15:04:05",
	})},
	{"simpleanalytics/*.csv", generic.Format(&generic.Options{
		Name: "simpleanalytics", Columns: map[string]string{"added_iso": generic.Timestamp, "session_id": generic.DistinctID, "path": "$pathname"},
		EventName: "$pageview",
	})},
}

// asTable reads the columns of a table as the fields of records.
func asTable(f hogapi.Format) hogapi.Format {
	f.Layout = hogapi.LayoutCSV
	return f
}
