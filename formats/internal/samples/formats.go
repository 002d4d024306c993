package main

import (
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/ga4"
	"github.com/hogapi/hogapi/formats/generic"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/formats/posthogexport"
	"github.com/hogapi/hogapi/formats/segment"
)

// formats are the formats of files by a pattern of their names; the first match counts.
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
	{"umami/*.csv", mapped("umami", "uuid=event_id", "person=session_id", "time=created_at", "event=event_name", "event=const:$pageview")},
	{"simpleanalytics/*.csv", mapped("simpleanalytics", "time=added_iso", "person=session_id", "$pathname=path", "event=const:$pageview")},
}

// mapped is the format of a map, with times in UTC.
func mapped(name string, entries ...string) hogapi.Format {
	f, err := generic.Format(&generic.Options{Name: name, Map: entries, Zone: time.UTC})
	if err != nil {
		panic(err)
	}
	return f
}

// asTable reads the columns of a table as the fields of records.
func asTable(f hogapi.Format) hogapi.Format {
	f.Layout = hogapi.LayoutCSV
	return f
}
