package peer_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/integration"
	"github.com/hogapi/hogapi/internal/testevents"
)

func str(s string) hogapi.Opt[string] { return hogapi.Set(s) }

// oneDestination is a destination with all its keys, a change for an update, and its integration.
type oneDestination struct {
	name   string
	kind   destination.Type
	needs  integration.Request
	config destination.Config
	change destination.Config
}

var destinations = []oneDestination{
	{
		"AWS S3", destination.TypeAwsS3, kinds[0].request,
		destination.S3{
			BucketName: str("b"), Region: str("us-east-1"), Prefix: str("p"), Compression: str("zstd"), FileFormat: str("Parquet"),
			MaxFileSizeMB: hogapi.Null[int](), Encryption: str("aws:kms"), KMSKeyID: str("k"), IncludeEvents: hogapi.Set([]string{"a"}),
		},
		destination.S3{Prefix: str("q"), FileFormat: str("JSONLines"), Compression: str("gzip"), MaxFileSizeMB: hogapi.Set(100)},
	},
	{
		"S3 compatible", destination.TypeS3Compatible, kinds[2].request,
		destination.S3{
			BucketName: str("b"), Region: str("auto"), Prefix: str("p"), UseVirtualStyleAddressing: hogapi.Set(true),
			ExcludeEvents: hogapi.Set([]string{"x"}),
		},
		destination.S3{Compression: str("brotli")},
	},
	{
		"Snowflake", destination.TypeSnowflake, kinds[3].request,
		destination.Snowflake{Database: str("d"), Warehouse: str("w"), Schema: str("s"), TableName: str("t"), Role: str("r")},
		destination.Snowflake{Role: hogapi.Null[string]()},
	},
	{
		"Postgres", destination.TypePostgres, kinds[5].request,
		destination.Postgres{Database: str("d"), Schema: str("s"), TableName: str("t"), HasSelfSignedCert: hogapi.Set(false)},
		destination.Postgres{TableName: str("u")},
	},
	{
		"Redshift server", destination.TypeRedshift, kinds[7].request,
		destination.Redshift{Database: str("d"), Schema: str("s"), TableName: str("t"), PropertiesDataType: str("super"), Mode: str("INSERT")},
		destination.Redshift{TableName: str("u")},
	},
	{
		"Redshift by role", destination.TypeRedshift, kinds[8].request,
		destination.Redshift{Database: str("d"), Host: str("rs.example.com"), Port: hogapi.Set(5439)},
		destination.Redshift{Host: str("rs2.example.com")},
	},
	{
		"BigQuery", destination.TypeBigQuery, kinds[10].request,
		destination.BigQuery{DatasetID: str("d"), TableID: str("t"), UseJSONType: hogapi.Set(true)},
		destination.BigQuery{TableID: str("u")},
	},
	{
		"Databricks", destination.TypeDatabricks, kinds[12].request,
		destination.Databricks{
			HTTPPath: str("/sql"), Catalog: str("c"), Schema: str("s"), TableName: str("t"), UseVariantType: hogapi.Set(true),
			UseAutomaticSchemaEvolution: hogapi.Set(false),
		},
		destination.Databricks{Catalog: str("c2")},
	},
	{
		"Azure Blob", destination.TypeAzureBlob, kinds[13].request,
		destination.AzureBlob{ContainerName: str("c"), Prefix: str("p"), FileFormat: str("Parquet"), Compression: str("lz4"), MaxFileSizeMB: hogapi.Set(5)},
		destination.AzureBlob{Prefix: str("")},
	},
	{
		"HTTP", destination.TypeHTTP, nil,
		destination.HTTP{URL: str("https://us.i.posthog.com/batch/"), Token: hogapi.Set(secret("phc_the-secret"))},
		destination.HTTP{Token: hogapi.Set(secret("phc_the-secret-2"))},
	},
}

