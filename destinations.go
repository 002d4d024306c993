package hogapi

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/outgoing"
)

// Destination is where an export writes to. On read the service leaves credentials out.
type Destination struct {
	Type        DestinationType
	Config      DestinationConfig // nil if the service sends null
	Integration Opt[int64]        // id of the integration that holds the credentials; newest servers need it nearly always

	raw  *sealed
	over func() Destination // of With: what it changes, where nothing that prints can look
}

// DestinationType is a kind of destination. The service may send values that this package does not
// know.
type DestinationType string

// The known kinds. Which of them can be made depends on the server.
const (
	DestinationS3           DestinationType = "S3" // older servers; newer ones refuse every write of it and take the next two
	DestinationAwsS3        DestinationType = "AwsS3"
	DestinationS3Compatible DestinationType = "S3Compatible"
	DestinationSnowflake    DestinationType = "Snowflake"
	DestinationPostgres     DestinationType = "Postgres"
	DestinationRedshift     DestinationType = "Redshift"
	DestinationBigQuery     DestinationType = "BigQuery"
	DestinationDatabricks   DestinationType = "Databricks"
	DestinationAzureBlob    DestinationType = "AzureBlob"
	DestinationHTTP         DestinationType = "HTTP"
	DestinationWorkflows    DestinationType = "Workflows"
	DestinationFileDownload DestinationType = "FileDownload"
	DestinationNoOp         DestinationType = "NoOp"
)

var destinationTypes = []DestinationType{
	DestinationS3, DestinationAwsS3, DestinationS3Compatible, DestinationSnowflake, DestinationPostgres,
	DestinationRedshift, DestinationBigQuery, DestinationDatabricks, DestinationAzureBlob, DestinationHTTP,
	DestinationWorkflows, DestinationFileDownload, DestinationNoOp,
}

// IsKnown reports whether t is a kind of this package.
func (t DestinationType) IsKnown() bool { return slices.Contains(destinationTypes, t) }

// Raw returns the config as the service sent it; nil for a destination that was made here.
func (d Destination) Raw() json.RawMessage {
	if d.raw == nil {
		return nil
	}
	return slices.Clone(*d.raw.config)
}

// sealed keeps a config where fmt does not look: two pointers away.
type sealed struct{ config *json.RawMessage }

// DestinationConfig is the config of a destination: one of the types of this package whose name
// ends in Config, by value. All their fields are optional here; which of them are required depends
// on the server. Keys that a type does not know are in its Extra. [RawConfig] fits every kind.
type DestinationConfig interface {
	fits(t DestinationType) bool
}

// S3Config is for S3, AwsS3 and S3Compatible. Older servers take DestinationS3 with the two AWS
// keys and, for other makers' storage, EndpointURL. Newer ones refuse those: they take
// DestinationAwsS3 or DestinationS3Compatible with the id of an integration of the project, which
// holds the credentials, in Destination.Integration.
type S3Config struct {
	BucketName                Opt[string]   `json:"bucket_name,omitzero"`
	Region                    Opt[string]   `json:"region,omitzero"`
	Prefix                    Opt[string]   `json:"prefix,omitzero"`
	AWSAccessKeyID            Opt[Secret]   `json:"aws_access_key_id,omitzero"`     // older servers
	AWSSecretAccessKey        Opt[Secret]   `json:"aws_secret_access_key,omitzero"` // older servers
	Compression               Opt[string]   `json:"compression,omitzero"`           // zstd, lz4, snappy (Parquet only), gzip, brotli
	Encryption                Opt[string]   `json:"encryption,omitzero"`            // not S3Compatible
	KMSKeyID                  Opt[string]   `json:"kms_key_id,omitzero"`            // not S3Compatible
	EndpointURL               Opt[string]   `json:"endpoint_url,omitzero"`          // older servers
	FileFormat                Opt[string]   `json:"file_format,omitzero"`           // JSONLines or Parquet
	MaxFileSizeMB             Opt[int]      `json:"max_file_size_mb,omitzero"`
	UseVirtualStyleAddressing Opt[bool]     `json:"use_virtual_style_addressing,omitzero"` // not AwsS3
	LegacyParquetExtension    Opt[bool]     `json:"legacy_parquet_extension,omitzero"`     // newer servers
	IncludeEvents             Opt[[]string] `json:"include_events,omitzero"`
	ExcludeEvents             Opt[[]string] `json:"exclude_events,omitzero"`

	Extra ExtraKeys `json:"-"`
}

