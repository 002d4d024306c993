package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/history"
)

// reads are the checks that change nothing.
func (s *smoke) reads() []check {
	c := s.client
	return []check{
		{"batch exports: a walk has as many as the service counts", s.walk},
		{"batch export: one of the list is the same on its own", s.ofExport(s.one)},
		{"runs: the newest, and one on its own", s.ofExport(s.runs)},
		{"backfills: the first page", s.ofExport(func(ctx context.Context, id uuid.UUID) (string, error) {
			page, err := c.Backfills.List(ctx, id, nil)
			if err != nil {
				return "", err
			}
			return fmt.Sprint(len(page.Results), " backfills"), nil
		})},
		{"logs of an export", s.ofExport(func(ctx context.Context, id uuid.UUID) (string, error) {
			page, err := c.BatchExports.Logs(ctx, id, nil)
			if err != nil {
				return "", err
			}
			return fmt.Sprint(len(page.Results), " lines"), nil
		})},
		{"coverage of the last 7 days", s.ofExport(func(ctx context.Context, id uuid.UUID) (string, error) {
			found, err := coverage.Of(ctx, c, id, &coverage.Options{From: time.Now().AddDate(0, 0, -7)})
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("%d intervals, %d gaps", len(found.Intervals), len(found.Gaps())), nil
		})},
		{"app metrics of an export", s.ofExport(func(ctx context.Context, id uuid.UUID) (string, error) {
			_, err := c.AppMetrics.Get(ctx, id.String(), nil)
			return "read", err
		})},
		{"dashboards: all", counted(func(ctx context.Context) iter.Seq2[hogapi.Dashboard, error] {
			return c.Dashboards.All(ctx, nil)
		})},
		{"integrations: all", counted(func(ctx context.Context) iter.Seq2[hogapi.Integration, error] {
			return c.Integrations.All(ctx, nil)
		})},
		{"file downloads: all", counted(func(ctx context.Context) iter.Seq2[hogapi.FileDownload, error] {
			return c.FileDownloads.All(ctx, nil)
		})},
		{"HogQL: the query that verification sends is understood", s.query},
		{"an unknown export is ErrNotFound", func(ctx context.Context) (string, error) {
			_, err := c.BatchExports.Get(ctx, uuid.New())
			if errors.Is(err, hogapi.ErrNotFound) {
				return "it is", nil
			}
			return "", fmt.Errorf("want ErrNotFound, got: %w", err)
		}},
	}
}

func counted[T any](all func(context.Context) iter.Seq2[T, error]) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		n := 0
		for _, err := range all(ctx) {
			if err != nil {
				return "", err
			}
			n++
		}
		return strconv.Itoa(n), nil
	}
}

func (s *smoke) walk(ctx context.Context) (string, error) {
	first, err := s.client.BatchExports.List(ctx, &hogapi.ListOptions{Limit: 1})
	if err != nil {
		return "", err
	}
	n := 0
	for export, err := range s.client.BatchExports.All(ctx, &hogapi.ListOptions{Limit: 2}) {
		if err != nil {
			return "", err
		}
		if n++; s.export == nil || len(export.LatestRuns) > len(s.export.LatestRuns) {
			s.export = &export
		}
	}
	if n != first.Count {
		return "", fmt.Errorf("the service counts %d exports, and a walk has %d", first.Count, n)
	}
	return strconv.Itoa(n), nil
}

// ofExport is a check that needs an export of the project.
func (s *smoke) ofExport(run func(context.Context, uuid.UUID) (string, error)) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		if s.export == nil {
			return "", notTried("the project has no batch export")
		}
		return run(ctx, s.export.ID)
	}
}

func (s *smoke) one(ctx context.Context, id uuid.UUID) (string, error) {
	export, err := s.client.BatchExports.Get(ctx, id)
	switch {
	case err != nil:
		return "", err
	case export.Name != s.export.Name || export.Interval != s.export.Interval,
		export.Destination.Type != s.export.Destination.Type:
		return "", errors.New("name, interval or destination differ")
	}
	return fmt.Sprintf("%s of %s to %s", export.Interval, export.Model, export.Destination.Type), nil
}

func (s *smoke) runs(ctx context.Context, id uuid.UUID) (string, error) {
	const enough = 5
	n := 0
	for run, err := range s.client.Runs.All(ctx, id, nil) {
		if err != nil {
			return "", err
		}
		if n++; n == 1 {
			same, err := s.client.Runs.Get(ctx, id, run.ID)
			if err != nil {
				return "", err
			}
			if same.ID != run.ID || !same.DataIntervalEnd.Equal(run.DataIntervalEnd) {
				return "", errors.New("a run on its own has another id or interval than in the list")
			}
		}
		if n == enough {
			break
		}
	}
	return fmt.Sprint(n, " read"), nil
}

// query runs the verification query of an empty import.
func (s *smoke) query(ctx context.Context) (string, error) {
	receipt := hogapi.Receipt{ID: "hogapi-smoke-never"}
	found, err := history.Verify(ctx, s.client, receipt, nil)
	if err != nil {
		return "", err
	}
	return string(found.State), nil
}

