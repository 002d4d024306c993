// Package integration has the requests for new integrations, which hold the credentials of destinations: one
// type for each kind. Create of hogapi.IntegrationsService takes them:
//
//	client.Integrations.Create(ctx, integration.Databricks{ServerHostname: host, ClientID: id, ClientSecret: secret})
package integration

import "github.com/hogapi/hogapi/opt"

// Kind is the kind of an integration, such as "snowflake". The service has many more kinds than the
// constants of this package, which are for batch exports.
type Kind string

// The kinds that batch exports use.
const (
	KindAwsS3        Kind = "aws-s3"
	KindS3Compatible Kind = "s3-compatible"
	KindSnowflake    Kind = "snowflake"
	KindPostgres     Kind = "postgresql"
	KindRedshift     Kind = "aws-redshift"
	KindBigQuery     Kind = "google-cloud-service-account"
	KindDatabricks   Kind = "databricks"
	KindAzureBlob    Kind = "azure-blob"
)

// Kinds returns the kinds that batch exports use.
func Kinds() []Kind {
	return []Kind{KindAwsS3, KindS3Compatible, KindSnowflake, KindPostgres, KindRedshift, KindBigQuery, KindDatabricks, KindAzureBlob}
}

// Request is a new integration: one of the other structs of this package, by value.
type Request interface{ request() }

func (AwsS3) request()          {}
func (S3Compatible) request()   {}
func (Snowflake) request()      {}
func (Postgres) request()       {}
func (RedshiftServer) request() {}
func (Redshift) request()       {}
func (BigQuery) request()       {}
func (Databricks) request()     {}
func (AzureBlob) request()      {}

// AwsS3 gives access to S3 by a role or by a key; exactly one of them is needed. PostHog keeps it by its Name, and
// refuses another one of that Name: make one of another Name, set its id in the exports, and delete the old one.
type AwsS3 struct {
	Name string

	// AWSRoleARN is a role that trusts PostHog's role, with the external id
	// posthog-<id of the organization>.
	AWSRoleARN string

	AWSAccessKeyID     opt.Secret
	AWSSecretAccessKey opt.Secret
}

// S3Compatible gives access to storage that speaks S3. All fields are needed. A second one of the Name is refused, as
// for AwsS3.
type S3Compatible struct {
	Name               string
	EndpointURL        string // of a public host
	AWSAccessKeyID     opt.Secret
	AWSSecretAccessKey opt.Secret
}

// Snowflake gives access to Snowflake by a password or by a private key; exactly
// one of them is needed. A second one of the Name is refused, as for AwsS3.
type Snowflake struct {
	Name                 string
	Account              string
	User                 string
	Password             opt.Secret
	PrivateKey           opt.Secret
	PrivateKeyPassphrase opt.Secret // of an encrypted PrivateKey
}

// Postgres gives access to a Postgres server. Host, Port, User and Password are
// needed. A second one of the same Host, Port and User replaces the first.
type Postgres struct {
	Host        string // public, without a scheme or a path
	Port        int
	User        string
	Password    opt.Secret
	SSLMode     SSLMode // default: require
	SSLRootCert string  // PEM; needed to verify the server's certificate
}

// RedshiftServer gives access to Redshift by the password of a user of the
// database. Host, Port, User and Password are needed. A second one of the same Host, Port and User
// replaces the first.
type RedshiftServer Postgres

// Redshift gives access to Redshift by a role or a key of AWS; exactly one of them
// is needed. The destination's config then has the Host.
type Redshift struct {
	Name               string
	User               string // of the database
	AWSRoleARN         string // as in AwsS3
	AWSAccessKeyID     opt.Secret
	AWSSecretAccessKey opt.Secret
	Groups             []string // groups of the database that the user joins; not sent if nil
	AutoCreate         bool     // create the user if it is missing
	WorkgroupARN       string   // of Redshift Serverless
}

// BigQuery gives access to BigQuery by a service account of Google Cloud. With
// PrivateKey, PrivateKeyID and TokenURI, all three, the service uses the account's key file. Without
// them it impersonates the account. PostHog keeps one integration for an e-mail and each of these two ways.
type BigQuery struct {
	ServiceAccountEmail string
	ProjectID           string
	PrivateKey          opt.Secret
	PrivateKeyID        opt.Secret
	TokenURI            string

	// ReplaceProject allows to replace an integration of the same e-mail that has another project: the exports that use it
	// write into ProjectID from their next run on.
	ReplaceProject bool `json:"-"`
}

// Databricks gives access to Databricks. All fields are needed. A second one of the ServerHostname replaces the first.
type Databricks struct {
	ServerHostname string // without a scheme
	ClientID       opt.Secret
	ClientSecret   opt.Secret
}

// AzureBlob gives access to Azure Blob Storage. A second one of the AccountName replaces the first.
type AzureBlob struct {
	ConnectionString opt.Secret // with the AccountName and endpoints of https
}

// SSLMode says how a server's certificate is checked.
type SSLMode string

// The modes that the service knows.
const (
	SSLModeRequire    SSLMode = "require" // encrypted, without a check
	SSLModeVerifyCA   SSLMode = "verify-ca"
	SSLModeVerifyFull SSLMode = "verify-full"
)
