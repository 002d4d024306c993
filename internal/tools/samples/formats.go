package main

import (
	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/generic"
)

// formats are those of the files that match a pattern; the first one counts.
var formats = []struct {
	files  string
	format hogapi.Format
}{
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
