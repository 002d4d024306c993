package destination

import "github.com/hogapi/hogapi/internal/configs"

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c S3) MarshalJSON() ([]byte, error) { return configs.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *S3) UnmarshalJSON(b []byte) error { return configs.Decode(b, c) }

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c Snowflake) MarshalJSON() ([]byte, error) { return configs.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *Snowflake) UnmarshalJSON(b []byte) error { return configs.Decode(b, c) }

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c Postgres) MarshalJSON() ([]byte, error) { return configs.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *Postgres) UnmarshalJSON(b []byte) error { return configs.Decode(b, c) }

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c Redshift) MarshalJSON() ([]byte, error) { return configs.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *Redshift) UnmarshalJSON(b []byte) error { return configs.Decode(b, c) }

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c RedshiftCopyInputs) MarshalJSON() ([]byte, error) { return configs.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *RedshiftCopyInputs) UnmarshalJSON(b []byte) error { return configs.Decode(b, c) }

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c AWSCredentials) MarshalJSON() ([]byte, error) { return configs.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *AWSCredentials) UnmarshalJSON(b []byte) error { return configs.Decode(b, c) }

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c BigQuery) MarshalJSON() ([]byte, error) { return configs.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *BigQuery) UnmarshalJSON(b []byte) error { return configs.Decode(b, c) }

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c Databricks) MarshalJSON() ([]byte, error) { return configs.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *Databricks) UnmarshalJSON(b []byte) error { return configs.Decode(b, c) }

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c AzureBlob) MarshalJSON() ([]byte, error) { return configs.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *AzureBlob) UnmarshalJSON(b []byte) error { return configs.Decode(b, c) }

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c HTTP) MarshalJSON() ([]byte, error) { return configs.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *HTTP) UnmarshalJSON(b []byte) error { return configs.Decode(b, c) }

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c Workflows) MarshalJSON() ([]byte, error) { return configs.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *Workflows) UnmarshalJSON(b []byte) error { return configs.Decode(b, c) }

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c FileDownload) MarshalJSON() ([]byte, error) { return configs.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *FileDownload) UnmarshalJSON(b []byte) error { return configs.Decode(b, c) }

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c NoOp) MarshalJSON() ([]byte, error) { return configs.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *NoOp) UnmarshalJSON(b []byte) error { return configs.Decode(b, c) }

// MarshalJSON writes the id, the role, or the credentials redacted.
func (a RedshiftAuthorization) MarshalJSON() ([]byte, error) { return configs.RedactedUnion(a) }

// UnmarshalJSON reads an id, a role or credentials. A text of digits is an id.
func (a *RedshiftAuthorization) UnmarshalJSON(b []byte) error { return configs.DecodeUnion(b, a) }

// MarshalJSON writes the id, or the credentials redacted.
func (a RedshiftBucketAccess) MarshalJSON() ([]byte, error) { return configs.RedactedUnion(a) }

// UnmarshalJSON reads an id or credentials. A text of digits is an id.
func (a *RedshiftBucketAccess) UnmarshalJSON(b []byte) error { return configs.DecodeUnion(b, a) }
