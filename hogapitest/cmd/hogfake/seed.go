package main

import (
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/integration"
)

// seed fills the project with the data of a small one.
func seed(project *hogapitest.Project, era hogapitest.Era) {
	hour := time.Now().UTC().Truncate(time.Hour)
	day := hour.Truncate(24 * time.Hour)
	if era >= hogapitest.E2 {
		project.AddIntegration(hogapitest.Integration{
			Kind: integration.KindAwsS3, Created: day.AddDate(0, -2, 0),
			Config: map[string]any{"name": "lake", "aws_access_key_id": "AKIAEXAMPLE", "aws_secret_access_key": "not shown"},
		})
	}
	lake := project.AddExport(hogapitest.Export{
		Name: "Events to the lake", Interval: hogapi.IntervalHour, DestinationType: "AwsS3", Integration: 1,
		Config: map[string]any{"bucket_name": "lake", "region": "eu-central-1", "prefix": "events/"}, Created: day.AddDate(0, -2, 0),
	})
	for back := 6; back > 0; back-- {
		end := hour.Add(-time.Duration(back) * time.Hour)
		r := hogapitest.Run{Start: end.Add(-time.Hour), End: end, Created: end.Add(time.Minute), Records: 900 + 37*back}
		if back == 4 {
			r.Status, r.Error = hogapi.RunStatusFailed, "SlowDown: reduce your request rate"
		}
		project.AddRun(lake, r)
	}
	archive := project.AddExport(hogapitest.Export{
		Name: "Persons to the archive", Model: hogapi.ModelPersons, Interval: hogapi.IntervalDay, DestinationType: "Postgres", Paused: true, LastPaused: day,
		Config: map[string]any{"host": "db.example", "port": 5432, "database": "archive", "schema": "public", "table_name": "persons", "user": "posthog", "password": "not shown"},
	})
	project.AddRun(archive, hogapitest.Run{Start: day.AddDate(0, 0, -1), End: day, Created: day.Add(time.Minute), Records: 412})
	project.AddDashboard(hogapitest.Dashboard{Name: "Company numbers", Pinned: true, Tags: []string{"board"}, Tiles: []map[string]any{{}}})
	project.AddDashboard(hogapitest.Dashboard{Name: "Checkout funnel", Tags: []string{"product"}})
	if era >= hogapitest.E4 {
		project.AddFileDownload(hogapitest.FileDownload{
			Created: hour.Add(-time.Hour),
			Files:   []hogapitest.File{{ID: uuid.New(), Content: []byte(`{"event":"$pageview","distinct_id":"ann"}` + "\n")}},
		})
		project.AddWarning(hogapitest.Warning{
			Type: "cannot_merge_already_identified", Category: "merge", Details: map[string]any{"sourcePersonDistinctId": "ann", "targetPersonDistinctId": "bob"},
		})
	}
}
