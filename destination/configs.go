package destination

import "github.com/hogapi/hogapi/opt"

// S3 is for S3, AwsS3 and S3Compatible. Older servers take TypeS3 with the two AWS keys and, for
// other makers' storage, EndpointURL. Newer servers refuse all of these: they take TypeAwsS3 or
// TypeS3Compatible with the id of an integration of the project, which holds the credentials, in the
// Integration of hogapi.Destination.
type S3 struct {
	BucketName                opt.Opt[string]      `json:"bucket_name,omitzero"`
	Region                    opt.Opt[string]      `json:"region,omitzero"`
	Prefix                    opt.Opt[string]      `json:"prefix,omitzero"`
	AWSAccessKeyID            opt.Opt[opt.Secret]  `json:"aws_access_key_id,omitzero"`     // older servers
	AWSSecretAccessKey        opt.Opt[opt.Secret]  `json:"aws_secret_access_key,omitzero"` // older servers
	Compression               opt.Opt[Compression] `json:"compression,omitzero"`           // zstd, lz4, snappy (Parquet only), gzip, brotli
	Encryption                opt.Opt[string]      `json:"encryption,omitzero"`            // not S3Compatible
	KMSKeyID                  opt.Opt[string]      `json:"kms_key_id,omitzero"`            // not S3Compatible
	EndpointURL               opt.Opt[string]      `json:"endpoint_url,omitzero"`          // older servers
	FileFormat                opt.Opt[FileFormat]  `json:"file_format,omitzero"`           // JSONLines or Parquet
	MaxFileSizeMB             opt.Opt[int]         `json:"max_file_size_mb,omitzero"`
	UseVirtualStyleAddressing opt.Opt[bool]        `json:"use_virtual_style_addressing,omitzero"` // not AwsS3
	LegacyParquetExtension    opt.Opt[bool]        `json:"legacy_parquet_extension,omitzero"`     // newer servers
	IncludeEvents             opt.Opt[[]string]    `json:"include_events,omitzero"`
	ExcludeEvents             opt.Opt[[]string]    `json:"exclude_events,omitzero"`

	Extra Extra `json:"-"`
}

// Snowflake is for Snowflake. The account, the user and the credentials are for older
// servers, which never return the latter two.
type Snowflake struct {
	Account              opt.Opt[string]     `json:"account,omitzero"`
	User                 opt.Opt[string]     `json:"user,omitzero"`
	Database             opt.Opt[string]     `json:"database,omitzero"`
	Warehouse            opt.Opt[string]     `json:"warehouse,omitzero"`
	Schema               opt.Opt[string]     `json:"schema,omitzero"`
	TableName            opt.Opt[string]     `json:"table_name,omitzero"`
	AuthenticationType   opt.Opt[string]     `json:"authentication_type,omitzero"` // password or keypair
	Password             opt.Opt[opt.Secret] `json:"password,omitzero"`
	PrivateKey           opt.Opt[opt.Secret] `json:"private_key,omitzero"`
	PrivateKeyPassphrase opt.Opt[opt.Secret] `json:"private_key_passphrase,omitzero"`
	Role                 opt.Opt[string]     `json:"role,omitzero"`
	IncludeEvents        opt.Opt[[]string]   `json:"include_events,omitzero"`
	ExcludeEvents        opt.Opt[[]string]   `json:"exclude_events,omitzero"`

	Extra Extra `json:"-"`
}

// Postgres is for Postgres. User and password are never returned.
type Postgres struct {
	User              opt.Opt[string]     `json:"user,omitzero"`
	Password          opt.Opt[opt.Secret] `json:"password,omitzero"`
	Host              opt.Opt[string]     `json:"host,omitzero"`
	Port              opt.Opt[int]        `json:"port,omitzero"`
	Database          opt.Opt[string]     `json:"database,omitzero"`
	Schema            opt.Opt[string]     `json:"schema,omitzero"`
	TableName         opt.Opt[string]     `json:"table_name,omitzero"`
	HasSelfSignedCert opt.Opt[bool]       `json:"has_self_signed_cert,omitzero"`
	IncludeEvents     opt.Opt[[]string]   `json:"include_events,omitzero"`
	ExcludeEvents     opt.Opt[[]string]   `json:"exclude_events,omitzero"`

	Extra Extra `json:"-"`
}