// writes are the checks that change the project.
func (s *smoke) writes() []check {
	return []check{
		{"create: a paused export", s.create},
		{"update: another name, and nothing else", s.update},
		{"delete: the export that was made", s.remove},
		{"import: 100 events, all acknowledged", s.imports},
	}
}

func (s *smoke) create(ctx context.Context) (string, error) {
	request := hogapi.BatchExportRequest{
		Name: "hogapi smoke " + time.Now().UTC().Format(time.RFC3339), Model: hogapi.ModelEvents,
		Interval: hogapi.IntervalDay, Paused: true,
	}
	var first error
	for _, d := range s.destinations(ctx) {
		request.Destination = d
		made, err := s.client.BatchExports.Create(ctx, request)
		if err == nil {
			s.made = made
			return "to " + string(d.Type), nil
		}
		if !errors.Is(err, hogapi.ErrInvalid) {
			return "", err
		}
		first = errors.Join(first, err)
	}
	return "", notTried("the server takes none of these destinations without an integration: " + plain(first))
}

// destinations are some that need no account, and some with the integrations of the project.
func (s *smoke) destinations(ctx context.Context) (all []hogapi.Destination) {
	for i, err := range s.client.Integrations.All(ctx, nil) {
		if err != nil {
			break // older servers have none
		}
		if strings.Contains(string(i.Kind), "s3") {
			all = append(all, hogapi.Destination{
				Type: destination.TypeAwsS3, Integration: hogapi.Set(i.ID), Config: bucket,
			})
		}
		if strings.Contains(string(i.Kind), "postgres") {
			all = append(all, hogapi.Destination{
				Type: destination.TypePostgres, Integration: hogapi.Set(i.ID), Config: destination.Raw(table),
			})
		}
	}
	return append(all,
		hogapi.Destination{Type: destination.TypePostgres, Config: destination.Raw(table)},
		hogapi.Destination{Type: destination.TypeS3, Config: destination.Raw(oldBucket)},
	)
}

var bucket = destination.S3{
	BucketName: hogapi.Set("hogapi-smoke"), Region: hogapi.Set("us-east-1"), Prefix: hogapi.Set("smoke"),
}

const (
	table = `{"host": "db.example.com", "port": 5432, "user": "smoke", "password": "smoke", "database": "smoke",` +
		` "schema": "public", "table_name": "events", "has_self_signed_cert": false}`
	oldBucket = `{"bucket_name": "hogapi-smoke", "region": "us-east-1", "prefix": "smoke", "aws_access_key_id": "smoke",` +
		` "aws_secret_access_key": "smoke"}`
)

func (s *smoke) update(ctx context.Context) (string, error) {
	if s.made == nil {
		return "", notTried("no export was made")
	}
	name := s.made.Name + " (renamed)"
	after, err := s.client.BatchExports.Update(ctx, s.made.ID, hogapi.BatchExportUpdateRequest{Name: hogapi.Set(name)})
	switch {
	case err != nil:
		return "", err
	case after.Name != name || after.Interval != s.made.Interval || !after.Paused:
		return "", errors.New("another field has changed, or the name has not")
	}
	return "renamed", nil
}

func (s *smoke) remove(ctx context.Context) (string, error) {
	if s.made == nil {
		return "", notTried("no export was made")
	}
	if err := s.client.BatchExports.Delete(ctx, s.made.ID); err != nil {
		s.notes = append(s.notes, "The export "+s.made.ID.String()+" could not be deleted: delete it in PostHog.")
		return "", err
	}
	if _, err := s.client.BatchExports.Get(ctx, s.made.ID); !errors.Is(err, hogapi.ErrNotFound) {
		return "", fmt.Errorf("the export is still there: %w", err)
	}
	return "gone", nil
}

func (s *smoke) imports(ctx context.Context) (string, error) {
	const events = 100
	id := "hogapi-smoke-" + time.Now().UTC().Format("20060102-150405")
	begin := time.Now().AddDate(0, 0, -10).UTC().Truncate(time.Hour)
	source := history.Func("smoke", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			for i := range events {
				ev := hogapi.Event{
					Name: "hogapi smoke", DistinctID: "hogapi-smoke", Timestamp: begin.Add(time.Duration(i) * time.Minute),
					Position:      hogapi.Position{Key: "smoke", Offset: int64(i + 1)},
					RawProperties: json.RawMessage(fmt.Sprintf(`{"n":%d,"$process_person_profile":false}`, i)),
				}
				if !yield(ev, nil) {
					return
				}
			}
		}
	})
	receipt, err := history.Import(ctx, s.client, source, &history.Options{ID: id})
	if err != nil {
		return "", err
	}
	s.notes = append(s.notes, "The import "+id+" has left 100 events in the project: hogimport undo --import-id "+id+
		" asks for their deletion.")
	if receipt.Acknowledged != events {
		return "", fmt.Errorf("%d of %d events were acknowledged", receipt.Acknowledged, events)
	}
	found, err := history.Verify(ctx, s.client, receipt, nil)
	if err != nil {
		return "acknowledged; not verified: " + plain(err), nil
	}
	return fmt.Sprintf("acknowledged; verification says now: %s", found.State), nil
}
