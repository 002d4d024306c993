package configs

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/internal/optjson"
)

// kinds maps each type of config to its kinds of destinations.
var kinds = map[reflect.Type][]destination.Type{
	reflect.TypeFor[destination.S3]():           {destination.TypeS3, destination.TypeAwsS3, destination.TypeS3Compatible},
	reflect.TypeFor[destination.Snowflake]():    {destination.TypeSnowflake},
	reflect.TypeFor[destination.Postgres]():     {destination.TypePostgres},
	reflect.TypeFor[destination.Redshift]():     {destination.TypeRedshift},
	reflect.TypeFor[destination.BigQuery]():     {destination.TypeBigQuery},
	reflect.TypeFor[destination.Databricks]():   {destination.TypeDatabricks},
	reflect.TypeFor[destination.AzureBlob]():    {destination.TypeAzureBlob},
	reflect.TypeFor[destination.HTTP]():         {destination.TypeHTTP},
	reflect.TypeFor[destination.Workflows]():    {destination.TypeWorkflows},
	reflect.TypeFor[destination.FileDownload](): {destination.TypeFileDownload},
	reflect.TypeFor[destination.NoOp]():         {destination.TypeNoOp},
}

// Fits reports whether a config is for a kind of destination.
func Fits(config destination.Config, kind destination.Type) bool {
	t := reflect.TypeOf(plain(config))
	return t == reflect.TypeFor[destination.Raw]() || slices.Contains(kinds[t], kind)
}

// Read decodes a config from the service. A config that does not fit its kind becomes a Raw.
func Read(kind destination.Type, text json.RawMessage) destination.Config {
	for t, all := range kinds {
		if !slices.Contains(all, kind) {
			continue
		}
		config := reflect.New(t)
		if optjson.Decode(text, config.Interface()) == nil {
			return config.Elem().Interface().(destination.Config)
		}
	}
	return destination.Raw(text)
}
