package hogapi

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/destination"
)

const (
	oldExportJSON = `{"id":"0190e0a2-0000-7000-8000-00000000000e","team_id":7,"name":"n","model":null,"destination":{"type":"S3","config":{"bucket_name":"b","max_file_size_mb":"50"}},
		"interval":"hour","paused":false,"created_at":"2024-03-01T00:00:00Z","last_updated_at":"2024-03-01T00:00:00.123456Z","last_paused_at":null,"start_at":null,"end_at":null,
		"latest_runs":[{"id":"0190e0a2-0000-7000-8000-000000000001","status":"Completed","data_interval_start":null,"data_interval_end":"2024-03-01T00:00:00Z","records_completed":null}],
		"schema":null,"filters":null}`
	newExportJSON = `{"id":"0190e0a2-0000-7000-8000-00000000000e","team_id":7,"name":"n","model":"quarks","destination":{"type":"AwsS3","config":{"bucket_name":"b"},"integration":4},
		"interval":"every 3 blue moons","paused":true,"created_at":"2024-03-01T00:00:00Z","last_updated_at":"2024-03-01T00:00:00Z","last_paused_at":"2024-03-02T00:00:00Z",
		"start_at":"2024-03-03T00:00:00Z","end_at":"2024-03-04T00:00:00Z","latest_runs":[],"hogql_query":"SELECT 1","schema":{"fields":[]},"filters":[{"key":"k"}],"timezone":"Europe/Berlin",
		"offset_day":1,"offset_hour":5,"hogql_modifiers":{"a":1},"primary_key":["id"],"version_key":["v"],"incremental_mode":"MERGE","from_the_future":{"x":1}}`
)

func TestBatchExportOfEveryEra(t *testing.T) {
	client, mock := newTestClient(t)
	mock.RegisterResponder("GET", testExport, httpmock.NewStringResponder(200, oldExportJSON))
	old, err := client.BatchExports.Get(t.Context(), testExportID)
	require.NoError(t, err)
	created := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	assert.Equal(t, BatchExport{
		ID: testExportID, TeamID: 7, Name: "n", Destination: old.Destination, Interval: IntervalHour,
		CreatedAt: created, LastUpdatedAt: created.Add(123456 * time.Microsecond), Schema: json.RawMessage("null"), Filters: json.RawMessage("null"),
		LatestRuns: []Run{{ID: uuid.MustParse("0190e0a2-0000-7000-8000-000000000001"), Status: RunStatusCompleted, DataIntervalEnd: created}},
	}, *old)
	assert.Equal(t, destination.S3{BucketName: Set("b"), MaxFileSizeMB: Set(50)}, old.Destination.Config)
	assert.True(t, old.Destination.Integration.IsZero())

	mock.RegisterResponder("GET", testExport, httpmock.NewStringResponder(200, newExportJSON))
	export, err := client.BatchExports.Get(t.Context(), testExportID)
	require.NoError(t, err)
	assert.Equal(t, BatchExport{
		ID: testExportID, TeamID: 7, Name: "n", Model: "quarks", Destination: export.Destination, Interval: "every 3 blue moons", Paused: true,
		CreatedAt: created, LastUpdatedAt: created, LastPausedAt: new(created.AddDate(0, 0, 1)), StartAt: new(created.AddDate(0, 0, 2)), EndAt: new(created.AddDate(0, 0, 3)),
		LatestRuns: []Run{}, HogQLQuery: new("SELECT 1"), Schema: json.RawMessage(`{"fields":[]}`), Filters: json.RawMessage(`[{"key":"k"}]`), Timezone: "Europe/Berlin",
		OffsetDay: new(1), OffsetHour: new(5), HogQLModifiers: json.RawMessage(`{"a":1}`), PrimaryKey: []string{"id"}, VersionKey: []string{"v"}, IncrementalMode: IncrementalModeMerge,
	}, *export)
	assert.False(t, export.Model.IsKnown())
	assert.Equal(t, Set(int64(4)), export.Destination.Integration)
}

// sent makes the mock answer every call and keep its method, URL and body.
type sent struct{ method, url, body string }

func keepSent(mock *httpmock.MockTransport, status int, answer string) *sent {
	s := &sent{}
	mock.RegisterNoResponder(func(r *http.Request) (*http.Response, error) {
		*s = sent{method: r.Method, url: r.URL.String()}
		if r.Body != nil {
			b, _ := io.ReadAll(r.Body)
			s.body = string(b)
		}
		return httpmock.NewStringResponse(status, answer), nil
	})
	return s
}

