package hogapi

import (
	"cmp"
	"context"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/destination"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// Integration holds the credentials of a destination for the exports of a project, which name it by
// its id in [Destination.Integration]. The service never returns credentials.
type Integration struct {
	ID          int64           `json:"id"`
	Kind        IntegrationKind `json:"kind"`
	Config      RawConfig       `json:"config"` // what is not secret, such as the name
	DisplayName string          `json:"display_name,omitzero"`
	Errors      string          `json:"errors"` // why the service could not use it; may be empty
	CreatedAt   time.Time       `json:"created_at"`
	CreatedBy   *User           `json:"created_by"`
}

func (i *Integration) complete() error { return hasID(i.ID) }

// IntegrationKind is what an integration gives access to. The service has many more than the
// constants of this package, which are those of batch exports.
type IntegrationKind string

// The kinds that batch exports use.
const (
	IntegrationKindAwsS3        IntegrationKind = "aws-s3"
	IntegrationKindS3Compatible IntegrationKind = "s3-compatible"
	IntegrationKindSnowflake    IntegrationKind = "snowflake"
	IntegrationKindPostgres     IntegrationKind = "postgresql"
	IntegrationKindRedshift     IntegrationKind = "aws-redshift"
	IntegrationKindBigQuery     IntegrationKind = "google-cloud-service-account"
	IntegrationKindDatabricks   IntegrationKind = "databricks"
	IntegrationKindAzureBlob    IntegrationKind = "azure-blob"
)

var integrationKinds = []IntegrationKind{
	IntegrationKindAwsS3, IntegrationKindS3Compatible, IntegrationKindSnowflake, IntegrationKindPostgres, IntegrationKindRedshift,
	IntegrationKindBigQuery, IntegrationKindDatabricks, IntegrationKindAzureBlob,
}

// IntegrationListOptions select integrations.
type IntegrationListOptions struct {
	ListOptions

	Kind IntegrationKind // only those of this kind; empty for all
}

// IntegrationsService manages the integrations of a project: [Client.Integrations]. Newer servers
// need one for a new export to nearly every destination. Servers that do not have them answer
// [ErrUnsupported]; there the credentials are a part of the destination's config.
type IntegrationsService service

// List returns one page of integrations, oldest first.
//
// GET /integrations/, scope integration:read.
func (s *IntegrationsService) List(
	ctx context.Context, o *IntegrationListOptions, options ...CallOption,
) (*OffsetPage[Integration], error) {
	return s.walk(o, options).One(ctx)
}

// Pages yields the pages of List.
func (s *IntegrationsService) Pages(
	ctx context.Context, o *IntegrationListOptions, options ...CallOption,
) iter.Seq2[*OffsetPage[Integration], error] {
	return s.walk(o, options).Pages(ctx)
}

// All yields the integrations of all pages. An error comes once, last, as a [*PageError] that says
// where to resume.
func (s *IntegrationsService) All(
	ctx context.Context, o *IntegrationListOptions, options ...CallOption,
) iter.Seq2[Integration, error] {
	return s.walk(o, options).All(ctx)
}

// walk is what List, Pages and All share.
func (s *IntegrationsService) walk(
	o *IntegrationListOptions, options []CallOption,
) offsetWalk[Integration] {
	selected := orDefault(o)
	query := url.Values{}
	outgoing.SetText(query, "kind", string(selected.Kind))
	r := endpoint(ops.IntegrationsList).refuse(outgoing.MisspeltIfSet("Kind", selected.Kind, integrationKinds)).with(query)
	return walkByOffset[Integration](s.client, r, selected.ListOptions, options)
}

// Get returns one integration.
//
// GET /integrations/{id}/, scope integration:read. [ErrNotFound] if it does not exist.
func (s *IntegrationsService) Get(ctx context.Context, id int64, options ...CallOption) (*Integration, error) {
	isAsked := func(i *Integration) error { return isAskedFor("id", i.ID, id) }
	return fetchMatching(ctx, s.client, endpointByNumber(ops.IntegrationsGet, id), options, isAsked)
}

// integrationTry is the least time limit of a try to create an integration, while the service asks
// AWS whether the credentials are valid.
const integrationTry = time.Minute

// Create makes an integration, after the service has checked its credentials with some vendors. That
// takes time, so a try may last at least 60 seconds, also with a shorter [WithTryTimeout].
//
// What happens if there is one already depends on the kind. AWS (except a Redshift server),
// S3-compatible storage and Snowflake are stored by Name: [ErrInvalid] with "already exists". To
// replace credentials there, create another name, update the exports to its id and delete the old
// one. All others are stored by what they connect to and are overwritten: the answer has the same
// id, every export that uses it gets the new credentials, and the key's user must be an admin of the
// project, or else the error is [ErrForbidden].
//
// The call is not repeated if its outcome is unknown: after an [*OutcomeUnknownError], check the
// list of the kind before trying again.
//
// POST /integrations/, scope integration:write. [ErrInvalid] for credentials that do not work.
func (s *IntegrationsService) Create(ctx context.Context, integration IntegrationRequest, options ...CallOption) (*Integration, error) {
	r := endpoint(ops.IntegrationsCreate)
	r.body, r.refusal = integrationBody(integration)
	r.leastTry = integrationTry
	isAsked := func(i *Integration) error { return isAskedFor("kind", i.Kind, integration.kind()) }
	return fetchMatching(ctx, s.client, r, options, isAsked)
}

// Delete removes an integration. The key's user must be an admin of the project. While a batch
// export uses it, the service refuses that with [ErrInvalid] and names the export; ids inside the
// CopyInputs of Redshift are not counted, so such an export would fail afterwards.
//
// DELETE /integrations/{id}/, scope integration:write. [ErrNotFound] if it was deleted before.
func (s *IntegrationsService) Delete(ctx context.Context, id int64, options ...CallOption) error {
	return s.client.call(ctx, endpointByNumber(ops.IntegrationsDelete, id), nil, options...)
}

// endpointByNumber is endpoint for things with a number.
func endpointByNumber(op Op, id int64) request {
	r := endpoint(op, strconv.FormatInt(id, 10))
	if id <= 0 {
		return r.refuse(outgoing.Refuse("{id}", r.ids[0], "an id, a number above 0"))
	}
	return r
}

// IntegrationRequest is a new integration: one of the types of this package whose name ends in
// IntegrationRequest, by value.
type IntegrationRequest interface {
	kind() IntegrationKind
	fill(c *destination.Config)
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

// integrationBody checks a new integration and makes the request's body.
func integrationBody(r IntegrationRequest) (any, *outgoing.Refusal) {
	if isNil(r) {
		return nil, outgoing.Refuse("integration", "nil", "a request such as AwsS3IntegrationRequest{…}")
	}
	c := destination.NewConfig()
	r.fill(c)
	return struct {
		Kind   IntegrationKind `json:"kind"`
		Config map[string]any  `json:"config"`
	}{r.kind(), c.Keys}, c.Problem
}

func (r AwsS3IntegrationRequest) fill(c *destination.Config) {
	c.Need("Name", "name", r.Name)
	c.AWS(r.AWSRoleARN, r.AWSAccessKeyID.Reveal(), r.AWSSecretAccessKey.Reveal())
}

func (r S3CompatibleIntegrationRequest) fill(c *destination.Config) {
	c.Need("Name", "name", r.Name)
	c.Need("EndpointURL", "endpoint_url", r.EndpointURL)
	c.Need("AWSAccessKeyID", "aws_access_key_id", r.AWSAccessKeyID.Reveal())
	c.Need("AWSSecretAccessKey", "aws_secret_access_key", r.AWSSecretAccessKey.Reveal())
}

func (r SnowflakeIntegrationRequest) fill(c *destination.Config) {
	c.Need("Name", "name", r.Name)
	c.Need("Account", "account", r.Account)
	c.Need("User", "user", r.User)
	password, key := r.Password.Reveal(), r.PrivateKey.Reveal()
	switch {
	case (password != "") == (key != ""):
		c.Refuse("Password", "either Password or PrivateKey")
	case key != "":
		c.Text("authentication_type", "keypair")
		c.Need("PrivateKey", "private_key", key)
		c.Text("private_key_passphrase", r.PrivateKeyPassphrase.Reveal())
	default:
		c.Text("authentication_type", "password")
		c.Need("Password", "password", password)
	}
}

func (r PostgresIntegrationRequest) fill(c *destination.Config) {
	c.Host("Host", "host", r.Host)
	if r.Port < 1 || r.Port > 65535 {
		c.Refuse("Port", "a port, from 1 to 65535")
	}
	c.Keys["port"] = r.Port
	c.Need("User", "user", r.User)
	c.Need("Password", "password", r.Password.Reveal())
	mode := cmp.Or(r.SSLMode, SSLModeRequire)
	if !isKnown(mode, sslModes) {
		c.Refuse("SSLMode", "require, verify-ca or verify-full")
	}
	if mode != SSLModeRequire {
		c.Need("SSLRootCert", "ssl_root_cert", r.SSLRootCert)
	}
	c.Text("ssl_mode", string(r.SSLMode))
	c.Text("ssl_root_cert", r.SSLRootCert)
}

func (r RedshiftServerIntegrationRequest) fill(c *destination.Config) {
	PostgresIntegrationRequest(r).fill(c)
}

func (r RedshiftIntegrationRequest) fill(c *destination.Config) {
	c.Need("Name", "name", r.Name)
	c.Need("User", "user", r.User)
	c.AWS(r.AWSRoleARN, r.AWSAccessKeyID.Reveal(), r.AWSSecretAccessKey.Reveal())
	if len(r.Groups) > 0 {
		c.Keys["groups"] = slices.Clone(r.Groups)
	}
	if r.AutoCreate {
		c.Keys["auto_create"] = true
	}
	c.Text("workgroup_arn", r.WorkgroupARN)
}

func (r BigQueryIntegrationRequest) fill(c *destination.Config) {
	c.Need("ServiceAccountEmail", "service_account_email", r.ServiceAccountEmail)
	c.Need("ProjectID", "project_id", r.ProjectID)
	file := []string{r.PrivateKey.Reveal(), r.PrivateKeyID.Reveal(), r.TokenURI}
	if slices.Contains(file, "") && strings.Join(file, "") != "" {
		c.Refuse("PrivateKey", "PrivateKey, PrivateKeyID and TokenURI together, or none of them")
	}
	c.Text("private_key", file[0])
	c.Text("private_key_id", file[1])
	c.Text("token_uri", file[2])
}

func (r DatabricksIntegrationRequest) fill(c *destination.Config) {
	c.Host("ServerHostname", "server_hostname", r.ServerHostname)
	c.Need("ClientID", "client_id", r.ClientID.Reveal())
	c.Need("ClientSecret", "client_secret", r.ClientSecret.Reveal())
}

func (r AzureBlobIntegrationRequest) fill(c *destination.Config) {
	c.Need("ConnectionString", "connection_string", r.ConnectionString.Reveal())
}
