package hogapi

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/integration"
	"github.com/hogapi/hogapi/internal/configs"
)

// integrationRequests is one of each way, with the body that it makes.
var integrationRequests = map[string]integration.Request{
	`{"kind":"aws-s3","config":{"name":"n","aws_access_key_id":"AKIA1","aws_secret_access_key":"sec1"}}`: integration.AwsS3{
		Name: "n", AWSAccessKeyID: NewSecret("AKIA1"), AWSSecretAccessKey: NewSecret("sec1"),
	},
	`{"kind":"aws-s3","config":{"name":"n","aws_role_arn":"arn:r"}}`: integration.AwsS3{Name: "n", AWSRoleARN: "arn:r"},
	`{"kind":"s3-compatible","config":{"name":"n","endpoint_url":"https://e","aws_access_key_id":"AKIA1","aws_secret_access_key":"sec1"}}`: integration.S3Compatible{
		Name: "n", EndpointURL: "https://e", AWSAccessKeyID: NewSecret("AKIA1"), AWSSecretAccessKey: NewSecret("sec1"),
	},
	`{"kind":"snowflake","config":{"name":"n","account":"a","user":"u","authentication_type":"password","password":"sec1"}}`: integration.Snowflake{
		Name: "n", Account: "a", User: "u", Password: NewSecret("sec1"),
	},
	`{"kind":"snowflake","config":{"name":"n","account":"a","user":"u","authentication_type":"keypair","private_key":"sec1","private_key_passphrase":"sec2"}}`: integration.Snowflake{
		Name: "n", Account: "a", User: "u", PrivateKey: NewSecret("sec1"), PrivateKeyPassphrase: NewSecret("sec2"),
	},
	`{"kind":"postgresql","config":{"host":"h","port":5432,"user":"u","password":"sec1"}}`: integration.Postgres{
		Host: "h", Port: 5432, User: "u", Password: NewSecret("sec1"),
	},
	`{"kind":"postgresql","config":{"host":"h","port":5432,"user":"u","password":"sec1","ssl_mode":"verify-full","ssl_root_cert":"pem"}}`: integration.Postgres{
		Host: "h", Port: 5432, User: "u", Password: NewSecret("sec1"), SSLMode: integration.SSLModeVerifyFull, SSLRootCert: "pem",
	},
	`{"kind":"aws-redshift","config":{"host":"h","port":5439,"user":"u","password":"sec1"}}`: integration.RedshiftServer{
		Host: "h", Port: 5439, User: "u", Password: NewSecret("sec1"),
	},
	`{"kind":"aws-redshift","config":{"name":"n","user":"u","aws_role_arn":"arn:r","groups":["g"],"auto_create":true,"workgroup_arn":"arn:w"}}`: integration.Redshift{
		Name: "n", User: "u", AWSRoleARN: "arn:r", Groups: []string{"g"}, AutoCreate: true, WorkgroupARN: "arn:w",
	},
	`{"kind":"google-cloud-service-account","config":{"service_account_email":"a@b","project_id":"p"}}`: integration.BigQuery{ServiceAccountEmail: "a@b", ProjectID: "p"},
	`{"kind":"google-cloud-service-account","config":{"service_account_email":"a@b","project_id":"p","private_key":"sec1","private_key_id":"sec2","token_uri":"https://t"}}`: integration.BigQuery{
		ServiceAccountEmail: "a@b", ProjectID: "p", PrivateKey: NewSecret("sec1"), PrivateKeyID: NewSecret("sec2"), TokenURI: "https://t",
	},
	`{"kind":"databricks","config":{"server_hostname":"h","client_id":"sec2","client_secret":"sec1"}}`: integration.Databricks{
		ServerHostname: "h", ClientID: NewSecret("sec2"), ClientSecret: NewSecret("sec1"),
	},
	`{"kind":"azure-blob","config":{"connection_string":"AccountName=a;AccountKey=sec1"}}`: integration.AzureBlob{ConnectionString: NewSecret("AccountName=a;AccountKey=sec1")},
}

