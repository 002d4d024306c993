package peer_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/integration"
	"github.com/hogapi/hogapi/internal/testevents"
)

const role = "arn:aws:iam::123456789012:role/exports"

// notOurs are the keys of an integration's answer that concern only Slack and GitHub.
var notOurs = []string{"files_write_requestable", "installation_shared", "installation_status"}

// kinds lists each kind with each way to authenticate, the config in the app's answer, and whether the app stores it by name.
var kinds = []struct {
	name    string
	kind    integration.Kind
	request integration.Request
	config  string
	named   bool
}{
	{
		"AWS S3 by key", integration.KindAwsS3,
		integration.AwsS3{Name: "s3 key", AWSAccessKeyID: secret("AKIAGOOD"), AWSSecretAccessKey: secret("the-secret")},
		`{"name":"s3 key","aws_account_id":"123456789012"}`, true,
	},
	{
		"AWS S3 by role", integration.KindAwsS3,
		integration.AwsS3{Name: "s3 role", AWSRoleARN: role},
		`{"name":"s3 role","aws_role_arn":"` + role + `"}`, true,
	},
	{
		"S3 compatible", integration.KindS3Compatible,
		integration.S3Compatible{Name: "r2", EndpointURL: "https://s3.example.com", AWSAccessKeyID: secret("id"), AWSSecretAccessKey: secret("the-secret")},
		`{"name":"r2","endpoint_url":"https://s3.example.com"}`, true,
	},
	{
		"Snowflake by password", integration.KindSnowflake,
		integration.Snowflake{Name: "snow", Account: "org-account", User: "u", Password: secret("the-secret")},
		`{"name":"snow","account":"org-account","user":"u","authentication_type":"password"}`, true,
	},
	{
		"Snowflake by key", integration.KindSnowflake,
		integration.Snowflake{
			Name: "snow key", Account: "org-account", User: "u", PrivateKey: secret("the-secret"), PrivateKeyPassphrase: secret("the-secret"),
		},
		`{"name":"snow key","account":"org-account","user":"u","authentication_type":"keypair"}`, true,
	},
	{
		"Postgres", integration.KindPostgres,
		integration.Postgres{Host: "db.example.com", Port: 5432, User: "u", Password: secret("the-secret")},
		`{"host":"db.example.com","port":5432,"user":"u","ssl_mode":"require","ssl_root_cert":null}`, false,
	},
	{
		"Postgres, verified", integration.KindPostgres,
		integration.Postgres{
			Host: "db2.example.com", Port: 5433, User: "u", Password: secret("the-secret"), SSLMode: integration.SSLModeVerifyFull, SSLRootCert: "PEM",
		},
		`{"host":"db2.example.com","port":5433,"user":"u","ssl_mode":"verify-full","ssl_root_cert":"PEM"}`, false,
	},
	{
		"Redshift server", integration.KindRedshift,
		integration.RedshiftServer{Host: "rs.example.com", Port: 5439, User: "u", Password: secret("the-secret")},
		`{"host":"rs.example.com","port":5439,"user":"u","ssl_mode":"require","ssl_root_cert":null}`, false,
	},
	{
		"Redshift by role", integration.KindRedshift,
		integration.Redshift{
			Name: "rs role", User: "u", AWSRoleARN: role, Groups: []string{"g1", "g2"}, AutoCreate: true,
			WorkgroupARN: "arn:aws:redshift-serverless:us-east-1:123456789012:workgroup/w",
		},
		`{"name":"rs role","aws_role_arn":"` + role + `","user":"u","groups":["g1","g2"],"auto_create":true,` +
			`"workgroup_arn":"arn:aws:redshift-serverless:us-east-1:123456789012:workgroup/w"}`, true,
	},
	{
		"Redshift by key", integration.KindRedshift,
		integration.Redshift{Name: "rs key", User: "u", AWSAccessKeyID: secret("AKIAGOOD"), AWSSecretAccessKey: secret("the-secret")},
		`{"name":"rs key","aws_account_id":"123456789012","user":"u"}`, true,
	},
	{
		"BigQuery by key file", integration.KindBigQuery,
		integration.BigQuery{
			ServiceAccountEmail: "a@p.iam.gserviceaccount.com", ProjectID: "p", PrivateKey: secret("the-secret"), PrivateKeyID: secret("the-secret"),
			TokenURI: "https://oauth2.googleapis.com/token",
		},
		`{"project_id":"p","service_account_email":"a@p.iam.gserviceaccount.com"}`, false,
	},
	{
		"BigQuery impersonated", integration.KindBigQuery,
		integration.BigQuery{ServiceAccountEmail: "a@p.iam.gserviceaccount.com", ProjectID: "p"},
		`{"project_id":"p","service_account_email":"a@p.iam.gserviceaccount.com"}`, false,
	},
	{
		"Databricks", integration.KindDatabricks,
		integration.Databricks{ServerHostname: "dbc.example.com", ClientID: secret("the-secret"), ClientSecret: secret("the-secret")},
		`{"server_hostname":"dbc.example.com"}`, false,
	},
	{
		"Azure Blob", integration.KindAzureBlob,
		integration.AzureBlob{
			ConnectionString: secret("DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=the-secret==;EndpointSuffix=core.windows.net"),
		},
		`{}`, false,
	},
}

