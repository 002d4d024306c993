package main

import (
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// seed adds an hourly export of events that missed two hours and failed in another, and a daily export of persons that
// was paused for two days.
func seed(project *hogapitest.Project) {
	hour := time.Now().UTC().Truncate(time.Hour)
	lake := project.AddExport(hogapitest.Export{
		Name: "events to the lake", Interval: hogapi.IntervalHour, Created: hour.Add(-72 * time.Hour),
	})
	for back := range 72 {
		run := hogapitest.Run{End: hour.Add(-time.Duration(back) * time.Hour)}
		run.Created = run.End.Add(time.Minute)
		if back == 5 {
			run.Status, run.Error = hogapi.RunStatusFailed, "SlowDown: reduce your request rate"
		}
		if back != 30 && back != 31 && run.Created.Before(time.Now()) {
			project.AddRun(lake, run)
		}
	}

	day := hour.Truncate(24 * time.Hour)
	warehouse := project.AddExport(hogapitest.Export{
		Name: "persons to the warehouse", Model: hogapi.ModelPersons, Interval: hogapi.IntervalDay,
		Created: day.AddDate(0, 0, -20).Add(time.Hour), DestinationType: "BigQuery", Integration: 2,
		Config: map[string]any{"dataset_id": "posthog", "table_id": "persons"},
	})
	pause := func(x *hogapitest.Export) { x.Paused = !x.Paused }
	project.EditExport(warehouse, day.AddDate(0, 0, -6).Add(12*time.Hour), pause)
	project.EditExport(warehouse, day.AddDate(0, 0, -4).Add(12*time.Hour), pause)
	for back := range 20 {
		if end := day.AddDate(0, 0, -back); back != 4 && back != 5 {
			project.AddRun(warehouse, hogapitest.Run{Start: end.AddDate(0, 0, -1), End: end, Created: end.Add(time.Minute)})
		}
	}
}