func TestCreateIntegrationSendsItsSecretsOnce(t *testing.T) {
	for want, r := range integrationRequests {
		client, mock := newTestClient(t)
		kind, _, refusal := configs.Integration(r)
		require.Nil(t, refusal)
		mock.RegisterResponder("POST", testBase+"/integrations/", func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			assert.JSONEq(t, want, string(body))
			return httpmock.NewStringResponse(201, `{"id":3,"kind":"`+string(kind)+`","config":{"name":"n"},"created_by":null,"errors":""}`), nil
		})
		made, err := client.Integrations.Create(t.Context(), r)
		require.NoError(t, err, want)
		require.Equal(t, int64(3), made.ID)
		require.Equal(t, kind, made.Kind)
		require.JSONEq(t, `{"name":"n"}`, string(made.Config))
		printed, err := json.Marshal(r)
		require.NoError(t, err)
		require.NotContains(t, string(printed), "sec1")

		kind = "github"
		_, err = client.Integrations.Create(t.Context(), r)
		var undecoded *DecodeError
		require.ErrorAs(t, err, &undecoded, "an answer of another kind")
		require.ErrorIs(t, err, ErrOutcomeUnknown)

		// A refusal that quotes the request shows none of it.
		mock.RegisterResponder("POST", testBase+"/integrations/", func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			quoted, err := json.Marshal("cannot use " + string(body))
			require.NoError(t, err)
			return httpmock.NewStringResponse(400, `{"code":"invalid_input","detail":`+string(quoted)+`}`), nil
		})
		_, err = client.Integrations.Create(t.Context(), r)
		require.ErrorIs(t, err, ErrInvalid)
		for _, secret := range []string{"sec1", "sec2", "AKIA1"} {
			require.NotContains(t, err.Error(), secret, want)
		}
	}
}

func TestCreateIntegrationRefusesBadInput(t *testing.T) {
	key := NewSecret("k")
	client, mock := newTestClient(t)
	for _, tt := range []struct {
		field string
		r     integration.Request
	}{
		{"integration", nil},
		{"integration", (*integration.AzureBlob)(nil)},
		{"integration", (*integration.Postgres)(nil)},
		{"Name", integration.AwsS3{AWSRoleARN: "r"}},
		{"Name", integration.AwsS3{Name: " ", AWSRoleARN: "r"}},
		{"AWSRoleARN", integration.AwsS3{Name: "n"}},
		{"AWSRoleARN", integration.AwsS3{Name: "n", AWSRoleARN: "r", AWSAccessKeyID: key, AWSSecretAccessKey: key}},
		{"AWSRoleARN", integration.AwsS3{Name: "n", AWSRoleARN: " \t"}},
		{"AWSRoleARN", integration.Redshift{Name: "n", User: "u", AWSRoleARN: " "}},
		{"Password", integration.Snowflake{Name: "n", Account: "a", User: "u", Password: NewSecret(" ")}},
		{"PrivateKey", integration.Snowflake{Name: "n", Account: "a", User: "u", PrivateKey: NewSecret("\n")}},
		{"Host", integration.Postgres{Host: "https://db.example", Port: 1, User: "u", Password: key}},
		{"Host", integration.Postgres{Host: "db.example/path", Port: 1, User: "u", Password: key}},
		{"Host", integration.RedshiftServer{Host: "jdbc:redshift://h", Port: 1, User: "u", Password: key}},
		{"AWSSecretAccessKey", integration.AwsS3{Name: "n", AWSAccessKeyID: key}},
		{"EndpointURL", integration.S3Compatible{Name: "n", AWSAccessKeyID: key, AWSSecretAccessKey: key}},
		{"Password", integration.Snowflake{Name: "n", Account: "a", User: "u"}},
		{"Password", integration.Snowflake{Name: "n", Account: "a", User: "u", Password: key, PrivateKey: key}},
		{"Port", integration.Postgres{Host: "h", User: "u", Password: key}},
		{"Password", integration.Postgres{Host: "h", Port: 1, User: "u"}},
		{"SSLMode", integration.Postgres{Host: "h", Port: 1, User: "u", Password: key, SSLMode: "disable"}},
		{"SSLRootCert", integration.RedshiftServer{Host: "h", Port: 1, User: "u", Password: key, SSLMode: integration.SSLModeVerifyCA}},
		{"User", integration.Redshift{Name: "n", AWSRoleARN: "r"}},
		{"PrivateKey", integration.BigQuery{ServiceAccountEmail: "a", ProjectID: "p", PrivateKey: key}},
		{"ServerHostname", integration.Databricks{ServerHostname: "https://h", ClientID: key, ClientSecret: key}},
		{"ConnectionString", integration.AzureBlob{}},
	} {
		_, err := client.Integrations.Create(t.Context(), tt.r)
		requireInputError(t, err, tt.field)
	}
	for _, id := range []int64{0, -1} {
		_, err := client.Integrations.Get(t.Context(), id)
		requireInputError(t, err, "{id}")
		requireInputError(t, client.Integrations.Delete(t.Context(), id), "{id}")
	}
	_, err := client.Integrations.List(t.Context(), &IntegrationListOptions{Kind: "AWS_S3"})
	requireInputError(t, err, "Kind")
	require.Zero(t, mock.GetTotalCallCount())
}

// A create whose answer is lost may have stored the credentials.
func TestLostAnswerOfAnIntegration(t *testing.T) {
	s := newScript(fails(errCut), answers(201, `{"id":1}`))
	_, err := newFakeClient(t, s).Integrations.Create(t.Context(), integration.AwsS3{Name: "n", AWSRoleARN: "r"})
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	require.ErrorContains(t, err, "Integrations.List")
	require.EqualValues(t, 1, s.tries.Load())
}