// Redshift is for Redshift. User and password are never returned.
type Redshift struct {
	User               opt.Opt[string]             `json:"user,omitzero"`
	Password           opt.Opt[opt.Secret]         `json:"password,omitzero"`
	Host               opt.Opt[string]             `json:"host,omitzero"`
	Port               opt.Opt[int]                `json:"port,omitzero"`
	Database           opt.Opt[string]             `json:"database,omitzero"`
	Schema             opt.Opt[string]             `json:"schema,omitzero"`
	TableName          opt.Opt[string]             `json:"table_name,omitzero"`
	HasSelfSignedCert  opt.Opt[bool]               `json:"has_self_signed_cert,omitzero"` // older servers only
	PropertiesDataType opt.Opt[string]             `json:"properties_data_type,omitzero"` // varchar or super; older pages of PostHog have stored SUPER
	Mode               opt.Opt[string]             `json:"mode,omitzero"`                 // INSERT or COPY
	CopyInputs         opt.Opt[RedshiftCopyInputs] `json:"copy_inputs,omitzero"`          // for COPY
	IncludeEvents      opt.Opt[[]string]           `json:"include_events,omitzero"`
	ExcludeEvents      opt.Opt[[]string]           `json:"exclude_events,omitzero"`

	Extra Extra `json:"-"`
}

// RedshiftCopyInputs is the bucket that Redshift copies from.
type RedshiftCopyInputs struct {
	S3Bucket          opt.Opt[string]                `json:"s3_bucket,omitzero"`
	RegionName        opt.Opt[string]                `json:"region_name,omitzero"`
	S3KeyPrefix       opt.Opt[string]                `json:"s3_key_prefix,omitzero"`
	Authorization     opt.Opt[RedshiftAuthorization] `json:"authorization,omitzero"`      // how Redshift reads the bucket
	BucketCredentials opt.Opt[RedshiftBucketAccess]  `json:"bucket_credentials,omitzero"` // how the service writes to it

	Extra Extra `json:"-"`
}

// RedshiftAuthorization is one of an integration, a role and a key.
type RedshiftAuthorization struct {
	Integration int64          // newer servers: id of an integration of the kind aws-s3
	Role        string         // its ARN
	Credentials AWSCredentials // without an integration and a role
}

// RedshiftBucketAccess is an integration or a key.
type RedshiftBucketAccess struct {
	Integration int64          // newer servers: id of an integration of the kind aws-s3
	Credentials AWSCredentials // without an integration
}

// AWSCredentials is a key of AWS. It is never returned.
type AWSCredentials struct {
	AWSAccessKeyID     opt.Opt[opt.Secret] `json:"aws_access_key_id,omitzero"`
	AWSSecretAccessKey opt.Opt[opt.Secret] `json:"aws_secret_access_key,omitzero"`

	Extra Extra `json:"-"`
}

// BigQuery is for BigQuery. The keys of the service account are for older servers, which
// never return them.
type BigQuery struct {
	ProjectID     opt.Opt[string]     `json:"project_id,omitzero"`
	DatasetID     opt.Opt[string]     `json:"dataset_id,omitzero"`
	TableID       opt.Opt[string]     `json:"table_id,omitzero"`
	PrivateKey    opt.Opt[opt.Secret] `json:"private_key,omitzero"`
	PrivateKeyID  opt.Opt[opt.Secret] `json:"private_key_id,omitzero"`
	ClientEmail   opt.Opt[string]     `json:"client_email,omitzero"`
	TokenURI      opt.Opt[string]     `json:"token_uri,omitzero"`
	UseJSONType   opt.Opt[bool]       `json:"use_json_type,omitzero"`
	IncludeEvents opt.Opt[[]string]   `json:"include_events,omitzero"`
	ExcludeEvents opt.Opt[[]string]   `json:"exclude_events,omitzero"`

	Extra Extra `json:"-"`
}

