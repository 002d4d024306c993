package hogapi

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/destination"
)

// What every server refuses, fails at or stores otherwise is refused before it is sent.
func TestExportsThatNoServerCanStore(t *testing.T) {
	client, mock := newTestClient(t)
	s3 := func(config destination.S3) Destination {
		return Destination{Type: destination.TypeAwsS3, Config: config}
	}
	for name, tt := range map[string]struct {
		field  string
		change func(*BatchExportRequest)
	}{
		"hogql without a query": {"HogQLQuery", func(c *BatchExportRequest) { c.Model = ModelHogQL }},
		"modifiers of events":   {"HogQLModifiers", func(c *BatchExportRequest) { c.HogQLModifiers = json.RawMessage(`{}`) }},
		"key of persons":        {"PrimaryKey", func(c *BatchExportRequest) { c.Model, c.PrimaryKey = ModelPersons, []string{"id"} }},
		"version of events":     {"VersionKey", func(c *BatchExportRequest) { c.VersionKey = []string{"v"} }},
		"merge without a key": {"PrimaryKey", func(c *BatchExportRequest) {
			c.Model, c.HogQLQuery, c.IncrementalMode = ModelHogQL, "SELECT 1", IncrementalModeMerge
		}},
		"weekday of a daily export": {"OffsetDay", func(c *BatchExportRequest) { c.Interval, c.OffsetDay = IntervalDay, new(0) }},
		"hour of an hourly export":  {"OffsetHour", func(c *BatchExportRequest) { c.OffsetHour = new(0) }},
		"hour of five minutes":      {"OffsetHour", func(c *BatchExportRequest) { c.Interval, c.OffsetHour = IntervalEvery5Minutes, new(1) }},
		"codec of Parquet":          {"Destination.Config: compression", func(c *BatchExportRequest) { c.Destination = s3(destination.S3{Compression: Set("zstd")}) }},
		"codec of Parquet, JSON": {"Destination.Config: compression", func(c *BatchExportRequest) {
			c.Destination = s3(destination.S3{Compression: Set("lz4"), FileFormat: Set("JSONLines")})
		}},
		"old names of files": {"Destination.Config: legacy_parquet_extension", func(c *BatchExportRequest) { c.Destination = s3(destination.S3{LegacyParquetExtension: Set(true)}) }},
		"a download": {"Destination.Type", func(c *BatchExportRequest) {
			c.Destination = Destination{Type: destination.TypeFileDownload, Config: destination.FileDownload{}}
		}},
		"Databricks by nobody": {"Destination.Integration", func(c *BatchExportRequest) {
			c.Destination = Destination{Type: destination.TypeDatabricks, Config: destination.Databricks{}}
		}},
		"Azure by null": {"Destination.Integration", func(c *BatchExportRequest) {
			c.Destination = Destination{Type: destination.TypeAzureBlob, Config: destination.AzureBlob{}, Integration: Null[int64]()}
		}},
		"an integration of no number": {"Destination.Integration", func(c *BatchExportRequest) { c.Destination.Integration = Set(int64(0)) }},
	} {
		t.Run(name, func(t *testing.T) {
			create := testCreate
			tt.change(&create)
			_, err := client.BatchExports.Create(t.Context(), create)
			requireInputError(t, err, tt.field)
			_, err = client.BatchExports.TestDestination(t.Context(), create)
			requireInputError(t, err, tt.field)
		})
	}
	stored := s3(destination.S3{FileFormat: Set("Parquet"), Compression: Set("zstd")})
	stored.Integration = Set(int64(1))
	for name, tt := range map[string]struct {
		field  string
		update BatchExportUpdateRequest
	}{
		"offset without its interval":  {"Interval", BatchExportUpdateRequest{OffsetHour: Set(1)}},
		"offset cleared without it":    {"Interval", BatchExportUpdateRequest{OffsetDay: Null[int]()}},
		"hour of a week, alone":        {"OffsetDay", BatchExportUpdateRequest{Interval: Set(IntervalWeek), OffsetHour: Set(1)}},
		"weekday of a day":             {"OffsetDay", BatchExportUpdateRequest{Interval: Set(IntervalDay), OffsetDay: Set(1), OffsetHour: Set(1)}},
		"codec that the format lacks":  {"Destination.Config: compression", BatchExportUpdateRequest{Destination: Set(s3(destination.S3{FileFormat: Set("JSONLines"), Compression: Set("snappy")}))}},
		"format that the codec lacks":  {"Destination.Config: compression", BatchExportUpdateRequest{Destination: Set(stored.With(destination.S3{FileFormat: Set("JSONLines")}))}},
		"integration that must resend": {"Destination.Integration", BatchExportUpdateRequest{Destination: Set(Destination{Type: destination.TypeDatabricks, Config: destination.Databricks{}})}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client.BatchExports.Update(t.Context(), testExportID, tt.update)
			requireInputError(t, err, tt.field)
		})
	}
	require.Zero(t, mock.GetTotalCallCount())

	mock.RegisterNoResponder(httpmock.NewStringResponder(200, oldExportJSON))
	for _, update := range []BatchExportUpdateRequest{
		{Interval: Set(IntervalWeek), OffsetDay: Set(0), OffsetHour: Set(5)},
		{Interval: Set(IntervalHour), OffsetDay: Null[int](), OffsetHour: Null[int]()},
		{Interval: Set(IntervalDay), OffsetHour: Set(5)},
		{Destination: Set(s3(destination.S3{Compression: Set("zstd")}))}, // the stored format may be Parquet
		{Destination: Set(s3(destination.S3{LegacyParquetExtension: Set(true)}))},
		{Destination: Set(stored.With(destination.S3{FileFormat: Set("JSONLines"), Compression: Set("gzip")}))},
	} {
		_, err := client.BatchExports.Update(t.Context(), testExportID, update)
		require.NoError(t, err)
	}
}

