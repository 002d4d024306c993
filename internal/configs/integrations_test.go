package configs

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/integration"
	"github.com/hogapi/hogapi/opt"
)

// integrations is one of each way, with the body that it makes.
var integrations = map[string]integration.Request{
	`{"kind":"aws-s3","config":{"name":"n","aws_access_key_id":"AKIA1","aws_secret_access_key":"sec1"}}`: integration.AwsS3{
		Name: "n", AWSAccessKeyID: opt.NewSecret("AKIA1"), AWSSecretAccessKey: opt.NewSecret("sec1"),
	},
	`{"kind":"aws-s3","config":{"name":"n","aws_role_arn":"arn:r"}}`: integration.AwsS3{Name: "n", AWSRoleARN: "arn:r"},
	`{"kind":"s3-compatible","config":{"name":"n","endpoint_url":"https://e","aws_access_key_id":"AKIA1","aws_secret_access_key":"sec1"}}`: integration.S3Compatible{
		Name: "n", EndpointURL: "https://e", AWSAccessKeyID: opt.NewSecret("AKIA1"), AWSSecretAccessKey: opt.NewSecret("sec1"),
	},
	`{"kind":"snowflake","config":{"name":"n","account":"a","user":"u","authentication_type":"password","password":"sec1"}}`: integration.Snowflake{
		Name: "n", Account: "a", User: "u", Password: opt.NewSecret("sec1"),
	},
	`{"kind":"snowflake","config":{"name":"n","account":"a","user":"u","authentication_type":"keypair","private_key":"sec1","private_key_passphrase":"sec2"}}`: integration.Snowflake{
		Name: "n", Account: "a", User: "u", PrivateKey: opt.NewSecret("sec1"), PrivateKeyPassphrase: opt.NewSecret("sec2"),
	},
	`{"kind":"postgresql","config":{"host":"h","port":5432,"user":"u","password":"sec1"}}`: integration.Postgres{
		Host: "h", Port: 5432, User: "u", Password: opt.NewSecret("sec1"),
	},
	`{"kind":"postgresql","config":{"host":"h","port":5432,"user":"u","password":"sec1","ssl_mode":"verify-full","ssl_root_cert":"pem"}}`: integration.Postgres{
		Host: "h", Port: 5432, User: "u", Password: opt.NewSecret("sec1"), SSLMode: integration.SSLModeVerifyFull, SSLRootCert: "pem",
	},
	`{"kind":"aws-redshift","config":{"host":"h","port":5439,"user":"u","password":"sec1"}}`: integration.RedshiftServer{
		Host: "h", Port: 5439, User: "u", Password: opt.NewSecret("sec1"),
	},
	`{"kind":"aws-redshift","config":{"name":"n","user":"u","aws_role_arn":"arn:r","groups":["g"],"auto_create":true,"workgroup_arn":"arn:w"}}`: integration.Redshift{
		Name: "n", User: "u", AWSRoleARN: "arn:r", Groups: []string{"g"}, AutoCreate: true, WorkgroupARN: "arn:w",
	},
	`{"kind":"google-cloud-service-account","config":{"service_account_email":"a@b","project_id":"p"}}`: integration.BigQuery{ServiceAccountEmail: "a@b", ProjectID: "p"},
	`{"kind":"google-cloud-service-account","config":{"service_account_email":"a@b","project_id":"p","private_key":"sec1","private_key_id":"sec2","token_uri":"https://t"}}`: integration.BigQuery{
		ServiceAccountEmail: "a@b", ProjectID: "p", PrivateKey: opt.NewSecret("sec1"), PrivateKeyID: opt.NewSecret("sec2"), TokenURI: "https://t",
	},
	`{"kind":"databricks","config":{"server_hostname":"h","client_id":"sec2","client_secret":"sec1"}}`: integration.Databricks{
		ServerHostname: "h", ClientID: opt.NewSecret("sec2"), ClientSecret: opt.NewSecret("sec1"),
	},
	`{"kind":"azure-blob","config":{"connection_string":"AccountName=a;AccountKey=sec1"}}`: integration.AzureBlob{ConnectionString: opt.NewSecret("AccountName=a;AccountKey=sec1")},
}

func TestIntegrations(t *testing.T) {
	t.Parallel()
	for want, r := range integrations {
		kind, keys, refusal := Integration(r)
		require.Nil(t, refusal, want)
		sent, err := json.Marshal(map[string]any{"kind": kind, "config": keys})
		require.NoError(t, err)
		assert.JSONEq(t, want, string(sent))
		printed, err := json.Marshal(r)
		require.NoError(t, err)
		assert.NotContains(t, string(printed), "sec1")
	}
	key := opt.NewSecret("k")
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
		{"Password", integration.Snowflake{Name: "n", Account: "a", User: "u", Password: opt.NewSecret(" ")}},
		{"PrivateKey", integration.Snowflake{Name: "n", Account: "a", User: "u", PrivateKey: opt.NewSecret("\n")}},
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
		_, _, refusal := Integration(tt.r)
		require.NotNil(t, refusal, tt.field)
		assert.Equal(t, tt.field, refusal.Field)
		assert.NotEmpty(t, refusal.Want)
		assert.Empty(t, strings.TrimPrefix(refusal.Value, "nil"), "it may be a secret")
	}
}