// SnowflakeConfig is for Snowflake. The account, the user and the credentials are for older
// servers, which never return the latter two.
type SnowflakeConfig struct {
	Account              Opt[string]   `json:"account,omitzero"`
	User                 Opt[string]   `json:"user,omitzero"`
	Database             Opt[string]   `json:"database,omitzero"`
	Warehouse            Opt[string]   `json:"warehouse,omitzero"`
	Schema               Opt[string]   `json:"schema,omitzero"`
	TableName            Opt[string]   `json:"table_name,omitzero"`
	AuthenticationType   Opt[string]   `json:"authentication_type,omitzero"` // password or keypair
	Password             Opt[Secret]   `json:"password,omitzero"`
	PrivateKey           Opt[Secret]   `json:"private_key,omitzero"`
	PrivateKeyPassphrase Opt[Secret]   `json:"private_key_passphrase,omitzero"`
	Role                 Opt[string]   `json:"role,omitzero"`
	IncludeEvents        Opt[[]string] `json:"include_events,omitzero"`
	ExcludeEvents        Opt[[]string] `json:"exclude_events,omitzero"`

	Extra ExtraKeys `json:"-"`
}

// PostgresConfig is for Postgres. User and password are never returned.
type PostgresConfig struct {
	User              Opt[string]   `json:"user,omitzero"`
	Password          Opt[Secret]   `json:"password,omitzero"`
	Host              Opt[string]   `json:"host,omitzero"`
	Port              Opt[int]      `json:"port,omitzero"`
	Database          Opt[string]   `json:"database,omitzero"`
	Schema            Opt[string]   `json:"schema,omitzero"`
	TableName         Opt[string]   `json:"table_name,omitzero"`
	HasSelfSignedCert Opt[bool]     `json:"has_self_signed_cert,omitzero"`
	IncludeEvents     Opt[[]string] `json:"include_events,omitzero"`
	ExcludeEvents     Opt[[]string] `json:"exclude_events,omitzero"`

	Extra ExtraKeys `json:"-"`
}

// RedshiftConfig is for Redshift. User and password are never returned.
type RedshiftConfig struct {
	User               Opt[string]             `json:"user,omitzero"`
	Password           Opt[Secret]             `json:"password,omitzero"`
	Host               Opt[string]             `json:"host,omitzero"`
	Port               Opt[int]                `json:"port,omitzero"`
	Database           Opt[string]             `json:"database,omitzero"`
	Schema             Opt[string]             `json:"schema,omitzero"`
	TableName          Opt[string]             `json:"table_name,omitzero"`
	HasSelfSignedCert  Opt[bool]               `json:"has_self_signed_cert,omitzero"`
	PropertiesDataType Opt[string]             `json:"properties_data_type,omitzero"` // varchar or super
	Mode               Opt[string]             `json:"mode,omitzero"`                 // INSERT or COPY
	CopyInputs         Opt[RedshiftCopyInputs] `json:"copy_inputs,omitzero"`          // for COPY
	IncludeEvents      Opt[[]string]           `json:"include_events,omitzero"`
	ExcludeEvents      Opt[[]string]           `json:"exclude_events,omitzero"`

	Extra ExtraKeys `json:"-"`
}