// A refusal that only newer servers give names what they take instead.
func TestOldDestinationsOnNewServers(t *testing.T) {
	inline := destination.S3{BucketName: Set("b"), AWSAccessKeyID: Set(NewSecret("AKIA1")), AWSSecretAccessKey: Set(NewSecret("sec1"))}
	for name, tt := range map[string]struct {
		kind         destination.Type
		attr, detail string
		says         string
	}{
		"type S3":                {destination.TypeS3, "destination__type", `\"S3\" is not a valid choice.`, "destination.TypeAwsS3 or destination.TypeS3Compatible"},
		"inline keys":            {destination.TypeAwsS3, "destination__config", "Configuration has unknown field/s: 'aws_access_key_id'", "Integrations.Create"},
		"another fault of AwsS3": {destination.TypeAwsS3, "name", "This field may not be blank.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			client, mock := newTestClient(t)
			mock.RegisterNoResponder(httpmock.NewStringResponder(400, `{"code":"invalid_input","detail":"`+tt.detail+`","attr":"`+tt.attr+`"}`))
			create := testCreate
			create.Destination = Destination{Type: tt.kind, Config: inline}
			_, err := client.BatchExports.Create(t.Context(), create)
			require.ErrorIs(t, err, ErrInvalid)
			assert.Equal(t, tt.says != "", err.(*APIError).Alternative != "") //nolint:errorlint,forcetypeassert // it is one
			require.ErrorContains(t, err, tt.says)
			_, err = client.BatchExports.Update(t.Context(), testExportID, BatchExportUpdateRequest{Destination: Set(create.Destination)})
			require.ErrorContains(t, err, tt.says)
		})
	}
}

func TestExportsThatEndBeforeTheyStart(t *testing.T) {
	client, mock := newTestClient(t)
	start, end := time.Date(2025, 2, 1, 0, 0, 0, 0, time.UTC), time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	export := testCreate
	export.StartAt, export.EndAt = start, end
	_, err := client.BatchExports.Create(t.Context(), export)
	require.ErrorContains(t, err, `EndAt "2025-01-01T00:00:00Z": want later than StartAt, which is 2025-02-01T00:00:00Z`)
	_, err = client.BatchExports.Update(t.Context(), testExportID, BatchExportUpdateRequest{StartAt: Set(start), EndAt: Set(end)})
	require.ErrorContains(t, err, "want later than StartAt")
	assert.Zero(t, mock.GetTotalCallCount())
}