var testCreate = BatchExportRequest{
	Name: "n", Model: ModelEvents, Interval: IntervalHour,
	Destination: Destination{Type: destination.TypeHTTP, Config: destination.HTTP{URL: Set("https://eu.i.posthog.com/batch/"), Token: Set(NewSecret("phc_x"))}},
}

func TestCreateSendsWhatIsSet(t *testing.T) {
	client, mock := newTestClient(t)
	s := keepSent(mock, 201, oldExportJSON)
	export, err := client.BatchExports.Create(t.Context(), testCreate)
	require.NoError(t, err)
	assert.Equal(t, testExportID, export.ID)
	assert.Equal(t, "POST", s.method)
	assert.Equal(t, testBase+"/batch_exports/", s.url)
	assert.JSONEq(t, `{"name":"n","model":"events","interval":"hour","destination":{"type":"HTTP","config":{"url":"https://eu.i.posthog.com/batch/","token":"phc_x"}}}`, s.body)

	berlin := time.FixedZone("CET", 3600)
	full := testCreate
	full.Paused, full.HogQLQuery, full.Filters, full.Timezone = true, "SELECT 1", json.RawMessage(`[{"type":"event","key":"k"}]`), "Europe/Berlin"
	full.StartAt, full.EndAt, full.LastPausedAt = time.Date(2024, 3, 1, 1, 0, 0, 0, berlin), time.Date(2024, 3, 2, 1, 0, 0, 500, berlin), time.Date(2024, 3, 3, 1, 0, 0, 0, berlin)
	full.OffsetDay, full.OffsetHour, full.HogQLModifiers = new(0), new(5), json.RawMessage(`{}`)
	full.PrimaryKey, full.VersionKey, full.IncrementalMode = []string{"id"}, []string{"v"}, IncrementalModeMerge
	full.Destination.Integration, full.Model, full.Interval = Set(int64(4)), ModelHogQL, IntervalWeek
	_, err = client.BatchExports.Create(t.Context(), full)
	require.NoError(t, err)
	assert.JSONEq(t, `{"name":"n","model":"hogql","interval":"week","destination":{"type":"HTTP","config":{"url":"https://eu.i.posthog.com/batch/","token":"phc_x"},"integration":4},
		"paused":true,"last_paused_at":"2024-03-03T00:00:00Z","start_at":"2024-03-01T00:00:00Z","end_at":"2024-03-02T00:00:00.0000005Z","hogql_query":"SELECT 1","filters":[{"type":"event","key":"k"}],
		"timezone":"Europe/Berlin","offset_day":0,"offset_hour":5,"hogql_modifiers":{},"primary_key":["id"],"version_key":["v"],"incremental_mode":"MERGE"}`, s.body)
}

func TestUpdateTellsAbsentNullAndValueApart(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	for want, update := range map[string]BatchExportUpdateRequest{
		`{"paused":false}`: {Paused: Set(false)},
		`{"end_at":null}`:  {EndAt: Null[time.Time]()},
		`{"paused":false,"start_at":"2024-03-01T00:00:00Z","end_at":null}`: {Paused: Set(false), EndAt: Null[time.Time](), StartAt: Set(time.Date(2024, 3, 1, 1, 0, 0, 0, berlin))},
		`{"interval":"week","filters":null,"timezone":null,"offset_day":null,"offset_hour":0}`: {
			Interval: Set(IntervalWeek), Filters: Null[json.RawMessage](), Timezone: Null[string](), OffsetDay: Null[int](), OffsetHour: Set(0),
		},
		`{"name":"n","model":"tomorrow","interval":"day","last_paused_at":null,"hogql_query":"q","filters":[],"hogql_modifiers":null,"primary_key":["p"],"version_key":null,"incremental_mode":"APPEND"}`: {
			Name: Set("n"), Model: Set(Model("tomorrow")), Interval: Set(IntervalDay), LastPausedAt: Null[time.Time](), HogQLQuery: Set("q"), Filters: Set(json.RawMessage(`[]`)),
			HogQLModifiers: Null[json.RawMessage](), PrimaryKey: Set([]string{"p"}), VersionKey: Null[[]string](), IncrementalMode: Set(IncrementalModeAppend),
		},
		`{"destination":{"type":"S3","config":{"kms_key_id":null,"prefix":"p/"}}}`: {
			Destination: Set(Destination{Type: destination.TypeS3, Integration: Null[int64]()}.With(destination.S3{Prefix: Set("p/"), KMSKeyID: Null[string]()})),
		},
	} {
		t.Run(want, func(t *testing.T) {
			client, mock := newTestClient(t)
			s := keepSent(mock, 200, oldExportJSON)
			_, err := client.BatchExports.Update(t.Context(), testExportID, update)
			require.NoError(t, err)
			assert.Equal(t, want, s.body)
			assert.Equal(t, "PATCH", s.method)
			assert.Equal(t, testExport, s.url)
		})
	}
}

