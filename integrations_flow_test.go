package hogapi_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/integration"
)

// newDestinations is one destination for each kind of integration, with what makes the integration.
var newDestinations = map[integration.Kind]struct {
	request integration.Request
	again   error // of the same request
	d       hogapi.Destination
}{
	integration.KindAwsS3: {
		integration.AwsS3{Name: "n", AWSAccessKeyID: hogapi.NewSecret("i"), AWSSecretAccessKey: hogapi.NewSecret("k")}, hogapi.ErrInvalid,
		hogapi.Destination{Type: destination.TypeAwsS3, Config: bucket},
	},
	integration.KindS3Compatible: {
		integration.S3Compatible{Name: "n", EndpointURL: "https://e", AWSAccessKeyID: hogapi.NewSecret("i"), AWSSecretAccessKey: hogapi.NewSecret("k")}, hogapi.ErrInvalid,
		hogapi.Destination{Type: destination.TypeS3Compatible, Config: bucket},
	},
	integration.KindSnowflake: {
		integration.Snowflake{Name: "n", Account: "a", User: "u", Password: hogapi.NewSecret("p")}, hogapi.ErrInvalid,
		hogapi.Destination{Type: destination.TypeSnowflake, Config: destination.Snowflake{Database: hogapi.Set("d"), Warehouse: hogapi.Set("w"), Schema: hogapi.Set("s")}},
	},
	integration.KindPostgres: {
		integration.Postgres{Host: "h", Port: 5432, User: "u", Password: hogapi.NewSecret("p")}, nil,
		hogapi.Destination{Type: destination.TypePostgres, Config: destination.Postgres{Database: hogapi.Set("d")}},
	},
	integration.KindRedshift: {
		integration.RedshiftServer{Host: "h", Port: 5439, User: "u", Password: hogapi.NewSecret("p")}, nil,
		hogapi.Destination{Type: destination.TypeRedshift, Config: destination.Redshift{Database: hogapi.Set("d")}},
	},
	integration.KindBigQuery: {
		integration.BigQuery{ServiceAccountEmail: "a@b", ProjectID: "p"}, nil,
		hogapi.Destination{Type: destination.TypeBigQuery, Config: destination.BigQuery{DatasetID: hogapi.Set("d")}},
	},
	integration.KindDatabricks: {
		integration.Databricks{ServerHostname: "h", ClientID: hogapi.NewSecret("c"), ClientSecret: hogapi.NewSecret("s")}, nil,
		hogapi.Destination{Type: destination.TypeDatabricks, Config: destination.Databricks{
			HTTPPath: hogapi.Set("/p"), Catalog: hogapi.Set("c"), Schema: hogapi.Set("s"), TableName: hogapi.Set("t"),
		}},
	},
	integration.KindAzureBlob: {
		integration.AzureBlob{ConnectionString: hogapi.NewSecret("AccountName=a")}, nil,
		hogapi.Destination{Type: destination.TypeAzureBlob, Config: destination.AzureBlob{ContainerName: hogapi.Set("c")}},
	},
}

var bucket = destination.S3{BucketName: hogapi.Set("b"), Region: hogapi.Set("r"), Prefix: hogapi.Set("p/")}

func hourly(d hogapi.Destination) hogapi.BatchExportRequest {
	return hogapi.BatchExportRequest{Name: "hourly", Model: hogapi.ModelEvents, Interval: hogapi.IntervalHour, Destination: d}
}