// Databricks is for Databricks.
type Databricks struct {
	HTTPPath                    opt.Opt[string]   `json:"http_path,omitzero"`
	Catalog                     opt.Opt[string]   `json:"catalog,omitzero"`
	Schema                      opt.Opt[string]   `json:"schema,omitzero"`
	TableName                   opt.Opt[string]   `json:"table_name,omitzero"`
	UseVariantType              opt.Opt[bool]     `json:"use_variant_type,omitzero"`
	UseAutomaticSchemaEvolution opt.Opt[bool]     `json:"use_automatic_schema_evolution,omitzero"`
	IncludeEvents               opt.Opt[[]string] `json:"include_events,omitzero"`
	ExcludeEvents               opt.Opt[[]string] `json:"exclude_events,omitzero"`

	Extra Extra `json:"-"`
}

// AzureBlob is for AzureBlob.
type AzureBlob struct {
	ContainerName          opt.Opt[string]      `json:"container_name,omitzero"`
	Prefix                 opt.Opt[string]      `json:"prefix,omitzero"`
	Compression            opt.Opt[Compression] `json:"compression,omitzero"` // as S3
	FileFormat             opt.Opt[FileFormat]  `json:"file_format,omitzero"` // JSONLines or Parquet
	MaxFileSizeMB          opt.Opt[int]         `json:"max_file_size_mb,omitzero"`
	LegacyParquetExtension opt.Opt[bool]        `json:"legacy_parquet_extension,omitzero"`
	IncludeEvents          opt.Opt[[]string]    `json:"include_events,omitzero"`
	ExcludeEvents          opt.Opt[[]string]    `json:"exclude_events,omitzero"`

	Extra Extra `json:"-"`
}

// HTTP is for HTTP: the capture endpoint of another project of the service, with that
// project's key. Events only.
type HTTP struct {
	URL           opt.Opt[string]     `json:"url,omitzero"`
	Token         opt.Opt[opt.Secret] `json:"token,omitzero"`
	IncludeEvents opt.Opt[[]string]   `json:"include_events,omitzero"`
	ExcludeEvents opt.Opt[[]string]   `json:"exclude_events,omitzero"`

	Extra Extra `json:"-"`
}

// Workflows is for Workflows. The service leaves these exports out of the list.
type Workflows struct {
	HogFunctionID opt.Opt[string]   `json:"hog_function_id,omitzero"`
	IncludeEvents opt.Opt[[]string] `json:"include_events,omitzero"`
	ExcludeEvents opt.Opt[[]string] `json:"exclude_events,omitzero"`

	Extra Extra `json:"-"`
}

// FileDownload is for FileDownload. This package does not know the other keys of its config: they are in Extra.
type FileDownload struct {
	IncludeEvents opt.Opt[[]string] `json:"include_events,omitzero"`
	ExcludeEvents opt.Opt[[]string] `json:"exclude_events,omitzero"`

	Extra Extra `json:"-"`
}

// NoOp is for NoOp, which exports nothing.
type NoOp struct {
	IncludeEvents opt.Opt[[]string] `json:"include_events,omitzero"`
	ExcludeEvents opt.Opt[[]string] `json:"exclude_events,omitzero"`

	Extra Extra `json:"-"`
}

// FileFormat is the format of exported files.
type FileFormat string

// The formats that the service writes.
const (
	FormatParquet   FileFormat = "Parquet"
	FormatJSONLines FileFormat = "JSONLines"
)

// Compression is the compression of exported files.
type Compression string

// The compressions that the service knows. JSONLines files take gzip and brotli only.
const (
	CompressionZstd   Compression = "zstd"
	CompressionLZ4    Compression = "lz4"
	CompressionSnappy Compression = "snappy"
	CompressionGzip   Compression = "gzip"
	CompressionBrotli Compression = "brotli"
)