// made creates the destination's integration and returns the destination with it.
func (d oneDestination) made(t *testing.T, c client) hogapi.Destination {
	t.Helper()
	out := hogapi.Destination{Type: d.kind, Config: d.config}
	if d.needs != nil {
		i := must(c.Integrations.Create(t.Context(), d.needs))(t)
		out.Integration = hogapi.Set(i.ID)
	}
	return out
}

func export(d hogapi.Destination) hogapi.BatchExportRequest {
	return hogapi.BatchExportRequest{Name: "an export", Model: hogapi.ModelEvents, Destination: d, Interval: hogapi.IntervalHour}
}

func TestBatchExportsToEachDestination(t *testing.T) {
	_, c, ctx := begin(t, admin)
	for _, d := range destinations {
		t.Run(d.name, func(t *testing.T) {
			target := d.made(t, c)
			e := must(c.BatchExports.Create(ctx, export(target)))(t)
			c.read(t, e)
			require.NotContains(t, string(c.wire.answer), "the-secret")

			changed := must(c.BatchExports.Update(ctx, e.ID, hogapi.BatchExportUpdateRequest{
				Destination: hogapi.Set(e.Destination.With(d.change)),
			}))(t)
			c.read(t, changed)
			require.Equal(t, target.Integration.Or(0), changed.Destination.Integration.Or(0), "the integration is kept")

			same := must(c.BatchExports.Update(ctx, e.ID, hogapi.BatchExportUpdateRequest{Name: str("renamed")}))(t)
			require.Equal(t, changed.Destination.Raw(), same.Destination.Raw())
			if d.needs == nil {
				return
			}

			if d.kind != destination.TypeDatabricks && d.kind != destination.TypeAzureBlob {
				bare := target
				bare.Integration = hogapi.Opt[int64]{}
				refused(c.BatchExports.Create(ctx, export(bare)))(t, hogapi.ErrInvalid, 400, "Integration is required for "+string(d.kind)+" batch exports")
			}
			wrong := target
			wrong.Integration = hogapi.Set(int64(4711))
			refused(c.BatchExports.Create(ctx, export(wrong)))(t, hogapi.ErrInvalid, 400, "object does not exist")

			refusal(t, c.Integrations.Delete(ctx, target.Integration.Or(0)), hogapi.ErrInvalid, 400, "This integration is used by batch exports: renamed")
			require.NoError(t, c.BatchExports.Delete(ctx, e.ID))
			require.NoError(t, c.Integrations.Delete(ctx, target.Integration.Or(0)))
		})
	}
}