func TestBatchExportInputIsCheckedFirst(t *testing.T) {
	ctx := t.Context()
	good := destination.S3{BucketName: Set("b")}
	create := func(change func(*BatchExportRequest)) func(*BatchExportsService) error {
		return func(s *BatchExportsService) error {
			c := testCreate
			change(&c)
			return failed(s.Create(ctx, c))
		}
	}
	update := func(u BatchExportUpdateRequest) func(*BatchExportsService) error {
		return func(s *BatchExportsService) error { _, err := s.Update(ctx, testExportID, u); return err }
	}
	to := func(d Destination) func(*BatchExportsService) error {
		return update(BatchExportUpdateRequest{Destination: Set(d)})
	}
	var noTimes []string
	type wrapped struct{ destination.S3 }
	for name, tc := range map[string]struct {
		call  func(*BatchExportsService) error
		field string
		want  string // a part of the allowed values in the error
	}{
		"no name":           {create(func(c *BatchExportRequest) { c.Name = "" }), "Name", ""},
		"no model":          {create(func(c *BatchExportRequest) { c.Model = "" }), "Model", ""},
		"model in capitals": {create(func(c *BatchExportRequest) { c.Model = "Events" }), "Model", `"events"`},
		"no interval":       {create(func(c *BatchExportRequest) { c.Interval = "" }), "Interval", ""},
		"Hour":              {create(func(c *BatchExportRequest) { c.Interval = "Hour" }), "Interval", `"hour"`},
		"merge":             {create(func(c *BatchExportRequest) { c.IncrementalMode = "merge" }), "IncrementalMode", `"MERGE"`},
		"bad filters":       {create(func(c *BatchExportRequest) { c.Filters = json.RawMessage(`{`) }), "body", "marshalled"},
		"offset day":        {create(func(c *BatchExportRequest) { c.Interval, c.OffsetDay, c.OffsetHour = IntervalWeek, new(7), new(0) }), "OffsetDay", "0 for Sunday to 6"},
		"offset hour":       {create(func(c *BatchExportRequest) { c.Interval, c.OffsetHour = IntervalDay, new(24) }), "OffsetHour", "0 to 23"},
		"empty key":         {create(func(c *BatchExportRequest) { c.Model, c.HogQLQuery, c.PrimaryKey = ModelHogQL, "q", []string{} }), "PrimaryKey", "names"},
		"key without name":  {create(func(c *BatchExportRequest) { c.Model, c.HogQLQuery, c.VersionKey = ModelHogQL, "q", []string{""} }), "VersionKey", "names"},
		"filters: object":   {create(func(c *BatchExportRequest) { c.Filters = json.RawMessage(`{}`) }), "Filters", "array"},
		"filters: null":     {create(func(c *BatchExportRequest) { c.Filters = json.RawMessage(`[null]`) }), "Filters", "array"},
		"filters: cohort":   {create(func(c *BatchExportRequest) { c.Filters = json.RawMessage(`[{"type":"event"},{"type":"cohort"}]`) }), "Filters[1].type", "hogql"},
		"filters: no type":  {create(func(c *BatchExportRequest) { c.Filters = json.RawMessage(`[{"key":"k"}]`) }), "Filters[0].type", "event"},
		"filters: interval": {create(func(c *BatchExportRequest) { c.Filters = json.RawMessage(`[{"type":"event","data_interval_end":1}]`) }), "Filters[0].data_interval_end", "backfill"},
		"no destination":    {create(func(c *BatchExportRequest) { c.Destination = Destination{} }), "Destination.Type", ""},

		"empty update":           {update(BatchExportUpdateRequest{}), "update", "at least one"},
		"null name":              {update(BatchExportUpdateRequest{Name: Null[string]()}), "Name", ""},
		"empty name":             {update(BatchExportUpdateRequest{Name: Set("")}), "Name", ""},
		"null paused":            {update(BatchExportUpdateRequest{Paused: Null[bool]()}), "Paused", ""},
		"null model":             {update(BatchExportUpdateRequest{Model: Null[Model]()}), "Model", ""},
		"null mode":              {update(BatchExportUpdateRequest{IncrementalMode: Null[IncrementalMode]()}), "IncrementalMode", ""},
		"empty query":            {update(BatchExportUpdateRequest{HogQLQuery: Set("")}), "HogQLQuery", ""},
		"empty key in an update": {update(BatchExportUpdateRequest{PrimaryKey: Set([]string{})}), "PrimaryKey", ""},
		"offset in an update":    {update(BatchExportUpdateRequest{Interval: Set(IntervalDay), OffsetHour: Set(-1)}), "OffsetHour", ""},
		"filter in an update":    {update(BatchExportUpdateRequest{Filters: Set(json.RawMessage(`[{}]`))}), "Filters[0].type", ""},
		"null interval":          {update(BatchExportUpdateRequest{Interval: Null[Interval]()}), "Interval", ""},
		"null destination":       {update(BatchExportUpdateRequest{Destination: Null[Destination]()}), "Destination", ""},
		"zero time":              {update(BatchExportUpdateRequest{EndAt: Set(time.Time{})}), "EndAt", "Null"},
		"value that is null":     {update(BatchExportUpdateRequest{Filters: Set(json.RawMessage("null"))}), "body", "Null"},
		"nil slice":              {update(BatchExportUpdateRequest{PrimaryKey: Set(noTimes)}), "body", "Null"},
		"near miss in an update": {update(BatchExportUpdateRequest{Interval: Set(Interval("DAY"))}), "Interval", `"day"`},

		"destination type":        {to(Destination{Type: "s3", Config: good}), "Destination.Type", `"S3"`},
		"no config":               {to(Destination{Type: destination.TypeS3}), "Destination.Config", "destination.S3{…}"},
		"nil pointer":             {to(Destination{Type: destination.TypeS3, Config: (*destination.S3)(nil)}), "Destination.Config", ""},
		"config of another type":  {to(Destination{Type: destination.TypePostgres, Config: good}), "Destination.Config", "Postgres"},
		"config of a new type":    {to(Destination{Type: "Kafka", Config: good}), "Destination.Config", "destination.Raw"},
		"raw config that is null": {to(Destination{Type: "Kafka", Config: destination.Raw(`null`)}), "Destination.Config", "object"},
		"a type around a config":  {to(Destination{Type: destination.TypeS3, Config: wrapped{good}}), "Destination.Config", "want the config type of S3"},
		"near miss in a config":   {to(Destination{Type: destination.TypeS3, Config: destination.S3{FileFormat: Set(FileFormat("jsonlines"))}}), "Destination.Config: file_format", `"JSONLines"`},
		"a printed secret":        {to(Destination{Type: destination.TypeHTTP, Config: destination.HTTP{Token: Set(NewSecret("[redacted]"))}}), "body", "clear"},
		"a printed raw config":    {to(Destination{Type: "Kafka", Config: destination.Raw(destination.Raw(`{"password":"x"}`).String())}), "body", "clear"},
	} {
		t.Run(name, func(t *testing.T) {
			client, mock := newTestClient(t)
			err := tc.call(client.BatchExports)
			requireInputError(t, err, tc.field)
			assert.ErrorContains(t, err, tc.want)
			assert.Zero(t, mock.GetTotalCallCount())
		})
	}
}

