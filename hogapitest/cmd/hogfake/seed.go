package main

import (
	"strconv"
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
	if era == hogapitest.E4 {
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
	if era == hogapitest.E4 {
		project.AddFileDownload(hogapitest.FileDownload{
			Created: hour.Add(-time.Hour),
			Files:   []hogapitest.File{{ID: uuid.New(), Content: []byte(`{"event":"$pageview","distinct_id":"ann"}` + "\n")}},
		})
		project.AddWarning(hogapitest.Warning{
			Type: "cannot_merge_already_identified", Category: "merge", Details: map[string]any{"sourcePersonDistinctId": "ann", "targetPersonDistinctId": "bob"},
		})
	}
}

// breakExports adds four exports with a history of ten days: hourly ones into a table and into a bucket, with outages,
// failures and a stuck run, a daily one that the service has paused after three failures, and one with an edited
// interval. Runs that begin later export the events of the project.
func breakExports(project *hogapitest.Project) {
	now := time.Now().UTC()
	begin := now.AddDate(0, 0, -10)
	project.ExportEvents()
	arrive(project, begin, now)
	back := func(end time.Time) int { return int(now.Sub(end).Hours()) }
	hourly := func(_, end time.Time) (hogapitest.Outcome, bool) {
		switch hours := back(end); {
		case hours == 9:
			return hogapitest.Outcome{Polls: 1 << 30}, true
		case hours == 30:
			return hogapitest.Outcome{Status: "Cancelled"}, true
		case hours == 50 || hours == hoursWithoutTimestamp:
			return hogapitest.Outcome{Status: "Failed", Error: "SlowDown: reduce your request rate"}, true
		case hours >= 70 && hours < 76:
			return hogapitest.Outcome{Status: "FailedBilling", Error: "the limit of the plan is reached"}, true
		case hours >= 100 && hours < 104, hours >= 160 && hours < 163:
			return hogapitest.Outcome{}, false
		}
		return hogapitest.Outcome{}, true
	}
	table := project.AddExport(hogapitest.Export{
		Name: "events to the warehouse", Created: begin, DestinationType: "BigQuery", Integration: 2,
		Config: map[string]any{"dataset_id": "posthog", "table_id": "events"},
	})
	bucket := project.AddExport(hogapitest.Export{
		Name: "events to the lake", Created: begin, DestinationType: "AwsS3", Integration: 1,
		Config: map[string]any{"bucket_name": "lake", "region": "us-east-1", "prefix": "events/"},
	})
	project.RunSchedule(table, hourly)
	project.RunSchedule(bucket, hourly)

	daily := project.AddExport(hogapitest.Export{
		Name: "persons by day", Model: "persons", Interval: "day", Created: begin, DestinationType: "BigQuery", Integration: 2,
		Config: map[string]any{"dataset_id": "posthog", "table_id": "persons"},
	})
	project.RunSchedule(daily, func(_, end time.Time) (hogapitest.Outcome, bool) {
		if days := back(end) / 24; days >= 3 && days < 6 {
			return hogapitest.Outcome{Status: "Failed", Error: "the table is locked"}, true
		}
		return hogapitest.Outcome{}, true
	})
	edited(project, begin, now)
}

// hoursWithoutTimestamp is how many hours ago an hour ended in which events arrived, all with older timestamps.
const hoursWithoutTimestamp = 150

// arrive adds 30 events an hour. Some arrive hours after their timestamp.
func arrive(project *hogapitest.Project, begin, now time.Time) {
	for n, at := 0, begin; at.Before(now); n, at = n+1, at.Add(2*time.Minute) {
		happened := at
		if n%9 == 0 {
			happened = at.Add(-time.Duration(1+n%40) * time.Hour)
		}
		if end := happened.Truncate(time.Hour).Add(time.Hour); int(now.Sub(end).Hours()) == hoursWithoutTimestamp {
			continue
		}
		project.AddEvent(hogapitest.StoredEvent{
			Event: []string{"$pageview", "signed up", "paid"}[n%3], DistinctID: "visitor " + strconv.Itoa(n%50), Time: happened, CreatedAt: at,
		})
	}
}

// edited adds an export that was hourly for five days and is daily since.
func edited(project *hogapitest.Project, begin, now time.Time) {
	id := project.AddExport(hogapitest.Export{
		Name: "sessions to the warehouse", Model: "sessions", Interval: "hour", Created: begin, DestinationType: "BigQuery", Integration: 2,
		Config: map[string]any{"dataset_id": "posthog", "table_id": "sessions"},
	})
	const rows = 100
	edit := now.AddDate(0, 0, -5)
	run := func(start, end time.Time) {
		project.AddRun(id, hogapitest.Run{Start: start, End: end, Created: end.Add(time.Minute), Records: rows})
	}
	end := begin.Truncate(time.Hour).Add(time.Hour)
	for ; end.Before(edit); end = end.Add(time.Hour) {
		run(end.Add(-time.Hour), end)
	}
	project.EditExport(id, edit, func(x *hogapitest.Export) { x.Interval = "day" })
	for day := edit.Truncate(24*time.Hour).AddDate(0, 0, 2); day.Before(now); day = day.AddDate(0, 0, 1) {
		run(day.AddDate(0, 0, -1), day)
	}
}