func TestBatchExportIntegrations(t *testing.T) {
	_, c, ctx := begin(t, admin)
	s3 := destinations[0].made(t, c)
	postgres := destinations[3].made(t, c)
	redshift := destinations[4].made(t, c)

	crossed := s3
	crossed.Integration = postgres.Integration
	refused(c.BatchExports.Create(ctx, export(crossed)))(t, hogapi.ErrInvalid, 400, "is not an AWS S3 integration (got kind='postgresql')")
	crossed = postgres
	crossed.Integration = s3.Integration
	refused(c.BatchExports.Create(ctx, export(crossed)))(t, hogapi.ErrInvalid, 400, "Integration is not a PostgreSQL integration.")

	e := must(c.BatchExports.Create(ctx, export(s3)))(t)
	other := must(c.Integrations.Create(ctx, kinds[1].request))(t)
	swap := e.Destination.With(destination.S3{})
	swap.Integration = hogapi.Set(other.ID)
	e = must(c.BatchExports.Update(ctx, e.ID, hogapi.BatchExportUpdateRequest{Destination: hogapi.Set(swap)}))(t)
	require.Equal(t, other.ID, e.Destination.Integration.Or(0))
	require.NoError(t, c.Integrations.Delete(ctx, s3.Integration.Or(0)), "nothing uses it any more")
	refused(c.BatchExports.Update(ctx, e.ID, hogapi.BatchExportUpdateRequest{Destination: hogapi.Set(postgres)}))(t, hogapi.ErrInvalid, 400, "Cannot change destination type from 'AwsS3' to 'Postgres'")
	swap.Integration = hogapi.Null[int64]()
	refused(c.BatchExports.Update(ctx, e.ID, hogapi.BatchExportUpdateRequest{Destination: hogapi.Set(swap)}))(t, hogapi.ErrInvalid, 400, "Integration is required for AwsS3 batch exports")

	// If a Redshift destination uses an integration, an update must send it again. With does that.
	r := must(c.BatchExports.Create(ctx, export(redshift)))(t)
	bare := hogapi.Destination{Type: destination.TypeRedshift, Config: destination.Redshift{TableName: str("x")}}
	refused(c.BatchExports.Update(ctx, r.ID, hogapi.BatchExportUpdateRequest{Destination: hogapi.Set(bare)}))(t, hogapi.ErrInvalid, 400, "Cannot remove the integration from a Redshift batch export")

	role := destinations[5].made(t, c)
	role.Config = destination.Redshift{Database: str("d")}
	refused(c.BatchExports.Create(ctx, export(role)))(t, hogapi.ErrInvalid, 400, "A 'host' is required when using an AWS Redshift integration")

	// Only Postgres accepts null, which removes the integration.
	p := must(c.BatchExports.Create(ctx, export(postgres)))(t)
	gone := p.Destination.With(destination.Postgres{})
	gone.Integration = hogapi.Null[int64]()
	p = must(c.BatchExports.Update(ctx, p.ID, hogapi.BatchExportUpdateRequest{Destination: hogapi.Set(gone)}))(t)
	c.read(t, p)
	require.True(t, p.Destination.Integration.IsNull())

	// An old export with credentials in its config can be changed without them.
	for _, old := range testevents.Walked(t, c.BatchExports.All(ctx, nil)) {
		if old.Name != "old inline Postgres" {
			continue
		}
		to := old.Destination.With(destination.Postgres{Port: hogapi.Set(5433)})
		changed := must(c.BatchExports.Update(ctx, old.ID, hogapi.BatchExportUpdateRequest{Destination: hogapi.Set(to)}))(t)
		c.read(t, changed)
		require.Equal(t, 5433, changed.Destination.Config.(destination.Postgres).Port.Or(0))
	}
}

func TestRedshiftCopy(t *testing.T) {
	_, c, ctx := begin(t, admin)
	bucket := must(c.Integrations.Create(ctx, kinds[0].request))(t)
	target := destinations[4].made(t, c)
	key := destination.AWSCredentials{
		AWSAccessKeyID: hogapi.Set(secret("AKIA")), AWSSecretAccessKey: hogapi.Set(secret("the-secret")),
	}
	for name, access := range map[string]destination.RedshiftCopyInputs{
		"integrations": {
			Authorization:     hogapi.Set(destination.RedshiftAuthorization{Integration: bucket.ID}),
			BucketCredentials: hogapi.Set(destination.RedshiftBucketAccess{Integration: bucket.ID}),
		},
		"role and key": {
			Authorization:     hogapi.Set(destination.RedshiftAuthorization{Role: role}),
			BucketCredentials: hogapi.Set(destination.RedshiftBucketAccess{Credentials: key}),
		},
		"keys": {
			Authorization:     hogapi.Set(destination.RedshiftAuthorization{Credentials: key}),
			BucketCredentials: hogapi.Set(destination.RedshiftBucketAccess{Credentials: key}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			access.S3Bucket, access.RegionName, access.S3KeyPrefix = str("b"), str("us-east-1"), str("/")
			target.Config = destination.Redshift{Database: str("d"), Mode: str("COPY"), CopyInputs: hogapi.Set(access)}
			e := must(c.BatchExports.Create(ctx, export(target)))(t)
			c.read(t, e)
			require.NotContains(t, string(c.wire.answer), "the-secret")
			changed := must(c.BatchExports.Update(ctx, e.ID, hogapi.BatchExportUpdateRequest{
				Destination: hogapi.Set(e.Destination.With(destination.Redshift{TableName: str("t2")})),
			}))(t)
			c.read(t, changed)
		})
	}
	target.Config = destination.Redshift{Database: str("d"), Mode: str("COPY"), CopyInputs: hogapi.Set(destination.RedshiftCopyInputs{
		S3Bucket: str("b"), RegionName: str("r"), S3KeyPrefix: str("/"),
		Authorization:     hogapi.Set(destination.RedshiftAuthorization{Role: role}),
		BucketCredentials: hogapi.Set(destination.RedshiftBucketAccess{Integration: target.Integration.Or(0)}),
	})}
	refused(c.BatchExports.Create(ctx, export(target)))(t, hogapi.ErrInvalid, 400, "'bucket_credentials' does not reference an AWS S3 integration of this project.")
}

