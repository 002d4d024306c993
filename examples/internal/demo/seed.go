package demo

import (
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// seed fills the fake with what a small project would have.
func seed(project *hogapitest.Project) {
	hour := time.Now().UTC().Truncate(time.Hour)
	day := hour.Truncate(24 * time.Hour)

	lake := project.AddExport(hogapitest.Export{
		Name: "events to the lake", Interval: hogapi.IntervalHour, DestinationType: "AwsS3", Integration: 1,
		Config: map[string]any{"bucket_name": "lake", "region": "eu-central-1", "prefix": "events/"}, Created: day.AddDate(0, -2, 0),
	})
	add := func(export uuid.UUID, end time.Time, length time.Duration, status hogapi.RunStatus, text string) {
		project.AddRun(export, hogapitest.Run{Start: end.Add(-length), End: end, Created: end.Add(time.Minute), Status: status, Error: text})
	}
	add(lake, hour.AddDate(0, 0, -20), time.Hour, hogapi.RunStatusFailed, "AccessDenied: the role may not write") // far out of the service's own window
	for back := 6; back > 0; back-- {
		status, text := hogapi.RunStatusCompleted, ""
		if back == 4 {
			status, text = hogapi.RunStatusFailed, "SlowDown: reduce your request rate"
		}
		add(lake, hour.Add(-time.Duration(back)*time.Hour), time.Hour, status, text)
	}

	warehouse := project.AddExport(hogapitest.Export{
		Name: "persons to the warehouse", Model: hogapi.ModelPersons, Interval: hogapi.IntervalDay, DestinationType: "BigQuery", Integration: 2,
		Config: map[string]any{"dataset_id": "posthog", "table_id": "persons"}, Created: day.AddDate(0, -1, 0),
	})
	add(warehouse, day.AddDate(0, 0, -3), 24*time.Hour, hogapi.RunStatusFailed, "the table is locked")
	add(warehouse, day.AddDate(0, 0, -2), 24*time.Hour, hogapi.RunStatusFailed, "the table is locked")
	add(warehouse, day.AddDate(0, 0, -1), 24*time.Hour, hogapi.RunStatusFailedRetryable, "the job was not found")
	again := hogapitest.Run{Start: day.AddDate(0, 0, -4), End: day.AddDate(0, 0, -3), Status: hogapi.RunStatusCompleted}
	project.AddRun(warehouse, again) // the first of the failed days has been exported since

	project.AddExport(hogapitest.Export{
		Name: "events to the archive", Interval: hogapi.IntervalWeek, DestinationType: "Postgres", Paused: true, LastPaused: day,
		Config: map[string]any{"host": "db.example", "port": 5432, "database": "archive", "schema": "public", "table_name": "events"},
	})

	for i, d := range []hogapitest.Dashboard{
		{Name: "Company numbers", Pinned: true, Shared: true, Tags: []string{"board", "weekly"}},
		{Name: "Checkout funnel", Tags: []string{"product"}},
		{Name: "Errors and latency", Description: "What on-call looks at first", Tags: []string{"on-call"}},
		{Name: "Sign-ups"},
	} {
		d.Created = day.AddDate(0, 0, -30*(i+1))
		project.AddDashboard(d)
	}
}
