package peer_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

const role = "arn:aws:iam::123456789012:role/exports"

// The keys of an integration's answer that are about Slack and GitHub only.
var notOurs = []string{"files_write_requestable", "installation_shared", "installation_status"}

// kinds is each kind with each way in, what the app answers with, and whether it is stored by name.
var kinds = []struct {
	name    string
	kind    hogapi.IntegrationKind
	request hogapi.IntegrationRequest
	config  string
	named   bool
}{
	{
		"AWS S3 by key", hogapi.IntegrationKindAwsS3,
		hogapi.AwsS3IntegrationRequest{Name: "s3 key", AWSAccessKeyID: secret("AKIAGOOD"), AWSSecretAccessKey: secret("the-secret")},
		`{"name":"s3 key","aws_account_id":"123456789012"}`, true,
	},
	{
		"AWS S3 by role", hogapi.IntegrationKindAwsS3,
		hogapi.AwsS3IntegrationRequest{Name: "s3 role", AWSRoleARN: role},
		`{"name":"s3 role","aws_role_arn":"` + role + `"}`, true,
	},
	{
		"S3 compatible", hogapi.IntegrationKindS3Compatible,
		hogapi.S3CompatibleIntegrationRequest{Name: "r2", EndpointURL: "https://s3.example.com", AWSAccessKeyID: secret("id"), AWSSecretAccessKey: secret("the-secret")},
		`{"name":"r2","endpoint_url":"https://s3.example.com"}`, true,
	},
	{
		"Snowflake by password", hogapi.IntegrationKindSnowflake,
		hogapi.SnowflakeIntegrationRequest{Name: "snow", Account: "org-account", User: "u", Password: secret("the-secret")},
		`{"name":"snow","account":"org-account","user":"u","authentication_type":"password"}`, true,
	},
	{
		"Snowflake by key", hogapi.IntegrationKindSnowflake,
		hogapi.SnowflakeIntegrationRequest{
			Name: "snow key", Account: "org-account", User: "u", PrivateKey: secret("the-secret"), PrivateKeyPassphrase: secret("the-secret"),
		},
		`{"name":"snow key","account":"org-account","user":"u","authentication_type":"keypair"}`, true,
	},
	{
		"Postgres", hogapi.IntegrationKindPostgres,
		hogapi.PostgresIntegrationRequest{Host: "db.example.com", Port: 5432, User: "u", Password: secret("the-secret")},
		`{"host":"db.example.com","port":5432,"user":"u","ssl_mode":"require","ssl_root_cert":null}`, false,
	},
	{
		"Postgres, verified", hogapi.IntegrationKindPostgres,
		hogapi.PostgresIntegrationRequest{
			Host: "db2.example.com", Port: 5433, User: "u", Password: secret("the-secret"), SSLMode: hogapi.SSLModeVerifyFull, SSLRootCert: "PEM",
		},
		`{"host":"db2.example.com","port":5433,"user":"u","ssl_mode":"verify-full","ssl_root_cert":"PEM"}`, false,
	},
	{
		"Redshift server", hogapi.IntegrationKindRedshift,
		hogapi.RedshiftServerIntegrationRequest{Host: "rs.example.com", Port: 5439, User: "u", Password: secret("the-secret")},
		`{"host":"rs.example.com","port":5439,"user":"u","ssl_mode":"require","ssl_root_cert":null}`, false,
	},
	{
		"Redshift by role", hogapi.IntegrationKindRedshift,
		hogapi.RedshiftIntegrationRequest{
			Name: "rs role", User: "u", AWSRoleARN: role, Groups: []string{"g1", "g2"}, AutoCreate: true,
			WorkgroupARN: "arn:aws:redshift-serverless:us-east-1:123456789012:workgroup/w",
		},
		`{"name":"rs role","aws_role_arn":"` + role + `","user":"u","groups":["g1","g2"],"auto_create":true,` +
			`"workgroup_arn":"arn:aws:redshift-serverless:us-east-1:123456789012:workgroup/w"}`, true,
	},
	{
		"Redshift by key", hogapi.IntegrationKindRedshift,
		hogapi.RedshiftIntegrationRequest{Name: "rs key", User: "u", AWSAccessKeyID: secret("AKIAGOOD"), AWSSecretAccessKey: secret("the-secret")},
		`{"name":"rs key","aws_account_id":"123456789012","user":"u"}`, true,
	},
	{
		"BigQuery by key file", hogapi.IntegrationKindBigQuery,
		hogapi.BigQueryIntegrationRequest{
			ServiceAccountEmail: "a@p.iam.gserviceaccount.com", ProjectID: "p", PrivateKey: secret("the-secret"), PrivateKeyID: secret("the-secret"),
			TokenURI: "https://oauth2.googleapis.com/token",
		},
		`{"project_id":"p","service_account_email":"a@p.iam.gserviceaccount.com"}`, false,
	},
	{
		"BigQuery impersonated", hogapi.IntegrationKindBigQuery,
		hogapi.BigQueryIntegrationRequest{ServiceAccountEmail: "a@p.iam.gserviceaccount.com", ProjectID: "p"},
		`{"project_id":"p","service_account_email":"a@p.iam.gserviceaccount.com"}`, false,
	},
	{
		"Databricks", hogapi.IntegrationKindDatabricks,
		hogapi.DatabricksIntegrationRequest{ServerHostname: "dbc.example.com", ClientID: secret("the-secret"), ClientSecret: secret("the-secret")},
		`{"server_hostname":"dbc.example.com"}`, false,
	},
	{
		"Azure Blob", hogapi.IntegrationKindAzureBlob,
		hogapi.AzureBlobIntegrationRequest{
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

	made := map[hogapi.IntegrationKind]int{}
	ids := map[int64]bool{}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			i, err := m.Integrations.Create(ctx, k.request)
			require.NoError(t, err)
			m.read(t, i, notOurs...)
			require.Equal(t, k.kind, i.Kind)
			require.JSONEq(t, k.config, string(i.Config))
			require.NotContains(t, string(m.wire.answer), "the-secret")
			require.False(t, ids[i.ID])
			ids[i.ID] = true
			made[k.kind]++

			got, err := c.Integrations.Get(ctx, i.ID)
			require.NoError(t, err)
			require.Equal(t, i.Config, got.Config)

			again, err := c.Integrations.Create(ctx, k.request)
			if k.named {
				refusal(t, err, hogapi.ErrInvalid, 400, "already exists")
				return
			}
			require.NoError(t, err)
			require.Equal(t, i.ID, again.ID, "overwritten")
			_, err = m.Integrations.Create(ctx, k.request)
			refusal(t, err, hogapi.ErrForbidden, 403, "Editing an existing integration requires project admin access.")
		})
	}

	page, err := c.Integrations.List(ctx, &hogapi.IntegrationListOptions{Kind: hogapi.IntegrationKindRedshift})
	require.NoError(t, err)
	c.read(t, page, notOurs...)
	require.Len(t, page.Results, made[hogapi.IntegrationKindRedshift])
	last := int64(0)
	for i, err := range c.Integrations.All(ctx, &hogapi.IntegrationListOptions{ListOptions: hogapi.ListOptions{Limit: 4}}) {
		require.NoError(t, err)
		require.Greater(t, i.ID, last, "oldest first")
		last = i.ID
		delete(ids, i.ID)
	}
	require.Empty(t, ids, "all of them were listed")
	pages := 0
	for _, err := range c.Integrations.Pages(ctx, &hogapi.IntegrationListOptions{ListOptions: hogapi.ListOptions{Limit: 13}}) {
		require.NoError(t, err)
		pages++
	}
	require.Equal(t, 2, pages)

	err = m.Integrations.Delete(ctx, last)
	refusal(t, err, hogapi.ErrForbidden, 403, "You don't have sufficient permissions in the project.")
	require.NoError(t, c.Integrations.Delete(ctx, last))
	err = c.Integrations.Delete(ctx, last)
	refusal(t, err, hogapi.ErrNotFound, 404, "Not found.")
	_, err = c.ForProject(plain).Integrations.Get(ctx, 1)
	refusal(t, err, hogapi.ErrNotFound, 404, "Not found.")
	_, err = s.client(t, writer).Integrations.List(ctx, nil)
	refusal(t, err, hogapi.ErrForbidden, 403, "integration:read")
	_, err = s.client(t, reader).Integrations.Create(ctx, kinds[0].request)
	refusal(t, err, hogapi.ErrForbidden, 403, "integration:write")
	for _, method := range []string{http.MethodPatch, http.MethodPut} {
		err = c.Do(ctx, hogapi.Request{Method: method, Path: "/integrations/1/", Body: json.RawMessage(`{}`)}, nil)
		refusal(t, err, hogapi.ErrUnsupported, 405, "not allowed")
	}
}

