package main

import (
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// seed adds two exports with five failed runs; the interval of one of them has been exported again
// since.
func seed(project *hogapitest.Project) {
	hour := time.Now().UTC().Truncate(time.Hour)
	day := hour.Truncate(24 * time.Hour)
	add := func(export uuid.UUID, end time.Time, length time.Duration, status hogapi.RunStatus, text string) {
		run := hogapitest.Run{Start: end.Add(-length), End: end, Created: end.Add(time.Minute), Status: status, Error: text}
		project.AddRun(export, run)
	}

	lake := project.AddExport(hogapitest.Export{Name: "events to the lake", Interval: hogapi.IntervalHour})
	denied := "AccessDenied: the role may not write"
	add(lake, hour.AddDate(0, 0, -20), time.Hour, hogapi.RunStatusFailed, denied) // older than the service itself lists
	add(lake, hour.Add(-2*time.Hour), time.Hour, hogapi.RunStatusFailed, "SlowDown: reduce your request rate")
	add(lake, hour.Add(-time.Hour), time.Hour, hogapi.RunStatusCompleted, "")

	warehouse := project.AddExport(hogapitest.Export{
		Name: "persons to the warehouse", Model: hogapi.ModelPersons, Interval: hogapi.IntervalDay,
		DestinationType: "BigQuery", Integration: 2, Config: map[string]any{"dataset_id": "posthog", "table_id": "persons"},
	})
	add(warehouse, day.AddDate(0, 0, -3), 24*time.Hour, hogapi.RunStatusFailed, "the table is locked")
	add(warehouse, day.AddDate(0, 0, -2), 24*time.Hour, hogapi.RunStatusFailed, "the table is locked")
	add(warehouse, day.AddDate(0, 0, -1), 24*time.Hour, hogapi.RunStatusFailedRetryable, "the job was not found")
	again := hogapitest.Run{Start: day.AddDate(0, 0, -4), End: day.AddDate(0, 0, -3), Status: hogapi.RunStatusCompleted}
	project.AddRun(warehouse, again)
}
