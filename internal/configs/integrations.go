package configs

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/integration"
	"github.com/hogapi/hogapi/internal/outgoing"
)

// Integration returns a new integration as sent, with its credentials.
func Integration(r integration.Request) (kind integration.Kind, keys map[string]any, refusal *outgoing.Refusal) {
	c := filling{keys: map[string]any{}}
	switch r := plain(r).(type) {
	case integration.AwsS3:
		kind = integration.KindAwsS3
		c.awsS3(r)
	case integration.S3Compatible:
		kind = integration.KindS3Compatible
		c.s3Compatible(r)
	case integration.Snowflake:
		kind = integration.KindSnowflake
		c.snowflake(r)
	case integration.Postgres:
		kind = integration.KindPostgres
		c.postgres(r)
	case integration.RedshiftServer:
		kind = integration.KindRedshift
		c.postgres(integration.Postgres(r))
	case integration.Redshift:
		kind = integration.KindRedshift
		c.redshift(r)
	case integration.BigQuery:
		kind = integration.KindBigQuery
		c.bigQuery(r)
	case integration.Databricks:
		kind = integration.KindDatabricks
		c.databricks(r)
	case integration.AzureBlob:
		kind = integration.KindAzureBlob
		c.azureBlob(r)
	default:
		return "", nil, outgoing.Refuse("integration", "nil", "a request such as integration.AwsS3{…}")
	}
	return kind, c.keys, c.problem
}

// plain returns the value that a pointer points to, nil for a nil pointer, and other values
// unchanged.
func plain(value any) any {
	v := reflect.ValueOf(value)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() {
		return nil
	}
	return v.Interface()
}

// filling is the config of an integration under construction.
type filling struct {
	keys    map[string]any
	problem *outgoing.Refusal // the first
}

// refuse notes the first problem of a field.
func (c *filling) refuse(field, want string) {
	if c.problem == nil {
		c.problem = &outgoing.Refusal{Field: field, Want: want}
	}
}

func (c *filling) text(key, value string) {
	if value != "" {
		c.keys[key] = value
	}
}

// need adds a value that must not be blank. It never quotes the value, which may be secret.
func (c *filling) need(field, key, value string) {
	if strings.TrimSpace(value) == "" {
		c.refuse(field, "a value, not an empty text")
	}
	c.text(key, value)
}

// host adds the name of a host.
func (c *filling) host(field, key, name string) {
	c.need(field, key, name)
	if strings.Contains(name, "/") {
		c.refuse(field, "a host name without a scheme and a path")
	}
}

// aws adds a role or a key.
func (c *filling) aws(role string, id, key string) {
	hasKey := id != "" || key != ""
	if (role != "") == hasKey {
		c.refuse("AWSRoleARN", "either AWSRoleARN, or AWSAccessKeyID with AWSSecretAccessKey")
	}
	if hasKey {
		c.need("AWSAccessKeyID", "aws_access_key_id", id)
		c.need("AWSSecretAccessKey", "aws_secret_access_key", key)
	}
	if role != "" {
		c.need("AWSRoleARN", "aws_role_arn", role)
	}
}

func (c *filling) awsS3(r integration.AwsS3) {
	c.need("Name", "name", r.Name)
	c.aws(r.AWSRoleARN, r.AWSAccessKeyID.Reveal(), r.AWSSecretAccessKey.Reveal())
}

func (c *filling) s3Compatible(r integration.S3Compatible) {
	c.need("Name", "name", r.Name)
	c.need("EndpointURL", "endpoint_url", r.EndpointURL)
	c.need("AWSAccessKeyID", "aws_access_key_id", r.AWSAccessKeyID.Reveal())
	c.need("AWSSecretAccessKey", "aws_secret_access_key", r.AWSSecretAccessKey.Reveal())
}

func (c *filling) snowflake(r integration.Snowflake) {
	c.need("Name", "name", r.Name)
	c.need("Account", "account", r.Account)
	c.need("User", "user", r.User)
	password, key := r.Password.Reveal(), r.PrivateKey.Reveal()
	switch {
	case (password != "") == (key != ""):
		c.refuse("Password", "either Password or PrivateKey")
	case key != "":
		c.text("authentication_type", "keypair")
		c.need("PrivateKey", "private_key", key)
		c.text("private_key_passphrase", r.PrivateKeyPassphrase.Reveal())
	default:
		c.text("authentication_type", "password")
		c.need("Password", "password", password)
	}
}

func (c *filling) postgres(r integration.Postgres) {
	c.host("Host", "host", r.Host)
	if r.Port < 1 || r.Port > 65535 {
		c.refuse("Port", "a port, from 1 to 65535")
	}
	c.keys["port"] = r.Port
	c.need("User", "user", r.User)
	c.need("Password", "password", r.Password.Reveal())
	mode := cmp.Or(r.SSLMode, integration.SSLModeRequire)
	if !slices.Contains(sslModes, mode) {
		c.refuse("SSLMode", "require, verify-ca or verify-full")
	}
	if mode != integration.SSLModeRequire {
		c.need("SSLRootCert", "ssl_root_cert", r.SSLRootCert)
	}
	c.text("ssl_mode", string(r.SSLMode))
	c.text("ssl_root_cert", r.SSLRootCert)
}

func (c *filling) redshift(r integration.Redshift) {
	c.need("Name", "name", r.Name)
	c.need("User", "user", r.User)
	c.aws(r.AWSRoleARN, r.AWSAccessKeyID.Reveal(), r.AWSSecretAccessKey.Reveal())
	if len(r.Groups) > 0 {
		c.keys["groups"] = slices.Clone(r.Groups)
	}
	if r.AutoCreate {
		c.keys["auto_create"] = true
	}
	c.text("workgroup_arn", r.WorkgroupARN)
}

func (c *filling) bigQuery(r integration.BigQuery) {
	c.need("ServiceAccountEmail", "service_account_email", r.ServiceAccountEmail)
	c.need("ProjectID", "project_id", r.ProjectID)
	file := []string{r.PrivateKey.Reveal(), r.PrivateKeyID.Reveal(), r.TokenURI}
	if slices.Contains(file, "") && strings.Join(file, "") != "" {
		c.refuse("PrivateKey", "PrivateKey, PrivateKeyID and TokenURI together, or none of them")
	}
	c.text("private_key", file[0])
	c.text("private_key_id", file[1])
	c.text("token_uri", file[2])
}

func (c *filling) databricks(r integration.Databricks) {
	c.host("ServerHostname", "server_hostname", r.ServerHostname)
	c.need("ClientID", "client_id", r.ClientID.Reveal())
	c.need("ClientSecret", "client_secret", r.ClientSecret.Reveal())
}

func (c *filling) azureBlob(r integration.AzureBlob) {
	c.need("ConnectionString", "connection_string", r.ConnectionString.Reveal())
}

var sslModes = []integration.SSLMode{integration.SSLModeRequire, integration.SSLModeVerifyCA, integration.SSLModeVerifyFull}