func TestBatchExportFields(t *testing.T) {
	s, c, ctx := begin(t, admin)
	target := destinations[0].made(t, c)
	at := time.Date(2026, 2, 1, 0, 0, 0, 0, time.FixedZone("", 7200))

	full := export(target)
	day, hour := 3, 5
	full.Interval, full.OffsetDay, full.OffsetHour, full.Timezone = hogapi.IntervalWeek, &day, &hour, "Europe/Berlin"
	full.Paused, full.StartAt, full.EndAt = true, at, at.AddDate(0, 1, 0)
	full.Filters = []byte(`[{"key":"$browser","operator":"exact","type":"event","value":["Chrome"]}]`)
	e := must(c.BatchExports.Create(ctx, full))(t)
	c.read(t, e)
	require.True(t, e.StartAt.Equal(at))
	require.Equal(t, 3, *e.OffsetDay)

	e = must(c.BatchExports.Update(ctx, e.ID, hogapi.BatchExportUpdateRequest{
		Interval: hogapi.Set(hogapi.IntervalDay), OffsetHour: hogapi.Set(7), Timezone: hogapi.Null[string](),
		EndAt: hogapi.Null[time.Time](), Filters: hogapi.Null[json.RawMessage](), Paused: hogapi.Set(false),
	}))(t)
	c.read(t, e)
	require.Nil(t, e.OffsetDay)
	require.Equal(t, 7, *e.OffsetHour)
	require.Equal(t, "UTC", e.Timezone)

	query := export(target)
	query.Model, query.HogQLQuery = hogapi.ModelHogQL, "select event as e from events where timestamp < {data_interval_end}"
	query.HogQLModifiers, query.PrimaryKey, query.VersionKey = []byte(`{"useMaterializedViews":true}`), []string{"e"}, []string{"e"}
	query.IncrementalMode = hogapi.IncrementalModeMerge
	h := must(c.BatchExports.Create(ctx, query))(t)
	c.read(t, h)
	h = must(c.BatchExports.Update(ctx, h.ID, hogapi.BatchExportUpdateRequest{HogQLQuery: str("select 1 as one")}))(t)
	require.Equal(t, "select 1 as one", *h.HogQLQuery)
	refused(c.BatchExports.Update(ctx, h.ID, hogapi.BatchExportUpdateRequest{Model: hogapi.Set(hogapi.ModelEvents)}))(t, hogapi.ErrInvalid, 400, "Changing models is not supported.")

	p := c.ForProject(plain)
	for name, change := range map[string]func(*hogapi.BatchExportRequest){
		"Higher frequency batch exports are not enabled": func(e *hogapi.BatchExportRequest) { e.Interval = hogapi.IntervalEvery5Minutes },
		"HogQL batch exports are not enabled":            func(e *hogapi.BatchExportRequest) { e.Model, e.HogQLQuery = hogapi.ModelHogQL, "select 1 as one" },
	} {
		wrong := export(target)
		change(&wrong)
		refused(p.BatchExports.Create(ctx, wrong))(t, hogapi.ErrForbidden, 403, name)
	}

	stored := target
	stored.Config = destination.S3{BucketName: str("b"), Region: str("r"), Prefix: str("p"), FileFormat: str("Parquet"), Compression: str("zstd")}
	e = must(c.BatchExports.Create(ctx, export(stored)))(t)
	_, err := c.BatchExports.Update(ctx, e.ID, hogapi.BatchExportUpdateRequest{
		Destination: hogapi.Set(hogapi.Destination{Type: stored.Type, Integration: stored.Integration, Config: destination.S3{FileFormat: str("JSONLines")}}),
	})
	refusal(t, err, hogapi.ErrInvalid, 400, "Compression zstd is not supported for file format JSONLines.")
	stored.Config = destination.S3{BucketName: str("b"), Region: str("r"), Prefix: str("")}
	refused(c.BatchExports.Create(ctx, export(stored)))(t, hogapi.ErrInvalid, 400, "The following inputs are empty: ['prefix']")

	// The app notes these too: no client of this age should send them.
	stored.Config = destination.S3{
		BucketName: str("b"), Region: str("r"), Prefix: str("p"),
		AWSAccessKeyID: hogapi.Set(secret("AKIA")), AWSSecretAccessKey: hogapi.Set(secret("the-secret")),
	}
	_, err = c.BatchExports.Create(ctx, export(stored))
	refusal(t, err, hogapi.ErrInvalid, 400, "Configuration has unknown field/s: 'aws_access_key_id'")
	require.ErrorContains(t, err, "integration")
	require.NotContains(t, err.Error(), "the-secret")
	stored.Type = destination.TypeS3
	_, err = c.BatchExports.Create(ctx, export(stored))
	refusal(t, err, hogapi.ErrInvalid, 400, `"S3" is not a valid choice.`)
	require.ErrorContains(t, err, "AwsS3")
	require.Len(t, s.strange(t), 2)
}