// RedshiftCopyInputs is the bucket that Redshift copies from.
type RedshiftCopyInputs struct {
	S3Bucket          Opt[string]                `json:"s3_bucket,omitzero"`
	RegionName        Opt[string]                `json:"region_name,omitzero"`
	S3KeyPrefix       Opt[string]                `json:"s3_key_prefix,omitzero"`
	Authorization     Opt[RedshiftAuthorization] `json:"authorization,omitzero"`      // how Redshift reads the bucket
	BucketCredentials Opt[RedshiftBucketAccess]  `json:"bucket_credentials,omitzero"` // how the service writes to it

	Extra ExtraKeys `json:"-"`
}

// RedshiftAuthorization is one of an integration, a role and a key.
type RedshiftAuthorization struct {
	Integration int64          // newer servers: id of an integration of the kind aws-s3
	Role        string         // its ARN
	Credentials AWSCredentials // where there is neither
}

// RedshiftBucketAccess is an integration or a key.
type RedshiftBucketAccess struct {
	Integration int64          // newer servers: id of an integration of the kind aws-s3
	Credentials AWSCredentials // without an integration
}

// AWSCredentials is a key of AWS. It is never returned.
type AWSCredentials struct {
	AWSAccessKeyID     Opt[Secret] `json:"aws_access_key_id,omitzero"`
	AWSSecretAccessKey Opt[Secret] `json:"aws_secret_access_key,omitzero"`

	Extra ExtraKeys `json:"-"`
}

// BigQueryConfig is for BigQuery. The keys of the service account are for older servers, which
// never return them.
type BigQueryConfig struct {
	ProjectID     Opt[string]   `json:"project_id,omitzero"`
	DatasetID     Opt[string]   `json:"dataset_id,omitzero"`
	TableID       Opt[string]   `json:"table_id,omitzero"`
	PrivateKey    Opt[Secret]   `json:"private_key,omitzero"`
	PrivateKeyID  Opt[Secret]   `json:"private_key_id,omitzero"`
	ClientEmail   Opt[string]   `json:"client_email,omitzero"`
	TokenURI      Opt[string]   `json:"token_uri,omitzero"`
	UseJSONType   Opt[bool]     `json:"use_json_type,omitzero"`
	IncludeEvents Opt[[]string] `json:"include_events,omitzero"`
	ExcludeEvents Opt[[]string] `json:"exclude_events,omitzero"`

	Extra ExtraKeys `json:"-"`
}

// DatabricksConfig is for Databricks.
type DatabricksConfig struct {
	HTTPPath                    Opt[string]   `json:"http_path,omitzero"`
	Catalog                     Opt[string]   `json:"catalog,omitzero"`
	Schema                      Opt[string]   `json:"schema,omitzero"`
	TableName                   Opt[string]   `json:"table_name,omitzero"`
	UseVariantType              Opt[bool]     `json:"use_variant_type,omitzero"`
	UseAutomaticSchemaEvolution Opt[bool]     `json:"use_automatic_schema_evolution,omitzero"`
	IncludeEvents               Opt[[]string] `json:"include_events,omitzero"`
	ExcludeEvents               Opt[[]string] `json:"exclude_events,omitzero"`

	Extra ExtraKeys `json:"-"`
}

// AzureBlobConfig is for AzureBlob.
type AzureBlobConfig struct {
	ContainerName          Opt[string]   `json:"container_name,omitzero"`
	Prefix                 Opt[string]   `json:"prefix,omitzero"`
	Compression            Opt[string]   `json:"compression,omitzero"` // as S3Config
	FileFormat             Opt[string]   `json:"file_format,omitzero"` // JSONLines or Parquet
	MaxFileSizeMB          Opt[int]      `json:"max_file_size_mb,omitzero"`
	LegacyParquetExtension Opt[bool]     `json:"legacy_parquet_extension,omitzero"`
	IncludeEvents          Opt[[]string] `json:"include_events,omitzero"`
	ExcludeEvents          Opt[[]string] `json:"exclude_events,omitzero"`

	Extra ExtraKeys `json:"-"`
}