func TestActionsTakeBothBodyStyles(t *testing.T) {
	for _, answer := range []struct {
		status int
		body   string
	}{{200, ""}, {200, `{"paused":true}`}, {201, "{}"}, {202, "[]"}, {204, ""}, {200, "not JSON"}} {
		client, mock := newTestClient(t)
		s := keepSent(mock, answer.status, answer.body)
		var reply Reply
		require.NoError(t, client.BatchExports.Pause(t.Context(), testExportID, WithReply(&reply)))
		assert.Equal(t, sent{"POST", testExport + "pause/", ""}, *s)
		assert.Equal(t, answer.body, string(reply.Body))
		ticket, err := client.BatchExports.Unpause(t.Context(), testExportID, nil)
		require.NoError(t, err)
		assert.Nil(t, ticket)
		assert.Equal(t, sent{"POST", testExport + "unpause/", ""}, *s)
		readable(mock)
		_, err = client.BatchExports.Unpause(t.Context(), testExportID, &UnpauseOptions{Backfill: true, AcceptRowsByTimestamp: true})
		require.NoError(t, err)
		assert.Equal(t, sent{"POST", testExport + "unpause/", `{"backfill":true}`}, *s)
		require.NoError(t, client.BatchExports.Delete(t.Context(), testExportID))
		assert.Equal(t, sent{"DELETE", testExport, ""}, *s)
	}
}