func TestDestinationTests(t *testing.T) {
	s, c, ctx := begin(t, admin)
	steps := map[string]int{"AWS S3": 2, "S3 compatible": 1, "Snowflake": 4, "BigQuery": 5, "Databricks": 5, "Azure Blob": 1}
	for _, d := range destinations {
		t.Run(d.name, func(t *testing.T) {
			target := d.made(t, c)
			test, err := c.BatchExports.TestDestination(ctx, export(target))
			if steps[d.name] == 0 {
				require.ErrorIs(t, err, hogapi.ErrNoDestinationTest)
				return
			}
			require.NoError(t, err)
			require.Len(t, test.Steps, steps[d.name])
			require.True(t, test.Passed())
			require.Nil(t, test.Failed())
			c.read(t, test.Steps[len(test.Steps)-1])
		})
	}

	d := destinations[2]
	d.needs = integration.Snowflake{Name: "another", Account: "a", User: "u", Password: secret("the-secret")}
	target := d.made(t, c)
	config := target.Config.(destination.Snowflake)
	config.Database = str("missing")
	target.Config = config
	test, err := c.BatchExports.TestDestination(ctx, export(target))
	require.NoError(t, err, "a step that fails is a result")
	require.False(t, test.Passed())
	require.Equal(t, "Check database", test.Failed().Name)
	require.Contains(t, *test.Failed().Result.Message, "does not exist")
	require.Nil(t, test.Steps[3].Result, "it stops there")

	target.Integration = hogapi.Set(int64(4711))
	refused(c.BatchExports.TestDestination(ctx, export(target)))(t, hogapi.ErrInvalid, 400, "object does not exist")
	refused(s.client(t, reader).BatchExports.TestDestination(ctx, export(target)))(t, hogapi.ErrForbidden, 403, "batch_export:write")
}
