package hogapi

import (
	"cmp"
	"slices"
	"strings"
)

// IntegrationRequest is a new integration: one of the types of this package whose name ends in
// IntegrationRequest, by value.
type IntegrationRequest interface {
	kind() IntegrationKind
	fill(c *integrationConfig)
}

// AwsS3IntegrationRequest gives access to S3 by a role or by a key; exactly one of them is needed.
type AwsS3IntegrationRequest struct {
	Name string

	// AWSRoleARN is a role that trusts PostHog's role, with the external id
	// posthog-<id of the organization>.
	AWSRoleARN string

	AWSAccessKeyID     Secret
	AWSSecretAccessKey Secret
}

// S3CompatibleIntegrationRequest gives access to storage that speaks S3. All fields are needed.
type S3CompatibleIntegrationRequest struct {
	Name               string
	EndpointURL        string // of a public host
	AWSAccessKeyID     Secret
	AWSSecretAccessKey Secret
}

// SnowflakeIntegrationRequest gives access to Snowflake by a password or by a private key; exactly
// one of them is needed.
type SnowflakeIntegrationRequest struct {
	Name                 string
	Account              string
	User                 string
	Password             Secret
	PrivateKey           Secret
	PrivateKeyPassphrase Secret // of an encrypted PrivateKey
}

// PostgresIntegrationRequest gives access to a Postgres server. Host, Port, User and Password are
// needed.
type PostgresIntegrationRequest struct {
	Host        string // public, without a scheme or a path
	Port        int
	User        string
	Password    Secret
	SSLMode     SSLMode // default: require
	SSLRootCert string  // PEM; needed to verify the server's certificate
}

// RedshiftServerIntegrationRequest gives access to Redshift by the password of a user of the
// database. Host, Port, User and Password are needed.
type RedshiftServerIntegrationRequest PostgresIntegrationRequest

// RedshiftIntegrationRequest gives access to Redshift by a role or a key of AWS; exactly one of them
// is needed. The destination's config then has the Host.
type RedshiftIntegrationRequest struct {
	Name               string
	User               string // of the database
	AWSRoleARN         string // as in AwsS3IntegrationRequest
	AWSAccessKeyID     Secret
	AWSSecretAccessKey Secret
	Groups             []string // of the database, that the user joins; nil sends none
	AutoCreate         bool     // create the user where it is missing
	WorkgroupARN       string   // of Redshift Serverless
}

// BigQueryIntegrationRequest gives access to BigQuery by a service account of Google Cloud. With
// PrivateKey, PrivateKeyID and TokenURI, all three, the service uses the account's key file; without
// them it impersonates the account.
type BigQueryIntegrationRequest struct {
	ServiceAccountEmail string
	ProjectID           string
	PrivateKey          Secret
	PrivateKeyID        Secret
	TokenURI            string
}

// DatabricksIntegrationRequest gives access to Databricks. All fields are needed.
type DatabricksIntegrationRequest struct {
	ServerHostname string // without a scheme
	ClientID       Secret
	ClientSecret   Secret
}

// AzureBlobIntegrationRequest gives access to Azure Blob Storage.
type AzureBlobIntegrationRequest struct {
	ConnectionString Secret // with the AccountName and endpoints of https
}

// SSLMode is how a server's certificate is checked.
type SSLMode string

// The modes that the service knows.
const (
	SSLModeRequire    SSLMode = "require" // encrypted, without a check
	SSLModeVerifyCA   SSLMode = "verify-ca"
	SSLModeVerifyFull SSLMode = "verify-full"
)

var sslModes = []SSLMode{SSLModeRequire, SSLModeVerifyCA, SSLModeVerifyFull}

func (AwsS3IntegrationRequest) kind() IntegrationKind          { return IntegrationKindAwsS3 }
func (S3CompatibleIntegrationRequest) kind() IntegrationKind   { return IntegrationKindS3Compatible }
func (SnowflakeIntegrationRequest) kind() IntegrationKind      { return IntegrationKindSnowflake }
func (PostgresIntegrationRequest) kind() IntegrationKind       { return IntegrationKindPostgres }
func (RedshiftServerIntegrationRequest) kind() IntegrationKind { return IntegrationKindRedshift }
func (RedshiftIntegrationRequest) kind() IntegrationKind       { return IntegrationKindRedshift }
func (BigQueryIntegrationRequest) kind() IntegrationKind       { return IntegrationKindBigQuery }
func (DatabricksIntegrationRequest) kind() IntegrationKind     { return IntegrationKindDatabricks }
func (AzureBlobIntegrationRequest) kind() IntegrationKind      { return IntegrationKindAzureBlob }

// integrationConfig is the config of a request, with its credentials, while it is filled.
type integrationConfig struct {
	op      Op
	keys    map[string]any
	problem error // the first
}