// HTTPConfig is for HTTP: the capture endpoint of another project of the service, with that
// project's key. Events only.
type HTTPConfig struct {
	URL           Opt[string]   `json:"url,omitzero"`
	Token         Opt[Secret]   `json:"token,omitzero"`
	IncludeEvents Opt[[]string] `json:"include_events,omitzero"`
	ExcludeEvents Opt[[]string] `json:"exclude_events,omitzero"`

	Extra ExtraKeys `json:"-"`
}

// WorkflowsConfig is for Workflows. The service leaves these exports out of the list.
type WorkflowsConfig struct {
	HogFunctionID Opt[string]   `json:"hog_function_id,omitzero"`
	IncludeEvents Opt[[]string] `json:"include_events,omitzero"`
	ExcludeEvents Opt[[]string] `json:"exclude_events,omitzero"`

	Extra ExtraKeys `json:"-"`
}

// FileDownloadConfig is for FileDownload, whose own keys are not known here: they are in Extra.
type FileDownloadConfig struct {
	IncludeEvents Opt[[]string] `json:"include_events,omitzero"`
	ExcludeEvents Opt[[]string] `json:"exclude_events,omitzero"`

	Extra ExtraKeys `json:"-"`
}

// NoOpConfig is for NoOp, which exports nothing.
type NoOpConfig struct {
	IncludeEvents Opt[[]string] `json:"include_events,omitzero"`
	ExcludeEvents Opt[[]string] `json:"exclude_events,omitzero"`

	Extra ExtraKeys `json:"-"`
}

// ExtraKeys are the keys of a config that its type does not know, as JSON. They print with the
// values of keys that look like credentials redacted.
type ExtraKeys map[string]json.RawMessage

// RawConfig is any config as a JSON object: for kinds that this package does not know, and for
// configs that do not fit their kind. It prints with the values of keys that look like credentials
// redacted; the bytes hold everything.
type RawConfig json.RawMessage

func (S3Config) fits(t DestinationType) bool {
	return t == DestinationS3 || t == DestinationAwsS3 || t == DestinationS3Compatible
}
func (SnowflakeConfig) fits(t DestinationType) bool    { return t == DestinationSnowflake }
func (PostgresConfig) fits(t DestinationType) bool     { return t == DestinationPostgres }
func (RedshiftConfig) fits(t DestinationType) bool     { return t == DestinationRedshift }
func (BigQueryConfig) fits(t DestinationType) bool     { return t == DestinationBigQuery }
func (DatabricksConfig) fits(t DestinationType) bool   { return t == DestinationDatabricks }
func (AzureBlobConfig) fits(t DestinationType) bool    { return t == DestinationAzureBlob }
func (HTTPConfig) fits(t DestinationType) bool         { return t == DestinationHTTP }
func (WorkflowsConfig) fits(t DestinationType) bool    { return t == DestinationWorkflows }
func (FileDownloadConfig) fits(t DestinationType) bool { return t == DestinationFileDownload }
func (NoOpConfig) fits(t DestinationType) bool         { return t == DestinationNoOp }
func (RawConfig) fits(DestinationType) bool            { return true }

// check refuses a destination that the service would refuse or store wrongly.
func (d Destination) check() *outgoing.Refusal {
	if refusal := outgoing.Misspelt("Destination.Type", d.Type, destinationTypes); refusal != nil {
		return refusal
	}
	if isNil(d.Config) {
		return outgoing.Refuse("Destination.Config", "",
			"a config such as S3Config{…} or RawConfig; the service needs it with the type")
	}
	if !d.Config.fits(d.Type) {
		return outgoing.Refuse("Destination.Config", fmt.Sprintf("%T", d.Config),
			"the config type of "+mask.UnlessKey(string(d.Type))+", or RawConfig")
	}
	return nil
}