// readable answers the reads before an unpause with a backfill.
func readable(mock *httpmock.MockTransport) {
	mock.RegisterResponder("GET", testExport, httpmock.NewStringResponder(200, oldExportJSON))
	mock.RegisterResponder("GET", testExport+"backfills/", httpmock.NewStringResponder(200, noRows))
}

// An unpause that starts a backfill must not be sent twice: the second would start another one.
func TestUnpauseIsRepeatedOnlyWithoutBackfill(t *testing.T) {
	for name, tc := range map[string]struct {
		o        *UnpauseOptions
		options  []CallOption
		requests int
		err      error
	}{
		"plain":                   {nil, nil, 2, nil},
		"with backfill":           {&UnpauseOptions{Backfill: true, AcceptRowsByTimestamp: true}, nil, 1, ErrOutcomeUnknown},
		"with a body of its own":  {nil, []CallOption{WithBody(map[string]any{"backfill": true})}, 1, ErrOutcomeUnknown},
		"backfill explicitly off": {&UnpauseOptions{}, nil, 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			client, mock := newTestClient(t)
			readable(mock)
			n := 0
			mock.RegisterNoResponder(func(*http.Request) (*http.Response, error) {
				if n++; n == 1 {
					return nil, errors.New("connection reset")
				}
				return httpmock.NewStringResponse(200, `{"paused":false}`), nil
			})
			_, err := client.BatchExports.Unpause(t.Context(), testExportID, tc.o, tc.options...)
			assert.Equal(t, tc.requests, n)
			require.ErrorIs(t, err, tc.err)
		})
	}
}

// The client refuses a request that every server refuses, fails at or stores otherwise.
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
		"Databricks by nobody": {"Destination.Integration", func(c *BatchExportRequest) {
			c.Destination = Destination{Type: destination.TypeDatabricks, Config: destination.Databricks{}}
		}},
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
	stored := s3(destination.S3{FileFormat: Set(FileFormatParquet), Compression: Set(FileCompressionZstd)})
	stored.Integration = Set(int64(1))
	for name, tt := range map[string]struct {
		field  string
		update BatchExportUpdateRequest
	}{
		"offset without its interval":  {"Interval", BatchExportUpdateRequest{OffsetHour: Set(1)}},
		"offset cleared without it":    {"Interval", BatchExportUpdateRequest{OffsetDay: Null[int]()}},
		"hour of a week, alone":        {"OffsetDay", BatchExportUpdateRequest{Interval: Set(IntervalWeek), OffsetHour: Set(1)}},
		"weekday of a day":             {"OffsetDay", BatchExportUpdateRequest{Interval: Set(IntervalDay), OffsetDay: Set(1), OffsetHour: Set(1)}},
		"format that the codec lacks":  {"Destination.Config: compression", BatchExportUpdateRequest{Destination: Set(stored.With(destination.S3{FileFormat: Set(FileFormatJSONLines)}))}},
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
		{Destination: Set(s3(destination.S3{Compression: Set(FileCompressionZstd)}))}, // the stored format may be Parquet
		{Destination: Set(s3(destination.S3{LegacyParquetExtension: Set(true)}))},
		{Destination: Set(stored.With(destination.S3{FileFormat: Set(FileFormatJSONLines), Compression: Set(FileCompressionGzip)}))},
	} {
		_, err := client.BatchExports.Update(t.Context(), testExportID, update)
		require.NoError(t, err)
	}
}

// If only newer servers refuse a destination, the error names the replacement.
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