// integrationBody checks a new integration and makes the request's body.
func integrationBody(op Op, r IntegrationRequest) (any, error) {
	if isNil(r) {
		return nil, &InputError{Op: op, Field: "integration", Value: "nil", Want: "a request such as AwsS3IntegrationRequest{…}"}
	}
	c := integrationConfig{op: op, keys: map[string]any{}}
	r.fill(&c)
	if c.problem != nil {
		return nil, c.problem
	}
	return struct {
		Kind   IntegrationKind `json:"kind"`
		Config map[string]any  `json:"config"`
	}{r.kind(), c.keys}, nil
}

func (c *integrationConfig) refuse(field, want string) {
	if c.problem == nil {
		c.problem = &InputError{Op: c.op, Field: field, Want: want}
	}
}

// text sends a value that is not empty.
func (c *integrationConfig) text(key, value string) {
	if value != "" {
		c.keys[key] = value
	}
}

// need sends a value that may not be blank. The field's value is not quoted: it may be secret.
func (c *integrationConfig) need(field, key, value string) {
	if strings.TrimSpace(value) == "" {
		c.refuse(field, "a value, not an empty text")
	}
	c.text(key, value)
}

// host sends the name of a host.
func (c *integrationConfig) host(field, key, name string) {
	c.need(field, key, name)
	if strings.Contains(name, "/") {
		c.refuse(field, "a host name without a scheme and a path")
	}
}

// aws sends a role or a key.
func (c *integrationConfig) aws(role string, id, key Secret) {
	hasKey := id.Reveal() != "" || key.Reveal() != ""
	if (role != "") == hasKey {
		c.refuse("AWSRoleARN", "either AWSRoleARN, or AWSAccessKeyID with AWSSecretAccessKey")
	}
	if hasKey {
		c.need("AWSAccessKeyID", "aws_access_key_id", id.Reveal())
		c.need("AWSSecretAccessKey", "aws_secret_access_key", key.Reveal())
	}
	if role != "" {
		c.need("AWSRoleARN", "aws_role_arn", role)
	}
}

func (r AwsS3IntegrationRequest) fill(c *integrationConfig) {
	c.need("Name", "name", r.Name)
	c.aws(r.AWSRoleARN, r.AWSAccessKeyID, r.AWSSecretAccessKey)
}

func (r S3CompatibleIntegrationRequest) fill(c *integrationConfig) {
	c.need("Name", "name", r.Name)
	c.need("EndpointURL", "endpoint_url", r.EndpointURL)
	c.need("AWSAccessKeyID", "aws_access_key_id", r.AWSAccessKeyID.Reveal())
	c.need("AWSSecretAccessKey", "aws_secret_access_key", r.AWSSecretAccessKey.Reveal())
}

func (r SnowflakeIntegrationRequest) fill(c *integrationConfig) {
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

func (r PostgresIntegrationRequest) fill(c *integrationConfig) {
	c.host("Host", "host", r.Host)
	if r.Port < 1 || r.Port > 65535 {
		c.refuse("Port", "a port, from 1 to 65535")
	}
	c.keys["port"] = r.Port
	c.need("User", "user", r.User)
	c.need("Password", "password", r.Password.Reveal())
	mode := cmp.Or(r.SSLMode, SSLModeRequire)
	if !isKnown(mode, sslModes) {
		c.refuse("SSLMode", "require, verify-ca or verify-full")
	}
	if mode != SSLModeRequire {
		c.need("SSLRootCert", "ssl_root_cert", r.SSLRootCert)
	}
	c.text("ssl_mode", string(r.SSLMode))
	c.text("ssl_root_cert", r.SSLRootCert)
}

func (r RedshiftServerIntegrationRequest) fill(c *integrationConfig) {
	PostgresIntegrationRequest(r).fill(c)
}

func (r RedshiftIntegrationRequest) fill(c *integrationConfig) {
	c.need("Name", "name", r.Name)
	c.need("User", "user", r.User)
	c.aws(r.AWSRoleARN, r.AWSAccessKeyID, r.AWSSecretAccessKey)
	if len(r.Groups) > 0 {
		c.keys["groups"] = slices.Clone(r.Groups)
	}
	if r.AutoCreate {
		c.keys["auto_create"] = true
	}
	c.text("workgroup_arn", r.WorkgroupARN)
}

func (r BigQueryIntegrationRequest) fill(c *integrationConfig) {
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

func (r DatabricksIntegrationRequest) fill(c *integrationConfig) {
	c.host("ServerHostname", "server_hostname", r.ServerHostname)
	c.need("ClientID", "client_id", r.ClientID.Reveal())
	c.need("ClientSecret", "client_secret", r.ClientSecret.Reveal())
}

func (r AzureBlobIntegrationRequest) fill(c *integrationConfig) {
	c.need("ConnectionString", "connection_string", r.ConnectionString.Reveal())
}