func TestIntegrations(t *testing.T) {
	s := start(t)
	c := s.client(t, admin)
	m := s.client(t, member)
	ctx := t.Context()

	made := map[integration.Kind]int{}
	ids := map[int64]bool{}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			i := must(m.Integrations.Create(ctx, k.request))(t)
			m.read(t, i, notOurs...)
			require.Equal(t, k.kind, i.Kind)
			require.JSONEq(t, k.config, string(i.Config))
			require.NotContains(t, string(m.wire.answer), "the-secret")
			require.False(t, ids[i.ID])
			ids[i.ID] = true
			made[k.kind]++

			got := must(c.Integrations.Get(ctx, i.ID))(t)
			require.Equal(t, i.Config, got.Config)

			again, err := c.Integrations.Create(ctx, k.request)
			if k.named {
				refusal(t, err, hogapi.ErrInvalid, 400, "already exists")
				return
			}
			require.NoError(t, err)
			require.Equal(t, i.ID, again.ID, "overwritten")
			refused(m.Integrations.Create(ctx, k.request))(t, hogapi.ErrForbidden, 403, "Editing an existing integration requires project admin access.")
		})
	}

	page := must(c.Integrations.List(ctx, &hogapi.IntegrationListOptions{Kind: integration.KindRedshift}))(t)
	c.read(t, page, notOurs...)
	require.Len(t, page.Results, made[integration.KindRedshift])
	last := int64(0)
	fours := &hogapi.IntegrationListOptions{ListOptions: hogapi.ListOptions{Limit: 4}}
	for _, i := range testevents.Walked(t, c.Integrations.All(ctx, fours)) {
		require.Greater(t, i.ID, last, "oldest first")
		last = i.ID
		delete(ids, i.ID)
	}
	require.Empty(t, ids, "all of them were listed")
	pages := c.Integrations.Pages(ctx, &hogapi.IntegrationListOptions{ListOptions: hogapi.ListOptions{Limit: 13}})
	require.Len(t, testevents.Walked(t, pages), 2)

	refusal(t, m.Integrations.Delete(ctx, last), hogapi.ErrForbidden, 403, "You don't have sufficient permissions in the project.")
	require.NoError(t, c.Integrations.Delete(ctx, last))
	refusal(t, c.Integrations.Delete(ctx, last), hogapi.ErrNotFound, 404, "Not found.")
	refused(c.ForProject(plain).Integrations.Get(ctx, 1))(t, hogapi.ErrNotFound, 404, "Not found.")
	refused(s.client(t, writer).Integrations.List(ctx, nil))(t, hogapi.ErrForbidden, 403, "integration:read")
	refused(s.client(t, reader).Integrations.Create(ctx, kinds[0].request))(t, hogapi.ErrForbidden, 403, "integration:write")
	for _, method := range []string{http.MethodPatch, http.MethodPut} {
		refusal(t, c.Do(ctx, hogapi.Request{Method: method, Path: "/integrations/1/", Body: json.RawMessage(`{}`)}, nil), hogapi.ErrUnsupported, 405, "not allowed")
	}
}

func TestIntegrationsThatAreRefused(t *testing.T) {
	_, c, ctx := begin(t, admin)

	file := integration.BigQuery{
		ServiceAccountEmail: "a@p.iam.gserviceaccount.com", ProjectID: "p", PrivateKey: secret("the-secret"), PrivateKeyID: secret("the-secret"),
		TokenURI: "https://attacker.example.com/token",
	}
	for detail, request := range map[string]integration.Request{
		"AWS credentials are not valid":                                   integration.AwsS3{Name: "n", AWSAccessKeyID: secret("AKIAWRONG"), AWSSecretAccessKey: secret("the-secret")},
		"AWS role ARN is not valid":                                       integration.AwsS3{Name: "n", AWSRoleARN: "arn:aws:iam::1:user/u"},
		"Cannot create AWS integration: Invalid role":                     integration.AwsS3{Name: "n", AWSRoleARN: role + "/of-another-organization"},
		"Invalid endpoint URL":                                            integration.S3Compatible{Name: "n", EndpointURL: "http://10.0.0.1", AWSAccessKeyID: secret("id"), AWSSecretAccessKey: secret("the-secret")},
		"invalid account identifier":                                      integration.Snowflake{Name: "n", Account: "https://a/b", User: "u", Password: secret("the-secret")},
		"Could not extract AccountName from connection string":            integration.AzureBlob{ConnectionString: secret("AccountKey=the-secret")},
		"Cannot create Google Cloud service account integration: Invalid": integration.BigQuery{ServiceAccountEmail: "of-another-organization@x", ProjectID: "p"},
		"Invalid token URI":                                               file,
	} {
		_, err := c.Integrations.Create(ctx, request)
		refusal(t, err, hogapi.ErrInvalid, 400, detail)
		assert.NotContains(t, err.Error(), "the-secret")
	}

	page := must(c.Integrations.List(ctx, nil))(t)
	require.Empty(t, page.Results)
}
