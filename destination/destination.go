// Package destination has the kinds of places that batch exports write to, and one type for the config of
// each. They go into a hogapi.Destination:
//
//	access, err := client.Integrations.ByName(ctx, integration.KindAwsS3, "our bucket") // which holds the credentials
//	d := hogapi.Destination{
//		Type:        destination.TypeAwsS3,
//		Integration: hogapi.Set(access.ID),
//		Config:      destination.S3{BucketName: hogapi.Set("events"), Region: hogapi.Set("us-east-1")},
//	}
//
// All their fields are optional here; which of them are required depends on the server. Keys that a type
// does not know are in its Extra.
package destination

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/hogapi/hogapi/internal/configs"
	"github.com/hogapi/hogapi/internal/mask"
)

// Type is a kind of destination. The service may send values that this package does not know.
type Type string

// The known kinds. Which of them can be made depends on the server.
const (
	TypeS3           Type = "S3" // older servers; newer ones refuse every write of it and take the next two
	TypeAwsS3        Type = "AwsS3"
	TypeS3Compatible Type = "S3Compatible"
	TypeSnowflake    Type = "Snowflake"
	TypePostgres     Type = "Postgres"
	TypeRedshift     Type = "Redshift"
	TypeBigQuery     Type = "BigQuery"
	TypeDatabricks   Type = "Databricks"
	TypeAzureBlob    Type = "AzureBlob"
	TypeHTTP         Type = "HTTP"
	TypeWorkflows    Type = "Workflows"
	TypeFileDownload Type = "FileDownload"
	TypeNoOp         Type = "NoOp"
)

var types = []Type{
	TypeS3, TypeAwsS3, TypeS3Compatible, TypeSnowflake, TypePostgres, TypeRedshift, TypeBigQuery, TypeDatabricks, TypeAzureBlob,
	TypeHTTP, TypeWorkflows, TypeFileDownload, TypeNoOp,
}

// Types returns the known kinds.
func Types() []Type { return slices.Clone(types) }

// IsKnown reports whether t is a kind of this package.
func (t Type) IsKnown() bool { return slices.Contains(types, t) }

// Config is the config of a destination: one of the types of this package, by value. [Raw] fits every
// kind.
type Config interface{ config() }

func (S3) config()           {}
func (Snowflake) config()    {}
func (Postgres) config()     {}
func (Redshift) config()     {}
func (BigQuery) config()     {}
func (Databricks) config()   {}
func (AzureBlob) config()    {}
func (HTTP) config()         {}
func (Workflows) config()    {}
func (FileDownload) config() {}
func (NoOp) config()         {}
func (Raw) config()          {}

// Extra are the keys of a config that its type does not know, as JSON. They print with the
// values of keys that look like credentials redacted.
type Extra map[string]json.RawMessage

// Raw is any config as a JSON object: for kinds that this package does not know, and for
// configs that do not fit their kind. It prints with the values of keys that look like credentials
// redacted; the bytes hold everything.
type Raw json.RawMessage

// MarshalJSON writes the config with credentials redacted.
func (c Raw) MarshalJSON() ([]byte, error) { return mask.JSON(json.RawMessage(c)), nil }

// UnmarshalJSON keeps the bytes.
func (c *Raw) UnmarshalJSON(b []byte) error {
	*c = slices.Clone(b)
	return nil
}

// String returns the config with credentials redacted.
func (c Raw) String() string { return string(mask.JSON(json.RawMessage(c))) }

// Format writes String under every verb.
func (c Raw) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// LogValue returns String for slog.
func (c Raw) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalJSON writes the keys with credentials redacted.
func (e Extra) MarshalJSON() ([]byte, error) { return configs.RedactedKeys(configs.Keys(e)), nil }

// String returns the keys as JSON with credentials redacted.
func (e Extra) String() string { return string(configs.RedactedKeys(configs.Keys(e))) }

// Format writes String under every verb.
func (e Extra) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.String()) }

// LogValue returns String for slog.
func (e Extra) LogValue() slog.Value { return slog.StringValue(e.String()) }