func TestIntegrationsThatAreRefused(t *testing.T) {
	s := start(t)
	c := s.client(t, admin)
	ctx := t.Context()

	server := hogapi.PostgresIntegrationRequest{Host: "db.example.com", Port: 5432, User: "u", Password: secret("the-secret")}
	file := hogapi.BigQueryIntegrationRequest{
		ServiceAccountEmail: "a@p.iam.gserviceaccount.com", ProjectID: "p", PrivateKey: secret("the-secret"), PrivateKeyID: secret("the-secret"),
		TokenURI: "https://attacker.example.com/token",
	}
	for detail, request := range map[string]hogapi.IntegrationRequest{
		"AWS credentials are not valid":                                   hogapi.AwsS3IntegrationRequest{Name: "n", AWSAccessKeyID: secret("AKIAWRONG"), AWSSecretAccessKey: secret("the-secret")},
		"AWS role ARN is not valid":                                       hogapi.AwsS3IntegrationRequest{Name: "n", AWSRoleARN: "arn:aws:iam::1:user/u"},
		"Cannot create AWS integration: Invalid role":                     hogapi.AwsS3IntegrationRequest{Name: "n", AWSRoleARN: role + "/of-another-organization"},
		"Invalid endpoint URL":                                            hogapi.S3CompatibleIntegrationRequest{Name: "n", EndpointURL: "http://10.0.0.1", AWSAccessKeyID: secret("id"), AWSSecretAccessKey: secret("the-secret")},
		"invalid account identifier":                                      hogapi.SnowflakeIntegrationRequest{Name: "n", Account: "https://a/b", User: "u", Password: secret("the-secret")},
		"Could not extract AccountName from connection string":            hogapi.AzureBlobIntegrationRequest{ConnectionString: secret("AccountKey=the-secret")},
		"Cannot create Google Cloud service account integration: Invalid": hogapi.BigQueryIntegrationRequest{ServiceAccountEmail: "of-another-organization@x", ProjectID: "p"},
		"Invalid token URI":                                               file,
	} {
		_, err := c.Integrations.Create(ctx, request)
		refusal(t, err, hogapi.ErrInvalid, 400, detail)
		assert.NotContains(t, err.Error(), "the-secret")
	}

	noCert, noPort, badMode := server, server, server
	noCert.SSLMode, noPort.Port, badMode.SSLMode = hogapi.SSLModeVerifyCA, 0, "none"
	half := file
	half.PrivateKeyID = secret("")
	for name, request := range map[string]hogapi.IntegrationRequest{
		"nothing":           nil,
		"no name":           hogapi.AwsS3IntegrationRequest{AWSRoleARN: role},
		"no way in":         hogapi.AwsS3IntegrationRequest{Name: "n"},
		"two ways in":       hogapi.AwsS3IntegrationRequest{Name: "n", AWSRoleARN: role, AWSAccessKeyID: secret("id"), AWSSecretAccessKey: secret("the-secret")},
		"half a key":        hogapi.RedshiftIntegrationRequest{Name: "n", User: "u", AWSAccessKeyID: secret("id")},
		"no user":           hogapi.RedshiftIntegrationRequest{Name: "n", AWSRoleARN: role},
		"no certificate":    noCert,
		"no port":           noPort,
		"unknown mode":      badMode,
		"half a key file":   half,
		"a URL":             hogapi.DatabricksIntegrationRequest{ServerHostname: "https://x/", ClientID: secret("i"), ClientSecret: secret("the-secret")},
		"no client":         hogapi.DatabricksIntegrationRequest{ServerHostname: "x"},
		"empty connection":  hogapi.AzureBlobIntegrationRequest{},
		"no Snowflake user": hogapi.SnowflakeIntegrationRequest{Name: "n", Account: "a", Password: secret("the-secret")},
		"no password":       hogapi.SnowflakeIntegrationRequest{Name: "n", Account: "a", User: "u"},
	} {
		_, err := c.Integrations.Create(ctx, request)
		assert.ErrorAs(t, err, new(*hogapi.InputError), name)
		assert.NotContains(t, err.Error(), "the-secret", name)
	}
	page, err := c.Integrations.List(ctx, nil)
	require.NoError(t, err)
	require.Empty(t, page.Results)
}