// On the newest service each type needs an integration of its kind: from there to an export, its changes and its end.
func TestExportWithAnIntegrationOfEachKind(t *testing.T) {
	for kind, tt := range newDestinations {
		t.Run(string(kind), func(t *testing.T) {
			server := hogapitest.New()
			client, ctx := server.Client(t), t.Context()
			if kind != integration.KindDatabricks && kind != integration.KindAzureBlob { // refused before they are sent
				_, err := client.BatchExports.Create(ctx, hourly(tt.d))
				require.ErrorIs(t, err, hogapi.ErrInvalid)
				require.ErrorContains(t, err, "Integration is required for "+string(tt.d.Type)+" batch exports")
				require.ErrorContains(t, err, "Integrations.Create")
			}
			made, err := client.Integrations.Create(ctx, tt.request)
			require.NoError(t, err)
			assert.Equal(t, kind, made.Kind)
			again, err := client.Integrations.Create(ctx, tt.request)
			require.ErrorIs(t, err, tt.again)
			if tt.again == nil {
				assert.Equal(t, made.ID, again.ID, "it is overwritten")
			}

			d := tt.d
			other := defaultProject(server).AddIntegration(hogapitest.Integration{Kind: "slack"})
			d.Integration = hogapi.Set(int64(other))
			_, err = client.BatchExports.Create(ctx, hourly(d))
			require.ErrorContains(t, err, "Integration ")
			require.ErrorIs(t, err, hogapi.ErrInvalid)
			d.Integration = hogapi.Set(int64(99))
			_, err = client.BatchExports.Create(ctx, hourly(d))
			require.ErrorContains(t, err, "does not exist")

			d.Integration = hogapi.Set(made.ID)
			export, err := client.BatchExports.Create(ctx, hourly(d))
			require.NoError(t, err)
			id, ok := export.Destination.Integration.Get()
			assert.True(t, ok)
			assert.Equal(t, made.ID, id)
			require.ErrorContains(t, client.Integrations.Delete(ctx, made.ID), "used by batch exports: hourly")

			export, err = client.BatchExports.Update(ctx, export.ID, hogapi.BatchExportUpdateRequest{Destination: hogapi.Set(export.Destination.With(tt.d.Config))})
			require.NoError(t, err, "With sends the integration again")
			assert.Equal(t, made.ID, export.Destination.Integration.Or(0))

			require.NoError(t, client.BatchExports.Delete(ctx, export.ID))
			require.NoError(t, client.Integrations.Delete(ctx, made.ID))
			_, err = client.Integrations.Get(ctx, made.ID)
			require.ErrorIs(t, err, hogapi.ErrNotFound)
			require.NotErrorIs(t, err, hogapi.ErrUnsupported)
		})
	}
}

func TestIntegrationsAreListedByKind(t *testing.T) {
	server := hogapitest.New(hogapitest.WithMember())
	client, ctx := server.Client(t), t.Context()
	for i, kind := range []integration.Kind{"slack", integration.KindAwsS3, integration.KindAwsS3, integration.KindAwsS3} {
		defaultProject(server).AddIntegration(hogapitest.Integration{Kind: kind, Created: time.Unix(int64(100-i), 0), Config: map[string]any{
			"name": "n", "aws_secret_access_key": "s",
		}})
	}
	var ids []int64
	for x, err := range client.Integrations.All(ctx, &hogapi.IntegrationListOptions{Kind: integration.KindAwsS3, ListOptions: hogapi.ListOptions{Limit: 2}}) {
		require.NoError(t, err)
		assert.NotContains(t, string(x.Config), "secret")
		ids = append(ids, x.ID)
	}
	assert.Equal(t, []int64{4, 3, 2}, ids, "oldest first")
	page, err := client.Integrations.List(ctx, nil)
	require.NoError(t, err)
	assert.Equal(t, 4, page.Count)
	require.ErrorIs(t, client.Integrations.Delete(ctx, 2), hogapi.ErrForbidden)
}

func TestIntegrationsOfAnOldServer(t *testing.T) {
	server := hogapitest.New(hogapitest.WithOldService())
	client := server.Client(t)
	_, err := client.Integrations.Create(t.Context(), integration.AwsS3{Name: "n", AWSRoleARN: "r"})
	require.ErrorIs(t, err, hogapi.ErrUnsupported)
	require.ErrorContains(t, err, "the credentials in the config of the destination")
	_, err = client.BatchExports.Create(t.Context(), hourly(hogapi.Destination{Type: destination.TypeS3, Config: destination.S3{
		BucketName: hogapi.Set("b"), Region: hogapi.Set("r"), Prefix: hogapi.Set("p/"), AWSAccessKeyID: secret("i"), AWSSecretAccessKey: secret("k"),
	}}))
	require.NoError(t, err)
}
