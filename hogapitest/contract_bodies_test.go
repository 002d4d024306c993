package hogapitest_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/integration"
	"github.com/hogapi/hogapi/opt"
)

// bodiesFit compares the bodies that a server got with the contract, and adds their operations to a set.
func bodiesFit(t *testing.T, w *wire, all map[string]contract, got map[string]bool) {
	t.Helper()
	for _, call := range w.Calls() {
		for resource, c := range all {
			for _, o := range c.Operations {
				path := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(o.Path, `[^/]+`)
				isOf, err := regexp.MatchString("^"+w.prefix+path+"$", call.Path)
				require.NoError(t, err)
				if !isOf || o.Method != call.Method || o.Request == "" || len(call.Body) == 0 {
					continue
				}
				got[o.Op] = true
				var body any
				require.NoError(t, json.Unmarshal(call.Body, &body), o.Op)
				fields := c.Types[o.Request]
				if o.Request == "NewStep" { // "with all fields of BatchExportRequest"
					c.Types["DestinationRequest"] = all["batch-exports"].Types["DestinationRequest"]
					fields = append(fields, all["batch-exports"].Types["BatchExportRequest"]...)
				}
				assert.Empty(t, mismatch(c, o.Request, fields, body, nil), "%s of %s: %s", o.Op, resource, call.Body)
			}
		}
	}
}

// Every body of the client fits the contract: it has all required fields and no unknown ones, and each field has the
// right type.
func TestContractBodiesOfTheClient(t *testing.T) {
	all, got, secret := contracts(t), map[string]bool{}, opt.NewSecret("s")
	calls := []func(ctx context.Context, c *hogapi.Client, ids map[string]string) error{
		func(ctx context.Context, c *hogapi.Client, ids map[string]string) error {
			id := uuid.MustParse(ids["batch_exports"])
			if err := c.BatchExports.Pause(ctx, id); err != nil {
				return err
			}
			_, err := c.BatchExports.Unpause(ctx, id, &hogapi.UnpauseOptions{Backfill: true})
			return err
		},
		func(ctx context.Context, c *hogapi.Client, _ map[string]string) error {
			of := hogapi.DataDeletionRequest{ImportID: "job", From: now.AddDate(-1, 0, 0), Until: now}
			if _, err := c.DataDeletions.Preview(ctx, of); err != nil {
				return err
			}
			_, err := c.DataDeletions.Create(ctx, of)
			return err
		},
		func(ctx context.Context, c *hogapi.Client, _ map[string]string) error {
			_, err := c.FileDownloads.CountRows(ctx, hogapi.CountRowsRequest{HogQLQuery: "SELECT 1"})
			return err
		},
		func(ctx context.Context, c *hogapi.Client, ids map[string]string) error {
			_, err := c.BatchExports.TestDestinationOf(ctx, uuid.MustParse(ids["batch_exports"]))
			return err
		},
		func(ctx context.Context, c *hogapi.Client, _ map[string]string) error {
			_, err := c.BatchExports.TestDestination(ctx, hogapi.BatchExportRequest{
				Name: "n", Model: hogapi.ModelEvents, Interval: hogapi.IntervalDay, Timezone: "UTC", OffsetHour: new(3),
				Destination: hogapi.Destination{Type: destination.TypeAwsS3, Config: destination.Raw(bucketConfig), Integration: opt.Set(int64(1))},
			})
			return err
		},
	}
	for _, request := range []integration.Request{
		integration.AwsS3{Name: "a", AWSRoleARN: "arn:aws:iam::123456789012:role/r"}, integration.AwsS3{Name: "b", AWSAccessKeyID: secret, AWSSecretAccessKey: secret},
		integration.S3Compatible{Name: "c", EndpointURL: "https://s3.example", AWSAccessKeyID: secret, AWSSecretAccessKey: secret},
		integration.Snowflake{Name: "d", Account: "a", User: "u", Password: secret}, integration.Postgres{Host: "h.example", Port: 5432, User: "u", Password: secret},
		integration.RedshiftServer{Host: "h.example", Port: 5439, User: "u", Password: secret}, integration.Redshift{Name: "e", User: "u", AWSAccessKeyID: secret, AWSSecretAccessKey: secret},
		integration.BigQuery{ServiceAccountEmail: "e@example", ProjectID: "p"}, integration.Databricks{ServerHostname: "h.example", ClientID: secret, ClientSecret: secret},
		integration.AzureBlob{ConnectionString: opt.NewSecret("AccountName=a;AccountKey=aw==;BlobEndpoint=https://a.example")},
	} {
		calls = append(calls, func(ctx context.Context, c *hogapi.Client, _ map[string]string) error {
			_, err := c.Integrations.Create(ctx, request)
			return err
		})
	}
	hour := now.Truncate(24 * time.Hour)
	for _, x := range []hogapi.BackfillRange{
		{Start: hogapi.AtTime(hour), End: hogapi.AtTime(hour.Add(2 * time.Hour))}, {Start: hogapi.AtTime(hour), End: hogapi.CaughtUp()}, {Start: hogapi.AtDate(2026, 3, 2), End: hogapi.AtDate(2026, 3, 4)},
	} {
		calls = append(calls, func(ctx context.Context, c *hogapi.Client, ids map[string]string) error {
			kind := map[bool]string{true: "days", false: "http"}[x.Start.IsDate()]
			_, err := c.BatchExports.Backfill(ctx, uuid.MustParse(ids[kind]), x, &hogapi.BackfillOptions{AcceptRowsByTimestamp: true})
			return err
		})
	}
	for i, call := range calls {
		w, ids := contractWorld(t)
		p := w.project()
		ids["http"] = p.AddExport(hogapitest.Export{DestinationType: "HTTP", Config: map[string]any{"url": "https://us.i.posthog.com/batch/", "token": "t"}}).String()
		ids["days"] = p.AddExport(hogapitest.Export{Interval: hogapi.IntervalDay, Timezone: "UTC", DestinationType: "BigQuery"}).String()
		before := len(w.Calls())
		assert.NoError(t, call(t.Context(), w.Client(t), ids), i)
		assert.Greater(t, len(w.Calls()), before)
		bodiesFit(t, w, all, got)
	}
	for _, c := range all {
		for _, o := range c.Operations {
			isElsewhere := strings.HasPrefix(o.Op, "batch_exports.") && (strings.HasSuffix(o.Op, "ate") || notPlayed[o.Op] != "") || o.Op == "file_downloads.create"
			assert.True(t, got[o.Op] || o.Request == "" || isElsewhere, "no body of %s", o.Op)
		}
	}
}
